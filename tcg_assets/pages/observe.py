"""What pages say that is known only later: what was built from a day, what became of a submission, which days changed since.

Told as observations of the assets, outside any run, and only when it differs from what was told last. Dagster shows them
beside the materialization; they change nothing about what is stale.
"""

from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg

from tcg_assets.pages.metadata import CARD, card, ordered, plot, table
from tcg_assets.pages.told import tell_again
from tcg_core.base.digest import sha256_json
from tcg_core.base.home import Home

TOLD = "tcg/told"
#: Kind in the registry -> asset whose page shows what is built from days that changed since.
ASSETS = {
    "ratings": "ratings",
    "work_plan": "work_plan",
    "checkpoint": "mlx_checkpoint",
    "torch_artifact": "torch_artifact",
    "submission": "submission",
    "tournament": "tournament",
}
#: Facts of a checkpoint that its submission repeats.
_REACHED = ("val_acc", "val_acc_unforced", "baseline_acc_unforced", "val_ce")
_DAY_COLUMNS = ("registered", "from the plan to play", "champion", "mark")
#: Fields of a use in the order of the way, with the word for each.
_WAY = {
    "work_plan": "plan",
    "checkpoint": "checkpoint",
    "torch_artifact": "artifact",
    "submission": "submission",
    "tournament": "tournament",
}


def tell_lineage(instance: dg.DagsterInstance, home: Home, days: Collection[str] | None = None) -> int:
    """Brings the pages up to date: of ``days`` (None: of all), of the chain's assets, of the last submission.

    Returns how many observations were told.
    """
    pages = _days(instance, home, days) if days is None or days else {}
    told = sum(_tell_day(instance, day, page) for day, page in pages.items())
    return told + sum(_tell_asset(instance, home, asset, lines) for asset, lines in _of_assets(home).items())


def day_page(home: Home, day: str) -> dict[str, Any]:
    """What the page of a day lists as built from it, and under which other code it was proven equal."""
    from tcg_core.lineage.uses import uses

    return _day_metadata(day, uses(home, [day]).get(day, ()), _proofs(home).get(day, ()))


def _days(instance: dg.DagsterInstance, home: Home, days: Collection[str] | None) -> dict[str, dict[str, Any]]:
    """What the pages of the days that have one say, where anything was built from them or they were proven equal."""
    from tcg_core.lineage.uses import uses

    found, proofs = uses(home, days), _proofs(home)
    named = found.keys() | {day for day in proofs if days is None or day in days}
    known = instance.get_materialized_partitions(dg.AssetKey("parquet_day")) if named else set()
    return {day: _day_metadata(day, found.get(day, ()), proofs.get(day, ())) for day in sorted(named) if day in known}


def _proofs(home: Home) -> dict[str, tuple[Any, ...]]:
    """Proofs by day, the oldest first."""
    from tcg_core.catalog.connection import catalog
    from tcg_core.catalog.proofs import proofs_of

    found: dict[str, tuple[Any, ...]] = {}
    with catalog(home) as connection:
        for proof in proofs_of(connection):
            found[proof.day] = (*found.get(proof.day, ()), proof)
    return found


def _day_metadata(day: str, uses: Collection[Any], proofs: Collection[Any]) -> dict[str, Any]:
    rows = [(use.at[:16], _way(use), use.champion, use.note) for use in uses]
    page = {
        "built_from_it": table(_DAY_COLUMNS, rows),
        "submissions_from_it": dg.MetadataValue.int(len({use.submission for use in uses} - {""})),
    }
    if proofs:
        told = [(p.dataset_id, p.code, f"{p.episodes} of {p.of_episodes}", p.evidence, p.proven_at[:16]) for p in proofs]
        page["proven_equal"] = table(("dataset", "under code", "episodes compared", "evidence", "at"), told)
    return page


def _way(use: Any) -> str:
    made = [f"{word} {getattr(use, field)}" for field, word in _WAY.items() if getattr(use, field)]
    return ", ".join(made) + (f" (the run goes on from {use.through})" if use.through else "")


def _tell_day(instance: dg.DagsterInstance, day: str, metadata: dict[str, Any]) -> bool:
    digest = _digest(metadata)
    if digest == _told_last(instance, dg.AssetRecordsFilter(dg.AssetKey("parquet_day"), asset_partitions=[day])):
        return False
    # The page of a partition lists what was observed before what was materialized: the card stays above both.
    shown = ordered(_card_of_day(instance, day) | metadata)
    observed = dg.AssetObservation("parquet_day", partition=day, metadata=shown, tags={TOLD: digest})
    instance.report_runless_asset_event(observed)
    return True


def _card_of_day(instance: dg.DagsterInstance, day: str) -> dict[str, Any]:
    which = dg.AssetRecordsFilter(dg.AssetKey("parquet_day"), asset_partitions=[day])
    records = instance.fetch_materializations(which, limit=1).records
    made = records[0].asset_materialization if records else None
    return {name: made.metadata[name] for name in CARD if name in made.metadata} if made is not None else {}


def _told_last(instance: dg.DagsterInstance, which: dg.AssetKey | dg.AssetRecordsFilter) -> str:
    """Digest of the last observation, "" without one."""
    for record in instance.fetch_observations(which, limit=1).records:
        if record.asset_observation is not None:
            return str(record.asset_observation.tags.get(TOLD, ""))
    return ""


