"""Fills Dagster's history from the catalog and the manifests on disk.

A new Dagster home, or days that a backfill built without Dagster, thus become visible: partitions, materializations with
their metadata and versions, check results. What is known already is not reported again. Dagster's database is never the
only copy of anything.
"""

from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass

import dagster as dg

from tcg_assets.checks import DECLARED
from tcg_assets.dagster_private import CODE_VERSION_TAG, DATA_VERSION_TAG
from tcg_assets.pages.observe import tell_lineage
from tcg_assets.sync.held import Held
from tcg_assets.sync.mirror import mirror_days
from tcg_assets.sync.report import report
from tcg_core.base.home import Home
from tcg_core.catalog.registry import Registered

#: Assets in the order in which they are made, with the kind under which the registry knows them.
DAY_KINDS = {
    "day_archive": "day_archive",
    "day_catalog": "staged_day",
    "staged_day": "staged_day",
    "parquet_day": "parquet_day",
    "field_drift": "field_drift",
}
#: Those that the build of a day makes.
BUILT = ("day_catalog", "staged_day", "parquet_day")
KINDS = {
    "ratings": "ratings",
    "card_features": "card_features",
    "work_plan": "work_plan",
    "mlx_checkpoint": "checkpoint",
    "torch_artifact": "torch_artifact",
    "submission": "submission",
    "tournament": "tournament",
}
_IDS_A_QUERY = 500


@dataclass(frozen=True)
class Synced:
    """What was reported to Dagster: new partitions, materializations, check results, and observations of what was built from a
    day or became of a submission; ``absent`` is registered but not on disk."""

    partitions: tuple[str, ...]
    materializations: int
    checks: int
    absent: tuple[str, ...]
    observations: int = 0

    @property
    def line(self) -> str:
        """All of it in words."""
        return (
            f"Dagster now knows {len(self.partitions)} more partitions, {self.materializations} materializations, "
            f"{self.checks} check results, {self.observations} observations"
        )


def sync(instance: dg.DagsterInstance, home: Home, days: Collection[str] | None = None) -> Synced:
    """Tells Dagster what it does not know of the home; ``days`` narrows it to those days and leaves the other assets alone.

    A check has one state for its asset, whatever the day: of older days whose checks all passed only the materialization
    is told, which for a long history is a fifth of the events.
    """
    added = mirror_days(instance, home)
    artifacts = _artifacts(home)
    # Assets come in the order in which they are made, so those that are parents of the next are told in full.
    held, told, checks, absent = Held(instance), 0, 0, []
    codes, days_told = _codes(home), set[str | None]()
    for asset, found in _wanted(home, artifacts, days):
        known = _known(instance, asset, days)
        newest = max((partition for partition, _ in found if partition), default=None)
        for partition, row in found:
            code = codes.get(row.id, "") if asset in BUILT else ""
            before = known.get(partition, ("", "", ""))
            # Told again because it counts as the work of other code, so is what is made from it: Dagster compares it by event.
            same = before[:2] == (_version(row), row.id) and code in ("", before[2]) and partition not in days_told
            if not row.path.exists():
                absent.append(f"{row.kind} {row.id}: {row.path}")
            elif not same:
                checks += report(held, home, asset, row, _version(row), partition, all_checks=partition == newest, code=code)
                told += 1
                if partition and before[:2] == (_version(row), row.id):
                    days_told.add(partition)
    if days is None:
        reported = _report_champion(instance, home)
        told, checks = told + bool(reported), checks + reported
    return Synced(tuple(added), told, checks, tuple(sorted(set(absent))), tell_lineage(instance, home, days))


def _report_champion(instance: dg.DagsterInstance, home: Home) -> int:
    """Tells who reigns, which no manifest says but the record of decisions; returns its check results, 0 if it was known or
    nothing was decided yet."""
    from tcg_core.catalog.promotions import champion, history, promotions_root

    decided, reigning = history(home), champion(home)
    if not decided or _known(instance, "champion", None).get(None, ("", "", ""))[0] == reigning:
        return 0
    from tcg_core.arena.champion import champion_checks

    last = decided[-1]
    facts = {"champion": reigning, "decisions": len(decided)} | asdict(last)
    row = Registered("champion", reigning, promotions_root(home), reigning, "passed", last.at, facts)
    return report(Held(instance), home, "champion", row, reigning, checks=champion_checks(home))


