"""What starts by itself: days that arrive (on), the nightly training (off until switched on)."""

import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import dagster as dg

from tcg_assets.assets.jobs import DIGEST_TAG, NIGHT_TAG, curriculum_phase, ingest_day, nightly
from tcg_assets.assets.partitions import days
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.unfinished import given_up, going_on
from tcg_assets.automation.at_work import at_work
from tcg_assets.automation.attempts import ARRIVALS, next_attempt, tags_of
from tcg_assets.automation.inbox import Arrival, look
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


@dg.sensor(
    job=ingest_day,
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes each whole archive of the inbox once",
)
def inbox_sensor(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.SensorResult | dg.SkipReason:
    """Takes each whole archive of the inbox once: adds its day as a partition and starts `ingest_day`."""
    seen = look(workspace.home().inbox, context.cursor, _directory_digest)
    context.update_cursor(seen.cursor)
    lines = list(seen.lines)
    requests = list(_requests(context.instance, seen.ready, lines))
    for line in lines:
        context.log.info(line)
    if not requests:
        return dg.SkipReason("; ".join(lines) or "the inbox is empty")
    wanted = [request.partition_key for request in requests if request.partition_key]
    known = set(context.instance.get_dynamic_partitions(days.name or ""))
    added = [day for day in wanted if day not in known]
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[days.build_add_request(added)] if added else [],
    )


def _requests(instance: dg.DagsterInstance, ready: tuple[Arrival, ...], lines: list[str]) -> Iterator[dg.RunRequest]:
    for arrival in ready:
        attempt = next_attempt(instance, tags_of(arrival), ARRIVALS, time.time())
        if attempt.held:
            lines.append(f"{arrival.day}: {attempt.held}")
            continue
        key = f"{arrival.day}:{arrival.digest[:16]}:{attempt.number}"
        yield dg.RunRequest(run_key=key, partition_key=arrival.day, tags=tags_of(arrival))


def _directory_digest(path: Path) -> str:
    from tcg_core.replay.archive import open_archive

    with open_archive(path) as archive:
        return str(archive.directory_digest)


def _when() -> TimeOfDay:
    """Time and zone of the data home. A file that is none must not take the whole graph away: the tick refuses it."""
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

    After nights that were missed it starts one run, for the newest. A champion that cannot be gone on from starts a run too: it
    refuses at its plan, where the failure is seen and told. Raises :class:`ConfigError` for a broken nightly.json.
    """
    running = at_work(context.instance, nightly.name) or at_work(context.instance, curriculum_phase.name)
    if running:
        return dg.SkipReason(running)
    configured = load_nightly(workspace.home())
    night = configured.when.day_of(context.scheduled_execution_time)
    begun = going_on(context.log, workspace.home())
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
    dead = given_up(workspace.home(), found.digest)
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