def _of_assets(home: Home) -> dict[str, dict[str, Any]]:
    """By asset, what its page says: days that changed under what was built from them, and of a submission its outcome."""
    from tcg_core.catalog.registry import rows_of
    from tcg_core.lineage.days import marks

    marked = marks(home)
    pages: dict[str, dict[str, Any]] = {}
    for kind, asset in ASSETS.items():
        rows = rows_of(home, kind)
        lines = [(row.id, mark.day, str(mark)) for row in rows for mark in marked.get((kind, row.id), ())]
        pages[asset] = {"built_from_changed_days": table((kind, "day", "what"), lines)} if lines else {}
        if kind == "submission" and rows:
            pages[asset] = submission_outcome(home, rows[0].id) | pages[asset]
    return pages


def submission_origin(home: Home, submission_id: str) -> dict[str, Any]:
    """What a submission was made from: days, episodes, rows, run, curves, parity, preflight.

    Raises :class:`~tcg_core.base.errors.UnknownId` for a link of the chain that the registry does not hold.
    """
    from tcg_core.lineage.submission import origin

    found = origin(home, submission_id)
    run, facts = found.checkpoint.id, found.checkpoint.facts
    reached = ", ".join(f"{name} {facts[name]:.3f}" for name in _REACHED if isinstance(facts.get(name), float))
    days = [(item.day, item.dataset_id, item.episodes, item.rows, item.state) for item in found.days]
    checks = [(check.name, "passed" if check.passed else "FAILED", check.message) for check in found.preflight]
    told = {
        "days": table(("day", "dataset", "episodes", "rows", "state"), days),
        "days_count": dg.MetadataValue.int(len({item.day for item in found.days})),
        "episodes": dg.MetadataValue.int(found.episodes),
        "rows": dg.MetadataValue.int(found.rows),
        "work_plan": dg.MetadataValue.text(found.plan.id),
        "checkpoint": dg.MetadataValue.text(f"{run} {found.artifact.facts.get('step', '')}: {reached}"),
        "parity": dg.MetadataValue.text(f"{'passed' if found.parity.passed else 'FAILED'}: {found.parity.message}"),
        "preflight": table(("check", "result", "what"), checks),
        "outcome": dg.MetadataValue.text("not played yet: run the asset tournament, or `tcg tournament`"),
    }
    if found.curves is not None:
        told |= plot("plot_curves", found.curves)
    return told


def submission_outcome(home: Home, submission_id: str) -> dict[str, Any]:
    """Results with their intervals, decisions, and whether the submission reigns and why; {} before its first tournament."""
    from tcg_core.explain.card import played_card
    from tcg_core.lineage.days import marks
    from tcg_core.lineage.submission import outcome

    found = outcome(home, submission_id)
    if not found.results and not found.decisions:
        return {}
    results = [_result_row(id, name, played) for id, held in found.results.items() for name, played in sorted(held.items())]
    decisions = [(item.tournament, item.incumbent, item.verdict, item.reason, item.at) for item in found.decisions]
    latest = next(iter(list(found.results.values())[::-1]), {})
    changed = len({mark.day for mark in marks(home, [("submission", submission_id)]).get(("submission", submission_id), ())})
    return card(played_card(latest, found.champion, changed)) | {
        "results_of": dg.MetadataValue.text(submission_id),
        "results": table(("tournament", "opponent", "won", "drawn", "lost", "score", "95 % from", "to"), results),
        "decisions": table(("tournament", "against", "verdict", "why", "at"), decisions),
        "champion": dg.MetadataValue.text(found.champion),
    }


def _result_row(tournament: str, opponent: str, played: Mapping[str, Any]) -> tuple[Any, ...]:
    counts = (played["wins"], played["draws"], played["losses"])
    return (
        tournament,
        opponent,
        *counts,
        *("none" if played.get(name) is None else played[name] for name in ("score", "low", "high")),
    )


def _tell_asset(instance: dg.DagsterInstance, home: Home, asset: str, metadata: dict[str, Any]) -> bool:
    """Tells again after a new materialization too: a page shows what was observed since the last one."""
    key = dg.AssetKey(asset)
    held = instance.fetch_materializations(key, limit=1).records
    before = _told_last(instance, key)
    if not held or not (metadata or before):
        return False
    digest = _digest(metadata, held[0].storage_id if metadata else 0)
    if digest == before:
        return False
    told = metadata or {"built_from_changed_days": dg.MetadataValue.text("none any more")}
    made = held[0].asset_materialization
    if "results_of" in metadata and made is not None and _id_of(made) == metadata["results_of"].value:
        from tcg_core.catalog.registry import checks_of

        tell_again(instance, made, told | {"outcome": metadata["champion"]}, checks_of(home, asset, _id_of(made)))
        digest = _digest(metadata, instance.fetch_materializations(key, limit=1).records[0].storage_id)
    instance.report_runless_asset_event(dg.AssetObservation(key, metadata=told, tags={TOLD: digest}))
    return True


def _id_of(made: dg.AssetMaterialization) -> str:
    return str(made.metadata["id"].value) if "id" in made.metadata else ""


def _digest(metadata: Mapping[str, Any], event: int = 0) -> str:
    return sha256_json([{name: str(value.value) for name, value in metadata.items()}, event])[:16]
