"""The nightly training: what starts it, what it trains, and the reason when it skips. Off until it is switched on."""

import logging
from datetime import date
from typing import Any

import dagster as dg

from tcg_assets.assets.jobs import DIGEST_TAG, NIGHT_TAG, curriculum_phase, nightly
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.at_work import at_work
from tcg_assets.automation.news import news
from tcg_core.base.clock import TimeOfDay
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home
from tcg_core.base.settings import to_dict
from tcg_core.catalog.errors import RatingsStale
from tcg_core.nightly.settings import Nightly, load_nightly
from tcg_core.nightly.tonight import Tonight, tonight
from tcg_core.plan.errors import ChampionRefused

#: Seconds beyond the training budget that conversion, packing and games may take before the run is ended.
_REST_OF_THE_NIGHT = 4 * 3600


def _when() -> TimeOfDay:
    """Time and zone of the data home. A broken file must not take the whole graph away: the tick refuses it."""
    try:
        return load_nightly(Home.resolve()).when
    except TcgError:
        return Nightly().when


_WHEN = _when()


@dg.schedule(
    job=nightly,
    cron_schedule=_WHEN.cron,
    execution_timezone=_WHEN.zone,
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Trains, plays and decides when days, code or recipe are new",
)
def nightly_schedule(context: dg.ScheduleEvaluationContext, workspace: Workspace) -> dg.RunRequest | dg.SkipReason:
    """Starts `nightly` when validated days, code or recipe differ from those of its last success; else says why not.

    After missed nights it starts one run, for the newest. If the champion cannot be resumed, it starts a run all the same: that
    one refuses at its plan, where the failure is visible and alerted. Raises :class:`ConfigError` for a broken nightly.json.
    """
    running = at_work(context.instance, nightly.name) or at_work(context.instance, curriculum_phase.name)
    if running:
        return dg.SkipReason(running)
    configured = load_nightly(workspace.home())
    night = configured.when.day_of(context.scheduled_execution_time)
    begun = _unfinished(context.log, workspace.home())
    if begun is not None:
        run, digest = begun
        config = night_config(configured, plan_id=run)
        return dg.RunRequest(run_key=f"{run}:{night.isoformat()}", tags=_tags(configured, night, digest), run_config=config)
    try:
        chosen = tonight(workspace.home(), configured, night)
    except ChampionRefused as error:
        context.log.error(str(error))
        key = f"refused:{sha256_bytes(str(error).encode())[:16]}:{night.isoformat()}"
        return dg.RunRequest(run_key=key, tags=_tags(configured, night), run_config=night_config(configured))
    context.log.info(chosen.line)
    try:
        found = news(workspace.home(), chosen.recipe)
    except RatingsStale as error:
        # The run itself rates first; by which days is then known, so the next tick may ask once more for what is done.
        context.log.info(f"the ratings follow within the run: {error}")
        key = f"unrated:{night.isoformat()}"
        return dg.RunRequest(run_key=key, tags=_tags(configured, night), run_config=night_config(configured, chosen))
    except TcgError as error:
        return dg.SkipReason(f"nothing to train on ({chosen.line}): {error}")
    done = dg.RunsFilter(job_name=nightly.name, statuses=[dg.DagsterRunStatus.SUCCESS], tags={DIGEST_TAG: found.digest})
    same = context.instance.get_runs(done, limit=1)
    if same:
        return dg.SkipReason(f"nothing new: {len(found.days)} days, code and recipe are those of run {same[0].run_id[:8]}")
    dead = _abandoned(workspace.home(), found.digest)
    if dead:
        return dg.SkipReason(f"nothing new since {dead}")
    key, tags = f"{found.digest}:{night.isoformat()}", _tags(configured, night, found.digest)
    return dg.RunRequest(run_key=key, tags=tags, run_config=night_config(configured, chosen))


def _tags(configured: Nightly, night: date, digest: str = "") -> dict[str, str]:
    tags = {NIGHT_TAG: night.isoformat()} | ({DIGEST_TAG: digest} if digest else {})
    if configured.night_budget_hours:
        tags["dagster/max_runtime"] = str(int(configured.night_budget_hours * 3600) + _REST_OF_THE_NIGHT)
    return tags


def night_config(configured: Nightly, chosen: Tonight | None = None, plan_id: str = "") -> dict[str, Any]:
    """Run configuration of a night, as the launchpad of `nightly` would hold it. plan_id: of a run that it goes on with; without
    it and ``chosen`` the recipe is found, or refused, in the run."""
    plan: dict[str, Any] = {"plan_id": plan_id} if plan_id else {"preset": "nightly"}
    if chosen is not None:
        # The recipe itself, so that a run that is started again makes the same plan whoever reigns by then.
        plan = {
            "recipe": to_dict(chosen.recipe),
            "because": chosen.line,
            "night_budget_hours": configured.night_budget_hours,
            "over_budget": configured.over_budget,
            "device": configured.device,
        }
    values: dict[str, dict[str, Any]] = {
        "card_features": {"generations": list(configured.recipe.generations)},
        "work_plan": plan,
        "mlx_checkpoint": {"device": configured.device, "budget_hours": configured.night_budget_hours},
        "tournament": {"opponents": list(configured.opponents), "games": configured.games},
    }
    return {"ops": {name: {"config": config} for name, config in values.items()}}


def _unfinished(log: logging.Logger, home: Home) -> tuple[str, str] | None:
    """(run, digest of the night that began it) of the run that this night continues, None if it begins its own.

    Says in ``log`` what is continued and what was abandoned, with the reason.
    """
    from tcg_core.nightly.unfinished import find

    found = find(home)
    for line in found.lines:
        log.info(line)
    return (found.continued.run, found.continued.digest) if found.continued else None


def _abandoned(home: Home, digest: str) -> str:
    """Which run over the same days, code and recipe was abandoned, and why, "" if none was: planned again it would be begun
    again."""
    from tcg_core.nightly.unfinished import begun_runs

    lines = [
        f"run {item.run} was abandoned: {item.abandoned}" for item in begun_runs(home) if item.abandoned and item.digest == digest
    ]
    return lines[-1] if lines else ""