def _wanted(
    home: Home, artifacts: dict[str, list[Registered]], days: Collection[str] | None
) -> Iterator[tuple[str, list[tuple[str | None, Registered]]]]:
    """Each asset with what it should show, assets in order: the present artifact of each day, the last artifact of the rest."""
    present = _present(home)
    for asset, kind in DAY_KINDS.items():
        chosen: dict[str, Registered] = {}
        for row in artifacts.get(kind, []):
            day = _day_of(home, row)
            if (days is None or day in days) and row.id in present.get((kind, day), {row.id}):
                chosen[day] = row
        yield asset, sorted(chosen.items())
    for asset, kind in () if days is not None else KINDS.items():
        if asset in DECLARED and artifacts.get(kind):
            yield asset, [(None, artifacts[kind][-1])]


def _artifacts(home: Home) -> dict[str, list[Registered]]:
    """The registry by kind, last materialized last."""
    from tcg_core.catalog.registry import rows_of

    found: dict[str, list[Registered]] = {}
    for row in reversed(rows_of(home)):
        found.setdefault(row.kind, []).append(row)
    return found


def _codes(home: Home) -> dict[str, str]:
    """By dataset id the code as whose build it counts: a day that was proven equal is not of other code."""
    from tcg_core.catalog.connection import catalog
    from tcg_core.days.code import counted_codes

    with catalog(home) as connection:
        return counted_codes(connection)


def _present(home: Home) -> dict[tuple[str, str], set[str]]:
    """(kind, day) -> the id that stands for the day now: its recorded archive, its dataset in use."""
    from tcg_core.catalog.connection import catalog
    from tcg_core.catalog.days import list_days

    with catalog(home) as connection:
        archives = dict(connection.execute("SELECT day, archive_sha256 FROM days").fetchall())
    present = {("day_archive", day): {sha256[:16]} for day, sha256 in archives.items()}
    for row in list_days(home):
        if row["dataset"]:
            present |= {(kind, str(row["day"])): {str(row["dataset"])} for kind in ("staged_day", "parquet_day")}
    return present


def _day_of(home: Home, row: Registered) -> str:
    return row.path.relative_to(home.root).parts[1]


def _version(row: Registered) -> str:
    """As :func:`tcg_assets.pages.metadata.data_version` tells it: a lone file by its id, a directory by its content."""
    return row.id if row.path.is_file() else row.content


def _known(instance: dg.DagsterInstance, asset: str, days: Collection[str] | None) -> dict[str | None, tuple[str, str, str]]:
    """Data version, id and code version of the latest materialization of each partition (None: of the asset) in its history.

    The id stands for inputs and code: what newer code, or a newer input, gave the same bytes is another materialization, and
    until it is told its asset is stale.
    """
    key, storage = dg.AssetKey(asset), instance.event_log_storage
    if asset not in DAY_KINDS:
        records = instance.fetch_materializations(key, limit=1).records
        return {None: _versions_told(records[0])} if records else {}
    asked = None if days is None else set(days)
    ids = sorted(storage.get_latest_storage_id_by_partition(key, dg.DagsterEventType.ASSET_MATERIALIZATION, asked).values())
    found: dict[str | None, tuple[str, str, str]] = {}
    for start in range(0, len(ids), _IDS_A_QUERY):
        some = dg.AssetRecordsFilter(key, storage_ids=ids[start : start + _IDS_A_QUERY])
        for record in instance.fetch_materializations(some, limit=_IDS_A_QUERY).records:
            found[record.partition_key] = _versions_told(record)
    return found


def _versions_told(record: dg.EventLogRecord) -> tuple[str, str, str]:
    told = record.asset_materialization
    if told is None:
        return "", "", ""
    tags, id = told.tags or {}, str(told.metadata["id"].value) if "id" in told.metadata else ""
    return tags.get(DATA_VERSION_TAG, ""), id, tags.get(CODE_VERSION_TAG, "")
