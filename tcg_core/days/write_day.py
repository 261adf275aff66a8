"""One pass over an archive into a directory of files. A pure function of the archive and of this code: no catalog, no home."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.progress import track
from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days.layout import SHAPE, write_episodes, write_expected
from tcg_core.days.members import ExpectedLane
from tcg_core.days.plots import draw_shape
from tcg_core.days.pool import processed
from tcg_core.replay.archive import Archive
from tcg_core.replay.episode import PARSER_VERSION
from tcg_core.rows.reader import ROWS
from tcg_core.rows.writer import DayWriter

#: One member in so many is counted again from plain json, chosen by hash; at least one of each day.
PLAIN_SHARE = 100
#: Larger members are not of the sample: plain json takes ten times their size in memory.
PLAIN_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Written:
    """What the pass gave."""

    records: tuple[EpisodeRecord, ...]
    facts: dict[str, Any]


def write_day(archive: Archive, day: str, directory: Path, workers: int) -> Written:
    """Writes rows.parquet, expected.parquet, episodes.json and shape.png; the bytes do not depend on ``workers``."""
    records: list[EpisodeRecord] = []
    expected: list[ExpectedLane] = []
    decks: dict[str, tuple[int, ...]] = {}
    options: Counter[int] = Counter()
    with DayWriter(directory / ROWS, day) as writer:
        results = processed(archive, day, plain_sample(archive, day), workers)
        for result in track(results, f"encode {day}", len(archive.members), "episodes"):
            records.append(result.record)
            expected.extend(result.expected)
            decks.update(result.decks)
            if result.columns is not None:
                options.update(result.columns.lengths("option").tolist())
                writer.add(result.columns)
    write_expected(directory, expected)
    write_episodes(directory, records, decks)
    draw_shape(directory / SHAPE, day, records, options)
    facts = {
        "rows": writer.rows,
        "rows_digest": writer.rows_digest,
        "parser_version": PARSER_VERSION,
        "row_groups": writer.row_groups,
        "decoded_bytes": writer.decoded_bytes,
        "generations": sorted(writer.generations),
        "json_bytes": sum(member.size for member in archive.members),
        **summary(records),
    }
    return Written(tuple(records), facts)


def plain_sample(archive: Archive, day: str) -> frozenset[int]:
    """Episode ids whose rows are counted again from plain json: one in PLAIN_SHARE by hash, at least one (of members up to
    PLAIN_BYTES)."""
    order = {
        member.episode_id: hashlib.sha256(f"plain:{day}:{member.episode_id}".encode()).digest()
        for member in archive.members
        if member.size <= PLAIN_BYTES
    }
    chosen = {id for id, key in order.items() if int.from_bytes(key[:8], "big") % PLAIN_SHARE == 0}
    return frozenset(chosen or sorted(order, key=lambda id: order[id])[:1])


def summary(records: list[EpisodeRecord]) -> dict[str, Any]:
    """Counts that a person wants of a day: episodes by how they ended, games by outcome, reason and who went first."""
    games = [game for record in records for game in record.games]
    kept = [game for game in games if game.excluded is None]
    known = [game for game in kept if game.first_player is not None]
    caveats: Counter[str] = Counter()
    for record in records:
        caveats.update(record.caveats)
    return {
        "members": len(records),
        "episodes": sum(record.status == "rows" for record in records),
        "excluded": _counts(record.reason for record in records if record.status == "excluded"),
        "quarantined": _counts(record.reason for record in records if record.status == "quarantined"),
        "games": len(games),
        "games_excluded": _counts(game.excluded for game in games if game.excluded),
        "decisions": sum(game.decisions for game in kept),
        "outcomes": {
            "seat0": sum(game.outcome == 1 for game in games),
            "seat1": sum(game.outcome == -1 for game in games),
            "draw": sum(game.outcome == 0 for game in games),
        },
        "reasons": _counts(game.reason for game in kept),
        "first_player_wins": sum(game.outcome == (1 if game.first_player == 0 else -1) for game in known) / len(known)
        if known
        else None,
        "agents": len({seat.name for record in records for seat in record.seats}),
        "decks": len({seat.deck_hash for record in records for seat in record.seats}),
        "module_versions": _counts(record.module_version for record in records if record.module_version),
        "caveats": dict(sorted(caveats.items())),
    }


def _counts(values: Any) -> dict[str, int]:
    return dict(sorted(Counter(str(value) for value in values).items()))
