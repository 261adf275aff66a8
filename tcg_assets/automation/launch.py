"""Runs the real jobs in this process, so that a command line and the UI share one history."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from tcg_assets.assets.jobs import DIGEST_TAG, ingest_day, nightly
from tcg_assets.assets.partitions import days
from tcg_assets.assets.wiring import CHAIN_POOL
from tcg_assets.automation.news import news
from tcg_assets.graph import graph
from tcg_assets.pages.failure import failure_line
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home, parse_day
from tcg_core.base.settings import to_dict
from tcg_core.days.backfill import why_current
from tcg_core.recipe import Recipe

#: The tag by which the UI files a run under this code location.
_LOCATION = {".dagster/repository": "__repository__@tcg_assets"}


class ChainBusy(TcgError):
    """Another run is at work on the chain from plan to tournament."""


@dataclass(frozen=True)
class Launched:
    """One launch: its run, or why none was needed.

    failures: one line for each step that failed; made: metadata of each materialized asset as plain values.
    """

    job: str
    success: bool
    run_id: str = ""
    skipped: str = ""
    failures: tuple[str, ...] = ()
    made: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def run_day(instance: dg.DagsterInstance, home: Home, day: str, *, again: bool = False) -> Launched:
    """Takes, builds and promotes one day by `ingest_day`; a day that is current is skipped unless ``again``.

    Raises :class:`tcg_core.base.home.NotADay` for a name that is no date.
    """
    parse_day(day)
    instance.add_dynamic_partitions(days.name or "", [day])
    reason = "" if again else why_current(home, day)
    if reason:
        return Launched(ingest_day.name, True, skipped=reason)
    return _launch(instance, ingest_day.name, _config(home, {}), partition_key=day)


def run_chain(
    instance: dg.DagsterInstance,
    home: Home,
    recipe: Recipe,
    *,
    device: str = "auto",
    deck: str = "sample",
    opponents: Sequence[str] = ("random", "heuristic"),
    games: int = 100,
    seed: int = 13,
    workers: int = 2,
) -> Launched:
    """From the validated days to the tournament by `nightly`. Stages whose result exists are reused by their ids.

    Raises :class:`ChainBusy` when another run has the chain's pool, instead of waiting for it in silence, and what the
    selection raises when it is empty.
    """
    _require_free(instance)
    ops: dict[str, dict[str, Any]] = {
        "card_features": {"generations": list(recipe.generations)},
        "work_plan": {"recipe": to_dict(recipe)},
        "mlx_checkpoint": {"device": device},
        "submission": {"deck": deck},
        "tournament": {"opponents": list(opponents), "games": games, "seed": seed, "workers": workers},
    }
    return _launch(instance, nightly.name, _config(home, ops), tags={DIGEST_TAG: news(home, recipe).digest})


def _require_free(instance: dg.DagsterInstance) -> None:
    holders = {slot.run_id for slot in instance.event_log_storage.get_concurrency_info(CHAIN_POOL).claimed_slots}
    for run in instance.get_runs(dg.RunsFilter(run_ids=sorted(holders))) if holders else ():
        who = f"run {run.run_id[:8]} of {run.job_name} ({run.status.value})"
        raise ChainBusy(f"{who} has the pool {CHAIN_POOL!r}: wait for it, or end it in the UI")


def _config(home: Home, ops: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    config: dict[str, Any] = {
        "ops": {name: {"config": dict(values)} for name, values in ops.items()},
        "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
    }
    if home != Home.resolve():
        config["resources"] = {"workspace": {"config": {"data": str(home.root)}}}
    return config


def _launch(
    instance: dg.DagsterInstance,
    job: str,
    config: dict[str, Any],
    partition_key: str | None = None,
    tags: Mapping[str, str] | None = None,
) -> Launched:
    with warnings.catch_warnings():
        # What Dagster's own parts say to each other about preview features says nothing to a user.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        result = graph.resolve_job_def(job).execute_in_process(
            run_config=config,
            instance=instance,
            partition_key=partition_key,
            raise_on_error=False,
            tags={**_LOCATION, **(tags or {})},
        )
    return Launched(job, result.success, result.run_id, failures=_failures(result), made=_made(result))


def _failures(result: dg.ExecuteInProcessResult) -> tuple[str, ...]:
    blocking: dict[str, list[str]] = {}
    for event in result.all_events:
        if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
            check = event.asset_check_evaluation_data
            if not check.passed and check.blocking and check.severity is dg.AssetCheckSeverity.ERROR:
                line = f"check {check.check_name} of {check.asset_key.to_user_string()} failed: {check.description}"
                blocking.setdefault(event.step_key or "", []).append(line)
    return tuple(
        f"{event.step_key}: {line}"
        for event in result.all_events
        if event.is_step_failure
        for line in blocking.get(event.step_key or "", [failure_line(event)])
    )


def _made(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    return {
        event.materialization.asset_key.to_user_string(): {
            name: getattr(value, "value", None) for name, value in event.materialization.metadata.items()
        }
        for event in result.all_events
        if event.is_step_materialization
    }
