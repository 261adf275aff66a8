"""The outer layout of a replay file, decoded in one pass that leaves observations and frames as raw bytes."""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tcg_core.replay.structs import Observation


class SeatStep(msgspec.Struct, gc=False):
    """One seat of one step; only an ACTIVE seat's observation is fresh, so it is decoded on demand."""

    status: str
    observation: Raw
    action: Any = None
    visualize: Raw | UnsetType = UNSET


class Replay(msgspec.Struct, gc=False):
    """The replay as Kaggle publishes it, or a wrapper around it in ``replay``."""

    steps: list[tuple[SeatStep, SeatStep]] | UnsetType = UNSET
    name: str | UnsetType = UNSET
    module_version: str | None = None
    configuration: dict[str, Any] = msgspec.field(default_factory=dict)
    rewards: list[int | float | None] | UnsetType = UNSET
    statuses: list[str] | UnsetType = UNSET
    info: dict[str, Any] = msgspec.field(default_factory=dict)
    visualize: Raw | UnsetType = UNSET
    replay: Raw | UnsetType = UNSET


class _Holder(msgspec.Struct, gc=False):
    visualize: Raw | UnsetType = UNSET


class _Player(msgspec.Struct, gc=False):
    prize: list[Raw]


class _FrameLog(msgspec.Struct, gc=False):
    type: str | int
    result: int | None = None
    reason: int | None = None


class Shown(msgspec.Struct, rename="camel", gc=False):
    """The moment that a frame shows: turn, actions of the turn so far, and the seat that decides."""

    turn: int
    turn_action_count: int
    your_index: int
    players: Raw


class Frame(msgspec.Struct, gc=False):
    """A full-information frame. Read are its moment, the answer that led to it and the RESULT log; of a game's last frame the
    two prize counts too. ``selected`` is None in a game's first frame."""

    logs: Raw | UnsetType = UNSET
    current: Shown | UnsetType = UNSET
    selected: list[int] | None = None


class _Round(msgspec.Struct, gc=False):
    round: int | None = None


class Outline(msgspec.Struct, gc=False):
    """Just enough of an observation to tell which game it belongs to."""

    current: _Round | None = None


decode_replay = msgspec.json.Decoder(Replay).decode
decode_observation = msgspec.json.Decoder(Observation).decode
decode_outline = msgspec.json.Decoder(Outline).decode
_decode_holder = msgspec.json.Decoder(_Holder).decode
_decode_frames = msgspec.json.Decoder(list[Frame] | None).decode
_decode_logs = msgspec.json.Decoder(list[_FrameLog]).decode
_decode_players = msgspec.json.Decoder(tuple[_Player, _Player]).decode
# the one key that only a RESULT log carries: logs without these bytes need no decoding
_REASON = b'"reason"'
_RESULT = ("Result", "RESULT", 23)


class Terminal(msgspec.Struct, frozen=True):
    """The end of one game: engine result code, reason, prizes left of both seats."""

    result: int
    reason: int | None
    prizes: tuple[int, int]


def read_frames(replay: Replay, steps: list[tuple[SeatStep, SeatStep]]) -> list[Frame]:
    """All frames of the replay in order, none where it carries none. They lie at ``steps[0][0].visualize``, in that seat's
    first observation, or at the top level."""
    raw = steps[0][0].visualize
    if raw is UNSET:
        raw = _decode_holder(steps[0][0].observation).visualize
    if raw is UNSET:
        raw = replay.visualize
    return [] if isinstance(raw, UnsetType) else _decode_frames(raw) or []


def terminals(frames: list[Frame]) -> list[Terminal]:
    """The end that each game's last frame tells, in order."""
    ends = []
    for frame in frames:
        if isinstance(frame.logs, UnsetType) or _REASON not in bytes(frame.logs):
            continue
        for log in _decode_logs(frame.logs):
            if log.type in _RESULT and log.result is not None:
                if isinstance(frame.current, UnsetType):
                    raise msgspec.ValidationError("a terminal frame without `current`")
                first, second = _decode_players(frame.current.players)
                ends.append(Terminal(log.result, log.reason, (len(first.prize), len(second.prize))))
    return ends
