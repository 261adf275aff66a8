"""One member of an archive: parsed, counted, encoded; it ends as rows, excluded or quarantined, never in part."""

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.errors import encodable
from tcg_core.catalog.records import INTERNAL, EpisodeRecord, GameRecord, Participant
from tcg_core.encode.columns import Columns
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.rows import deck_hash, encode_episode
from tcg_core.replay.archive import Archive, Member
from tcg_core.replay.decisions import Episode, Game
from tcg_core.replay.episode import parse_episode
from tcg_core.replay.errors import Quarantine
from tcg_core.replay.recount import recount, recount_plain

LOG = logging.getLogger("tcg")
_DETAIL_LENGTH = 500


@dataclass(frozen=True)
class ExpectedLane:
    """What a lane must have in the Parquet, counted without the encoder; ``plain_*``: counted again from plain json, None
    where the episode is not of the sample, -1 where that count has no such lane."""

    episode_id: int
    game: int
    side: int
    decisions: int
    rows: int
    plain_decisions: int | None
    plain_rows: int | None


@dataclass(frozen=True)
class Processed:
    """What one member gave. ``columns`` is None unless the record's status is ``rows``."""

    record: EpisodeRecord
    decks: Mapping[str, tuple[int, ...]]
    expected: tuple[ExpectedLane, ...] = ()
    columns: Columns | None = None


def process(archive: Archive, member: Member, day: str, plain: bool) -> Processed:
    """Reads, parses and encodes one member. ``plain``: also count its rows from plain json.

    Nothing that one member holds stops its day: an error that nobody foresaw is a fault of this code, goes to the log as such
    and quarantines the member as ``internal: ERROR``.
    """
    try:
        return _process(archive, member, day, plain)
    except Quarantine as error:
        return _quarantined(member, error.reason, error.text)
    except EncodeError as error:
        return _quarantined(member, "encode", str(error))
    except Exception as error:
        name, place = type(error).__name__, traceback.extract_tb(error.__traceback__)[-1]
        trace = encodable(traceback.format_exc())
        LOG.error("day %s, member %s: an error of this code; the episode is quarantined\n%s", day, member.name, trace)
        text = f"{member.name}: {name} at {Path(place.filename).name}:{place.lineno}: {error}"
        return _quarantined(member, f"{INTERNAL}{name}", text)


def _process(archive: Archive, member: Member, day: str, plain: bool) -> Processed:
    data = archive.read(member)
    episode = parse_episode(data, member.name)
    columns = encode_episode(episode, day)
    counts = recount(episode)
    rules = sorted({game.excluded for game in episode.games if game.excluded})
    status, reason = ("rows", None) if columns.rows else ("excluded", "+".join(rules) or "no_decisions")
    record = EpisodeRecord(
        member=member.name,
        episode_id=episode.episode_id,
        status="rows" if status == "rows" else "excluded",
        reason=reason,
        content_hash=episode.content_hash,
        generation=episode.generation,
        module_version=episode.module_version,
        best_of=episode.best_of,
        seats=tuple(Participant(name, deck_hash(deck)) for name, deck in zip(episode.team_names, episode.decks, strict=True)),
        games=tuple(_game(game, counts) for game in episode.games),
        caveats=dict(episode.caveats),
    )
    decks = {deck_hash(deck): tuple(sorted(deck)) for deck in episode.decks}
    if not columns.rows:
        return Processed(record, decks)
    return Processed(record, decks, _expected(episode, counts, recount_plain(data) if plain else None), columns)


def _quarantined(member: Member, reason: str, text: str) -> Processed:
    # One line of text that any file can hold, whatever the episode brought into the message.
    line = " ".join(encodable(text).split())
    record = EpisodeRecord(member.name, member.episode_id, "quarantined", reason, line[:_DETAIL_LENGTH])
    return Processed(record, {})


def _game(game: Game, counts: Mapping[tuple[int, int], tuple[int, int]]) -> GameRecord:
    kept = [counts.get((game.index, side), (0, 0)) for side in (0, 1)] if game.excluded is None else []
    first = None
    if game.decisions:
        state = game.decisions[-1].observation.current
        first = state.first_player if state is not None and state.first_player in (0, 1) else None
    return GameRecord(
        game=game.index,
        outcome=game.outcome,
        reason=game.reason,
        excluded=game.excluded,
        first_player=first,
        prizes=game.prizes,
        decisions=len(game.decisions),
        rows=sum(rows for _, rows in kept),
    )


def _expected(
    episode: Episode, counts: Mapping[tuple[int, int], tuple[int, int]], plain: Mapping[tuple[int, int], tuple[int, int]] | None
) -> tuple[ExpectedLane, ...]:
    lanes = []
    for (game, side), (decisions, rows) in sorted(counts.items()):
        again = (None, None) if plain is None else plain.get((game, side), (-1, -1))
        lanes.append(ExpectedLane(episode.episode_id, game, side, decisions, rows, *again))
    return tuple(lanes)
