"""Stage ``field_drift``: a day's field against the validated days before it, as figures, warnings and a picture."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from tcg_core.base.atomic import write_json
from tcg_core.base.built import Built
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import Input
from tcg_core.base.stage import Stage, finish, make
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.kinds import DAY
from tcg_core.days.checks.field import field_checks
from tcg_core.days.errors import DayError
from tcg_core.days.field import Field, distance

KIND, FACTS, PLOT = "field_drift", "field.json", "field.png"
#: Days that the day is compared with: as many as the field needs to move by about the spread of the ladder's own noise.
WINDOW = 7
_SHOWN = 8


def field_drift(home: Home, day: str, window: int = WINDOW) -> Built:
    """Compares the validated ``day`` with up to ``window`` validated days before it; none of its checks blocks.

    The same days give the same artifact ``drift/DATE/<id>/``. Raises :class:`DayError` if the day is not validated.
    """
    parse_day(day)
    with catalog(home) as connection:
        rows = [row for row in datasets_of(connection, state="validated") if row.day <= day]
        if not rows or rows[-1].day != day:
            raise DayError(f"day {day} has no validated dataset whose field could be described")
        used = rows[-(window + 1) :]
        fields = {row.day: field_of(connection, row.day) for row in used}
        inputs = tuple(Input(DAY, row.dataset_id, row.sha256) for row in used)
    contents = {row.id: row.content for row in registry.rows_of(home, DAY)}
    inputs = tuple(Input(item.kind, item.id, contents.get(item.id, item.sha256)) for item in inputs)
    now, before = fields[day], Field.total(fields[row.day] for row in used[:-1])

    def write(directory: Path) -> dict[str, Any]:
        facts = _facts(now, before, [row.day for row in used[:-1]])
        write_json(directory / FACTS, facts | {"top_decks": now.decks.most_common(_SHOWN)})
        _draw(directory / PLOT, day, fields, before)
        return facts

    made = make(Stage.of(KIND, KIND, home.drift / day, inputs, {"day": day, "window": window}), write)
    plots = {"field": made.path / PLOT}
    registrar = registry.HomeRegistrar(home)
    return finish(registrar, made, lambda: field_checks(now, before, len(used) - 1), made.manifest.facts, plots)


def field_of(connection: sqlite3.Connection, day: str) -> Field:
    """The day's field, from the catalog: seats of all episodes that were not quarantined, games that gave rows."""
    seats = connection.execute(
        "SELECT p.deck_hash, a.name FROM participants p JOIN agents a USING (agent_id) WHERE p.day = ?", (day,)
    ).fetchall()
    played = connection.execute(
        "SELECT module_version FROM episodes WHERE day = ? AND status <> 'quarantined' ORDER BY episode_id", (day,)
    )
    games = connection.execute(
        "SELECT decisions, outcome, first_player FROM games WHERE day = ? AND excluded IS NULL ORDER BY episode_id, game", (day,)
    ).fetchall()
    decided = [game for game in games if game["outcome"] in (-1, 1) and game["first_player"] is not None]
    return Field(
        Counter(seat["deck_hash"] for seat in seats),
        Counter(seat["name"] for seat in seats),
        Counter(str(row["module_version"]) for row in played),
        tuple(game["decisions"] for game in games),
        sum(game["outcome"] == (1 if game["first_player"] == 0 else -1) for game in decided),
        len(decided),
    )


def _facts(now: Field, before: Field, days: Sequence[str]) -> dict[str, Any]:
    return {
        "games": len(now.lengths),
        "decks": len(now.decks),
        "names": len(now.names),
        "versions": dict(sorted(now.versions.items())),
        "decisions_a_game": sum(now.lengths) / len(now.lengths) if now.lengths else None,
        "first_player_wins": now.first_wins / now.first_known if now.first_known else None,
        "compared_with": list(days),
        "deck_distance": distance(now.decks, before.decks),
        "name_distance": distance(now.names, before.names),
    }


def _draw(path: Path, day: str, fields: dict[str, Field], before: Field) -> None:
    """Top decks, game lengths and the first player's win rate; without date or software in the file, so that its bytes repeat."""
    now = fields[day]
    figure = Figure(figsize=(9, 2.8), dpi=80, layout="constrained")
    decks, lengths, first = figure.subplots(1, 3)
    top = [key for key, _ in now.decks.most_common(_SHOWN)]
    for offset, one, label in ((-0.2, now, day), (0.2, before, "before")):
        total = max(one.decks.total(), 1)
        decks.bar([i + offset for i in range(len(top))], [one.decks[key] / total for key in top], 0.4, label=label)
    decks.set_xticks(range(len(top)), [key[:6] for key in top], rotation=60, fontsize=7)
    decks.set(title="share of seats by deck")
    decks.legend(fontsize=7)
    for one, label in ((before, "before"), (now, day)):
        if one.lengths:
            lengths.hist(one.lengths, bins=30, density=True, alpha=0.6, label=label)
    lengths.set(title="decisions a game")
    lengths.legend(fontsize=7)
    known = [(name[5:], one.first_wins / one.first_known) for name, one in sorted(fields.items()) if one.first_known]
    first.plot(range(len(known)), [rate for _, rate in known], marker="o")
    first.set_xticks(range(len(known)), [name for name, _ in known], rotation=60, fontsize=7)
    first.axhline(0.5, color="#999999", linewidth=0.8)
    first.set(title="who goes first wins", ylim=(0, 1))
    figure.savefig(path, metadata={"Software": None})
