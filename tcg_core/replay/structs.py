"""Typed structs that decode an observation out of a replay. Generated: do not edit.

Source: the field table of ``encode/observation.py``, through ``tests/replay/structs_source.py``. The attributes are the
same, so the encoder reads either kind; keys that are not listed (``search_begin_input``, clocks) are skipped undecoded.
"""

import msgspec


class Card(msgspec.Struct, rename="camel", gc=False):
    """A card; ``serial`` is unique within a game and tells the owner."""

    id: int
    serial: int
    player_index: int


class Pokemon(msgspec.Struct, rename="camel", gc=False):
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


class Player(msgspec.Struct, rename="camel", gc=False):
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


class State(msgspec.Struct, rename="camel", gc=False):
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


class Option(msgspec.Struct, rename="camel", gc=False):
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


class Select(msgspec.Struct, rename="camel", gc=False):
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


class Log(msgspec.Struct, rename="camel", gc=False):
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


class Observation(msgspec.Struct, rename="camel", gc=False):
    """All that one seat is shown. ``select`` and ``current`` are None only when the deck is asked for."""

    select: Select | None
    logs: list[Log]
    current: State | None
