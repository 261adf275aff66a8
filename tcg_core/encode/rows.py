"""An episode as rows of every stream of the schema, in canonical order."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tcg_core.encode.columns import Array, Columns, numpy_dtype
from tcg_core.encode.encoder import EncodedDecision
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.schema import SCHEMA, Stream
from tcg_core.encode.targets import Moment, Target, aux_targets, prizes_left
from tcg_core.encode.tracker import Tracker


class AnyDecision(Protocol):
    """A decision as the replay parser gives it; ``observation`` has the attributes of ``encode.observation``."""

    @property
    def step_id(self) -> int: ...
    @property
    def side(self) -> int: ...
    @property
    def observation(self) -> Any: ...
    @property
    def picks(self) -> tuple[int, ...]: ...


class AnyGame(Protocol):
    """A game as the replay parser gives it."""

    @property
    def index(self) -> int: ...
    @property
    def decisions(self) -> Sequence[AnyDecision]: ...
    @property
    def outcome(self) -> int | None: ...
    @property
    def prizes(self) -> tuple[int, int] | None: ...
    @property
    def excluded(self) -> str | None: ...


class AnyEpisode(Protocol):
    """An episode as the replay parser gives it."""

    @property
    def episode_id(self) -> int: ...
    @property
    def generation(self) -> str: ...
    @property
    def module_version(self) -> str: ...
    @property
    def team_names(self) -> tuple[str, str]: ...
    @property
    def decks(self) -> tuple[tuple[int, ...], tuple[int, ...]]: ...
    @property
    def games(self) -> Sequence[AnyGame]: ...


def deck_hash(deck: Sequence[int]) -> str:
    """Hex SHA-256 of the sorted, comma-joined card ids: equal decks, whatever their order, have one hash."""
    return hashlib.sha256(",".join(map(str, sorted(deck))).encode()).hexdigest()


def encode_episode(episode: AnyEpisode, day: str) -> Columns:
    """Every row of every kept game (``excluded`` is None), ordered by game, side, step and substep.

    Raises :class:`EncodeError` naming episode, game, side and step when an observation cannot be encoded; no row of such
    an episode is to be used.
    """
    rows: list[dict[str, Any]] = []
    for game in episode.games:
        if game.excluded is None:
            rows.extend(_game_rows(episode, game))
    try:
        columns = _with_metadata(Columns.from_rows(rows) if rows else empty_columns(SCHEMA.streams), episode, day)
        check_ranges(columns)
    except EncodeError as error:
        raise EncodeError(f"episode {episode.episode_id}: {error}") from error
    return columns


def _with_metadata(columns: Columns, episode: AnyEpisode, day: str) -> Columns:
    """The columns with what is one value an episode or a seat, in the schema's order."""
    count = columns.rows
    hashes = [deck_hash(deck) for deck in episode.decks]
    sides = columns["side"]
    constant = {
        "episode_id": episode.episode_id,
        "day": day,
        "generation": episode.generation,
        "module_version": episode.module_version,
    }
    values = dict(columns.values)
    for name, value in constant.items():
        values[name] = np.full(count, value, dtype=numpy_dtype(SCHEMA.by_name[name]))
    for name, pair, flip in (
        ("player_name", episode.team_names, 0),
        ("opponent_name", episode.team_names, 1),
        ("player_deck_hash", hashes, 0),
        ("opponent_deck_hash", hashes, 1),
    ):
        values[name] = np.array(pair, dtype=object)[sides ^ flip]
    return Columns(count, {stream.name: values[stream.name] for stream in SCHEMA.streams}, columns.offsets)


def _game_rows(episode: AnyEpisode, game: AnyGame) -> list[dict[str, Any]]:
    if game.outcome is None:
        raise EncodeError(f"episode {episode.episode_id} game {game.index}: kept without an outcome")
    targets = aux_targets([_moment(decision) for decision in game.decisions], game.prizes, game.outcome)
    lanes: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    trackers: list[Tracker | None] = [None, None]
    counts = [0, 0]
    for decision, target in zip(game.decisions, targets, strict=True):
        side = decision.side
        try:
            tracker = trackers[side] or Tracker(episode.decks[side])
            trackers[side] = tracker
            tracker.observe(decision.observation)
            lanes[side].extend(_decision_rows(tracker, decision, target, game, counts[side], not lanes[side]))
            tracker.answered(decision.observation, decision.picks)
        except EncodeError as error:
            where = f"episode {episode.episode_id} game {game.index} side {side} step {decision.step_id}"
            raise EncodeError(f"{where}: {error}") from error
        counts[side] += 1
    return [*lanes[0], *lanes[1]]


def _moment(decision: AnyDecision) -> Moment:
    state = decision.observation.current
    looked_at = [0, 0]
    looked_at[decision.side] = len(state.looking or ())
    first, second = (prizes_left(state.turn, len(p.prize), cards) for p, cards in zip(state.players, looked_at, strict=True))
    return Moment(decision.side, state.turn, (first, second))


def _decision_rows(
    tracker: Tracker, decision: AnyDecision, target: Target, game: AnyGame, number: int, first_of_lane: bool
) -> list[dict[str, Any]]:
    """One row a pick, and a STOP row when the answer ended before maxCount."""
    encoded = EncodedDecision(tracker, decision.observation)
    picks, select = decision.picks, encoded.select
    labels = list(picks)
    if select.min_count <= len(picks) < select.max_count:
        labels.append(len(select.option))
    assert game.outcome is not None
    shared = {
        "game": game.index,
        "side": decision.side,
        "step_id": decision.step_id,
        "decision_id": number,
        "outcome": game.outcome if decision.side == 0 else -game.outcome,
        "aux_valid": target.valid,
        "aux_ko": target.ko,
        "aux_prize_delta": target.prize_delta,
        "aux_terminal": target.terminal,
        "aux_return": target.ret,
    }
    rows = []
    for substep, label in enumerate(labels):
        row = encoded.row(picks[:substep])
        row.update(shared, y=label, substep=substep, new_episode=first_of_lane and substep == 0)
        rows.append(row)
    return rows


def empty_columns(streams: Sequence[Stream]) -> Columns:
    """No rows of ``streams``, each with its declared dtype and shape."""
    values: dict[str, Array] = {}
    for stream in streams:
        values[stream.name] = np.zeros((0,) if stream.width == 1 else (0, stream.width), dtype=numpy_dtype(stream))
    return Columns(0, values, {stream.group: np.zeros(1, np.int64) for stream in streams if stream.group})


def check_ranges(columns: Columns) -> None:
    """Raises :class:`EncodeError` naming the stream when a value leaves its declared range or is not finite."""
    for name, array in columns.values.items():
        stream = SCHEMA.by_name[name]
        if stream.low is None or stream.high is None or not array.size or array.dtype == np.bool_:
            continue
        low, high = array.min(), array.max()
        if not (stream.low <= low and high <= stream.high):
            raise EncodeError(f"stream {name}: values {low} to {high}, expected {stream.low} to {stream.high}")
