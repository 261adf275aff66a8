"""What a seat sees, as typed objects: the one field table of an observation.

The dataclasses below are that table. :func:`from_dict` reads a live observation into them; the typed structs that decode
replays (``replay/structs.py``) are generated from them, attribute for attribute, and a test holds the two together. The
encoder reads by attribute only, so it cannot tell the two apart. An attribute ``player_index`` is the JSON key
``playerIndex``. Keys that are not listed are skipped; a key with a default may be absent (options and logs carry only
the keys of their type, and the older replay layout lacks ``win``, ``draw`` and ``round``).
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tcg_core.encode.errors import EncodeError


@dataclass(slots=True)
class Card:
    """A card; ``serial`` is unique within a game and tells the owner."""

    id: int
    serial: int
    player_index: int


@dataclass(slots=True)
class Pokemon:
    """A unit in play with everything attached to it."""

    id: int
    serial: int
    player_index: int
    hp: int
    max_hp: int
    appear_this_turn: bool
    energies: list[int]
    energy_cards: list[Card]
    tools: list[Card]
    pre_evolution: list[Card]


@dataclass(slots=True)
class Player:
    """One side of the table; face-down cards are None, the other seat's hand is None as a whole."""

    active: list[Pokemon | None]
    bench: list[Pokemon | None]
    bench_max: int
    deck_count: int
    discard: list[Card]
    prize: list[Card | None]
    hand_count: int
    hand: list[Card] | None
    poisoned: bool
    burned: bool
    asleep: bool
    paralyzed: bool
    confused: bool
    win: int | None = None


@dataclass(slots=True)
class State:
    """The table; ``turn`` 0 is set-up, ``your_index`` the seat that decides."""

    turn: int
    turn_action_count: int
    your_index: int
    first_player: int
    supporter_played: bool
    stadium_played: bool
    energy_attached: bool
    retreated: bool
    stadium: list[Card]
    looking: list[Card | None] | None
    players: list[Player]
    draw: int | None = None
    round: int | None = None


@dataclass(slots=True)
class Option:
    """One option; which keys are there depends on its type."""

    type: int
    number: int | None = None
    area: int | None = None
    index: int | None = None
    player_index: int | None = None
    tool_index: int | None = None
    energy_index: int | None = None
    count: int | None = None
    in_play_area: int | None = None
    in_play_index: int | None = None
    attack_id: int | None = None
    card_id: int | None = None
    serial: int | None = None
    special_condition_type: int | None = None


@dataclass(slots=True)
class Select:
    """What is asked: between ``min_count`` and ``max_count`` distinct options."""

    type: int
    context: int
    min_count: int
    max_count: int
    remain_damage_counter: int
    remain_energy_cost: int
    option: list[Option]
    deck: list[Card | None] | None
    context_card: Card | None
    effect: Card | None


@dataclass(slots=True)
class Log:
    """An event since the seat's previous decision; which keys are there depends on its type."""

    type: int
    player_index: int | None = None
    card_id: int | None = None
    serial: int | None = None
    from_area: int | None = None
    to_area: int | None = None
    card_id_target: int | None = None
    serial_target: int | None = None
    card_id_before: int | None = None
    serial_before: int | None = None
    card_id_after: int | None = None
    serial_after: int | None = None
    card_id_active: int | None = None
    serial_active: int | None = None
    card_id_bench: int | None = None
    serial_bench: int | None = None


@dataclass(slots=True)
class Observation:
    """All that one seat is shown. ``select`` and ``current`` are None only when the deck is asked for."""

    select: Select | None
    logs: list[Log]
    current: State | None


#: All classes of the table, inner ones first.
TABLE: tuple[type, ...] = (Card, Pokemon, Player, State, Option, Select, Log, Observation)


def json_name(attribute: str) -> str:
    """The JSON key of an attribute: ``player_index`` -> ``playerIndex``."""
    head, *tail = attribute.split("_")
    return head + "".join(part.capitalize() for part in tail)


def from_dict(obs: Mapping[str, Any]) -> Observation:
    """Reads a live observation. Raises :class:`EncodeError` naming the field that is missing or of another type."""
    read: Observation = _READERS[Observation](obs, "observation")
    return read


_Reader = Callable[[Any, str], Any]
_READERS: dict[Any, _Reader] = {}


def _scalar(kind: type) -> _Reader:
    def read(value: Any, where: str) -> Any:
        if type(value) is not kind:
            raise EncodeError(f"{where}: expected {kind.__name__}, found {type(value).__name__}")
        return value

    return read


def _optional(inner: _Reader) -> _Reader:
    return lambda value, where: None if value is None else inner(value, where)


def _list(inner: _Reader) -> _Reader:
    def read(value: Any, where: str) -> Any:
        if not isinstance(value, list):
            raise EncodeError(f"{where}: expected a list, found {type(value).__name__}")
        return [inner(item, where) for item in value]

    return read


def _reader(kind: Any) -> _Reader:
    if kind in _READERS:
        return _READERS[kind]
    if typing.get_origin(kind) is list:
        return _list(_reader(typing.get_args(kind)[0]))
    if typing.get_origin(kind) is types.UnionType:
        (inner,) = (part for part in typing.get_args(kind) if part is not type(None))
        return _optional(_reader(inner))
    return _scalar(kind)


def _record(kind: Any) -> _Reader:
    hints = typing.get_type_hints(kind)
    fields = [
        (json_name(field.name), field.default is dataclasses.MISSING, _reader(hints[field.name]))
        for field in dataclasses.fields(kind)
    ]
    name = kind.__name__.lower()

    def read(value: Any, where: str) -> Any:
        if not isinstance(value, Mapping):
            raise EncodeError(f"{where}: expected an object, found {type(value).__name__}")
        values = []
        for key, required, inner in fields:
            if key in value:
                values.append(inner(value[key], f"{name}.{key}"))
            elif required:
                raise EncodeError(f"{where}: {name} has no key {key!r}")
            else:
                values.append(None)
        return kind(*values)

    return read


for _kind in TABLE:
    _READERS[_kind] = _record(_kind)
