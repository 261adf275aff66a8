"""Hand-over between unpartitioned assets: by id, never by newest directory.

In this order: the id made in the same run (or in the run that this one retries), the id of the launchpad, the latest
in the registry whose checks passed. An id whose checks failed or are absent is refused, whichever rule chose it.
"""

from dataclasses import dataclass

import dagster as dg

from tcg_core.base.home import Home


@dataclass(frozen=True)
class Handed:
    """An id and the rule that chose it."""

    id: str
    rule: str


def hand_over(context: dg.AssetExecutionContext, home: Home, asset: str, kind: str, configured: str = "") -> Handed:
    """The id of ``kind`` that this step uses from ``asset``; says so in the log.

    Raises what :mod:`tcg_core.catalog.registry` raises: no such id, none that passed, checks failed or absent.
    """
    from tcg_core.catalog import registry

    handed = _made_here(context, asset) or _configured(configured)
    if handed is None:
        handed = Handed(registry.latest_passed(home, kind), "the latest whose checks passed")
    registry.require_passed(home, kind, handed.id)
    context.log.info(f"{kind} {handed.id}: {handed.rule}")
    return handed


def _configured(configured: str) -> Handed | None:
    return Handed(configured, "named in the launchpad") if configured else None


def _made_here(context: dg.AssetExecutionContext, asset: str) -> Handed | None:
    run: dg.DagsterRun | None = context.run
    rule = "made in this run"
    while run is not None:
        made = made_by(context.instance, run.run_id, asset)
        if made is not None:
            return Handed(made, rule)
        run = context.instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None
        rule = "made in the run that this one retries"
    return None


def made_by(instance: dg.DagsterInstance, run_id: str, asset: str) -> str | None:
    """The id that a run materialized of ``asset``, the last if several; None if it made none."""
    logged = instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    for entry in reversed(logged):
        event = entry.dagster_event
        if event is not None and event.asset_key == dg.AssetKey(asset):
            return str(event.step_materialization_data.materialization.metadata["id"].value)
    return None
