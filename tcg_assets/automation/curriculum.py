# mypy: disable-error-code="untyped-decorator, type-arg"
"""A curriculum in Dagster: the job `curriculum` launches it, `curriculum_sensor` queues one run for each phase, in order.

A phase before the last is a run of `curriculum_phase`; the last one is a run of `nightly`, from its plan to the champion.
"""

from typing import Any, Literal

import dagster as dg
from pydantic import Field

from tcg_assets.assets.jobs import CHAIN_ASSETS, CURRICULUM_TAG, PHASE_ASSETS, curriculum_phase, nightly
from tcg_assets.assets.launchpad import plain, with_default
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.alerts import why_failed
from tcg_assets.automation.at_work import ENDED, at_work
from tcg_assets.pages.outcome import refusals
from tcg_core.base.home import Home
from tcg_core.base.settings import to_dict
from tcg_core.nightly.settings import load_nightly
from tcg_core.plan.curriculum import DEFAULT, Curriculum
from tcg_core.plan.launched import LaunchedCurriculum, Next, end, launch, launched_curricula, next_phase, stop

#: Of a phase's run: which phase, from 1, and the run that launched the curriculum.
PHASE_TAG, LAUNCH_TAG = "tcg/phase", "tcg/launch"
CurriculumConfig = with_default(Curriculum, "phases", to_dict(DEFAULT)["phases"])


class LaunchConfig(dg.Config):
    """The phases, and where they are trained."""

    curriculum: CurriculumConfig = Field(  # type: ignore[valid-type]
        default_factory=CurriculumConfig, description="The phases, over the recipe of nightly.json"
    )
    device: Literal["auto", "gpu", "cpu"] = Field(default="auto", description="auto takes a GPU where there is one")
    cards_id: str = Field(default="", description="card_features of all phases; empty: each run makes its own, or reuses them")


@dg.op
def launch_phases(context: dg.OpExecutionContext, config: LaunchConfig, workspace: Workspace) -> None:
    """Notes that the curriculum is under way and says which phase comes next; `curriculum_sensor` queues it."""
    from tcg_core.catalog.registry import require_passed
    from tcg_core.plan.curriculum import over

    home = workspace.home()
    with refusals():
        if config.cards_id:
            require_passed(home, "card_features", config.cards_id)
        wanted = over(load_nightly(home).recipe, plain(config.curriculum))
        launched, before = launch(home, wanted, config.device, config.cards_id, context.run_id)
        following = next_phase(home, launched)
    for number, run in enumerate(following.done):
        context.log.info(f"curriculum phase {number + 1} of {len(wanted.phases)}: run {run} is finished and is used as it is")
    what = "is under way since an earlier launch, which continues" if before else "is launched"
    context.log.info(f"curriculum {launched.key} {what}; next: {following.title}")


@dg.job(description="Train the phases of a curriculum, each in a run of its own; the last one goes the whole chain.")
def curriculum() -> None:
    """One op."""
    launch_phases()


@dg.sensor(
    jobs=[curriculum_phase, nightly],
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Queues the next phase of a curriculum that was launched",
)
def curriculum_sensor(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SensorResult | dg.SkipReason:
    """Queues the next phase of a launched curriculum once the one before it succeeded; a phase that failed stops it."""
    home, lines = workspace.home(), []
    known = launched_curricula(home)
    for launched in (item for item in known if item.state == "under way"):
        request, line = _step(context.instance, home, launched)
        context.log.info(line)
        if request is not None:
            return dg.SensorResult(run_requests=[request])
        lines.append(line)
    if not lines and known and known[-1].state == "stopped":
        lines.append(_stopped(known[-1]))
    return dg.SkipReason("; ".join(lines) or "no curriculum is under way")


def _step(instance: dg.DagsterInstance, home: Home, launched: LaunchedCurriculum) -> tuple[dg.RunRequest | None, str]:
    """The run to queue for a curriculum, None for none, and what was found in one line."""
    phase = next_phase(home, launched)
    tags = {CURRICULUM_TAG: launched.key, PHASE_TAG: str(phase.number + 1), LAUNCH_TAG: launched.launch}
    runs = instance.get_runs(dg.RunsFilter(tags=tags), limit=1)
    if runs:
        return None, _judge(instance, home, launched, phase, runs[0])
    busy = at_work(instance, curriculum_phase.name) or at_work(instance, nightly.name)
    if busy:
        # A second run would only wait for the trainer's pool, in the place of the queue that days need.
        return None, f"{phase.title}: waits, {busy}"
    request = dg.RunRequest(
        run_key=":".join(tags.values()),
        job_name=(nightly if phase.last else curriculum_phase).name,
        tags=tags,
        run_config=_config(home, launched, phase),
        asset_selection=[dg.AssetKey(name) for name in _assets(launched, phase)] if launched.cards_id else None,
    )
    return request, f"{phase.title}: queued"


def _judge(instance: dg.DagsterInstance, home: Home, launched: LaunchedCurriculum, phase: Next, run: dg.DagsterRun) -> str:
    """What the run of the phase means for the curriculum: it is waited for, or it ended or stopped it."""
    named = f"{phase.title}: run {run.run_id[:8]}"
    if run.status not in ENDED:
        return f"{named} has not ended"
    if run.status is dg.DagsterRunStatus.SUCCESS:
        if phase.last:
            end(home, launched)
            return f"curriculum {launched.key} ended: {named} succeeded"
        why = "succeeded, but the registry has no checkpoint of it that passed"
    elif run.status is dg.DagsterRunStatus.CANCELED:
        why = "was cancelled"
    else:
        step, text = why_failed(instance, run.run_id, "the run failed")[0]
        why = f"failed: {step}: {text}" if step else f"failed: {text}"
    return _stopped(stop(home, launched, f"{named} {why}"))


def _stopped(launched: LaunchedCurriculum) -> str:
    return f"curriculum {launched.key} stopped: {launched.reason}; launch `curriculum` again with the same phases to continue"


def _assets(launched: LaunchedCurriculum, phase: Next) -> list[str]:
    """Card tables that the launch named are used as they are, so that no run makes others."""
    wanted = CHAIN_ASSETS if phase.last else PHASE_ASSETS
    return [name for name in wanted if name != "card_features" or not launched.cards_id]


def _config(home: Home, launched: LaunchedCurriculum, phase: Next) -> dict[str, Any]:
    configured = load_nightly(home)
    because = f"curriculum {launched.key}: {phase.title}"
    values: dict[str, dict[str, Any]] = {
        "card_features": {"generations": list(phase.recipe.generations)},
        "work_plan": {"recipe": to_dict(phase.recipe), "because": because, "cards_id": launched.cards_id},
        "mlx_checkpoint": {"device": launched.device},
        "tournament": {"opponents": list(configured.opponents), "games": configured.games},
    }
    wanted = _assets(launched, phase)
    return {"ops": {name: {"config": config} for name, config in values.items() if name in wanted}}
