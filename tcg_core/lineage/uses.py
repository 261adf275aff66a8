"""What was built from each day, one line for each way from a plan to play; read from the catalog alone, nothing is hashed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from tcg_core.base.graph import Graph, first_of
from tcg_core.base.home import Home
from tcg_core.base.manifest import Key
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.kinds import DAY
from tcg_core.catalog.promotions import champion, history
from tcg_core.catalog.registry import rows_of
from tcg_core.lineage.days import days_behind, marks
from tcg_core.lineage.graph import registered

#: The kinds of a chain in the order in which they are made.
KINDS = ("work_plan", "checkpoint", "torch_artifact", "submission", "tournament")


@dataclass(frozen=True)
class Use:
    """One way on from a day: ids of what was made, "" from where it did not go on.

    champion: verdict of the tournament and whether the submission reigns; through: the run that the plan continues, where
    the day is behind that run and not in the plan itself; at: when the last of them was registered (UTC); note: what marks
    them, as that the day was published again since.
    """

    work_plan: str
    checkpoint: str = ""
    torch_artifact: str = ""
    submission: str = ""
    tournament: str = ""
    champion: str = ""
    through: str = ""
    at: str = ""
    note: str = ""


@dataclass(frozen=True)
class _Known:
    """The catalog as one walk needs it."""

    graph: Graph
    at: Mapping[Key, str]
    verdicts: Mapping[str, str]
    reigning: str


def uses(home: Home, days: Collection[str] | None = None) -> dict[str, tuple[Use, ...]]:
    """By day, what was built from any of its builds, the latest first; ``days`` narrows it. Days without any are left out."""
    known = _known(home)
    with catalog(home) as connection:
        dates = {row["dataset_id"]: row["day"] for row in connection.execute("SELECT dataset_id, day FROM datasets")}
    noted = {key: "; ".join(str(mark) for mark in held) for key, held in marks(home).items()}
    found: dict[str, list[Use]] = {}
    for key in sorted(key for key in known.graph.inputs if key[0] == KINDS[0]):
        behind = days_behind(known.graph, key)
        if not behind:
            continue
        ways = known.graph.ways(key, KINDS[1:])
        direct = {item.id for item in known.graph.of(key) if item.kind == DAY}
        parent = first_of(known.graph.of(key), KINDS[1])
        for id in behind:
            day = dates.get(id, "")
            if day and (days is None or day in days):
                through = "" if id in direct or parent is None else parent.id
                found.setdefault(day, []).extend(_use(known, way, through, noted.get(way[-1], "")) for way in ways)
    return {day: tuple(sorted(set(held), key=lambda use: use.at, reverse=True)) for day, held in sorted(found.items())}


def columns() -> tuple[str, ...]:
    """Names of a use's fields, in order."""
    return tuple(field.name for field in fields(Use))


def _known(home: Home) -> _Known:
    with catalog(home) as connection:
        inputs = registered(connection).inputs
    # Of a tournament the first input is the candidate; the others only played against it.
    graph = Graph({key: items[:1] if key[0] == KINDS[-1] else items for key, items in inputs.items()})
    at = {(row.kind, row.id): row.registered_at for row in rows_of(home)}
    verdicts = {item.tournament: f"{item.verdict} against {item.incumbent}" for item in history(home)}
    return _Known(graph, at, verdicts, champion(home))


def _use(known: _Known, way: tuple[Key, ...], through: str, note: str) -> Use:
    ids = dict(way)
    told = [known.verdicts.get(ids.get(KINDS[-1], ""), "")]
    if ids.get("submission") == known.reigning:
        told.append("reigns")
    return Use(**ids, champion=", ".join(filter(None, told)), through=through, at=known.at.get(way[-1], ""), note=note)
