"""The one schema object: every stream of a row, with its dtype, shape, range and meaning.

Encoder, Arrow schema, validator, batch builder, networks and the docs table are derived from :data:`SCHEMA`; its
:attr:`Schema.digest` is in every file, checkpoint and artifact, and another digest is refused by name.

A row is one autoregressive pick. Streams are *scalar* (one value a row), *fixed* (``width`` values a row) or *ragged*
(a list a row; all streams of one ``group`` have the same length in a row, and ``width`` values an item). Card and
attack ids are those of the row's engine generation: 0 is "none", -1 "a card is there, face down to this seat". An id that
no card table holds (a new print) stays in the row as it is; :mod:`tcg_core.encode.cards` gives it a token of its own.
"""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tcg_core.encode.meanings import MEANINGS

ENCODER_VERSION = "2"
SCHEMA_VERSION = 1

Kind = Literal["scalar", "fixed", "ragged"]
Role = Literal["identity", "metadata", "label", "aux", "feature"]

NO_CARD = 0
UNKNOWN_CARD = -1
NO_POINTER = -1

#: Zones of card tokens; ``meanings.ZONES`` has their words. The order is part of the schema.
CARD_ZONES = (
    "self_deck",
    "self_hand",
    "self_discard",
    "self_prize",
    "opponent_prize",
    "opponent_hand",
    "opponent_discard",
    "opponent_revealed",
    "stadium",
    "looking",
    "select_deck",
    "effect",
    "context",
)
#: Flags of card tokens.
CARD_FLAGS = ("none", "certain", "uncertain", "unknown", "own", "foreign")
UNIT_ZONES = ("self_active", "self_bench", "opponent_active", "opponent_bench")
ATTACHED_KINDS = ("pre_evolution", "tool", "energy")


@dataclass(frozen=True)
class Entry:
    """One element of a fixed-width integer vector: its name, the divisor the networks apply, its meaning."""

    name: str
    scale: float
    meaning: str


GLOBALS = (
    Entry("turn", 50, "turn number, 0 during set-up"),
    Entry("turn_actions", 20, "actions taken in this turn"),
    Entry("went_first", 1, "1 this seat goes first, -1 the other, 0 not chosen yet"),
    Entry("my_turn", 1, "1 if the current turn is this seat's, 0 otherwise or in set-up"),
    Entry("supporter_played", 1, "a supporter was played this turn"),
    Entry("stadium_played", 1, "a stadium was played this turn"),
    Entry("energy_attached", 1, "an energy was attached this turn"),
    Entry("retreated", 1, "a retreat was made this turn"),
    Entry("self_deck", 60, "cards in the own deck"),
    Entry("opponent_deck", 60, "cards in the opponent's deck"),
    Entry("self_prizes", 6, "prizes the seat has still to take"),
    Entry("opponent_prizes", 6, "prizes the opponent has still to take"),
    Entry("self_hand", 12, "cards in the own hand"),
    Entry("opponent_hand", 12, "cards in the opponent's hand"),
    Entry("self_bench", 8, "own benched units"),
    Entry("opponent_bench", 8, "benched units of the opponent"),
    Entry("self_bench_max", 8, "most units that the own bench may hold, full or not (benchMax)"),
    Entry("opponent_bench_max", 8, "the same for the opponent's bench"),
    Entry("self_poisoned", 1, "own active is poisoned"),
    Entry("self_burned", 1, "own active is burned"),
    Entry("self_asleep", 1, "own active is asleep"),
    Entry("self_paralyzed", 1, "own active is paralyzed"),
    Entry("self_confused", 1, "own active is confused"),
    Entry("opponent_poisoned", 1, "the opponent's active is poisoned"),
    Entry("opponent_burned", 1, "the opponent's active is burned"),
    Entry("opponent_asleep", 1, "the opponent's active is asleep"),
    Entry("opponent_paralyzed", 1, "the opponent's active is paralyzed"),
    Entry("opponent_confused", 1, "the opponent's active is confused"),
    Entry("remain_damage", 20, "damage counters still to place"),
    Entry("remain_energy", 5, "energy cost still to pay"),
    Entry("min_count", 5, "fewest picks of this decision"),
    Entry("max_count", 5, "most picks of this decision"),
    Entry("picked", 5, "picks made so far in this decision"),
    Entry("options", 20, "number of options"),
)
UNIT_ATTRIBUTES = (
    Entry("hp", 300, "hit points left"),
    Entry("max_hp", 300, "hit points when undamaged"),
    Entry("damage", 300, "max_hp - hp"),
    Entry("appeared", 1, "came into play this turn"),
    Entry("energies", 5, "number of energies provided"),
    *(
        Entry(f"energy_{name}", 4, f"energies of type {name}")
        for name in (
            "colorless",
            "grass",
            "fire",
            "water",
            "lightning",
            "psychic",
            "fighting",
            "darkness",
            "metal",
            "dragon",
            "rainbow",
            "team_rocket",
        )
    ),
    Entry("tools", 4, "number of tools"),
    Entry("pre_evolutions", 2, "cards of earlier stages that lie under the unit's top card"),
    Entry("ability_used", 1, "this seat used an ability of this unit this turn"),
)
OPTION_ATTRIBUTES = (
    Entry("picked", 1, "already picked in this decision"),
    Entry("number", 15, "value of a NUMBER option"),
    Entry("count", 5, "count of an ENERGY option"),
    Entry("special_condition", 5, "1 + special condition type, 0 if none"),
    Entry(
        "owner",
        1,
        "whose card or unit the option acts from or picks: 1 the seat's, -1 the opponent's, 0 for an option that names none",
    ),
    Entry("rank", 20, "position among the options"),
)


@dataclass(frozen=True)
class Stream:
    """One stream of a row. ``low`` and ``high`` are inclusive; None for text."""

    name: str
    dtype: str
    kind: Kind
    role: Role
    meaning: str
    low: float | None = None
    high: float | None = None
    width: int = 1
    group: str | None = None
    entries: tuple[Entry, ...] = ()


_I16 = 32767


def _scalar(name: str, dtype: str, role: Role, low: float | None, high: float | None) -> Stream:
    return Stream(name, dtype, "scalar", role, MEANINGS[name], low, high)


def _fixed(name: str, dtype: str, entries: tuple[Entry, ...], group: str | None = None) -> Stream:
    kind: Kind = "ragged" if group else "fixed"
    return Stream(name, dtype, kind, "feature", MEANINGS[name], -_I16, _I16, len(entries), group, entries)


def _ragged(group: str, name: str, dtype: str, low: float, high: float, role: Role = "feature") -> Stream:
    return Stream(name, dtype, "ragged", role, MEANINGS[name], low, high, group=group)


_IDENTITY = (
    _scalar("episode_id", "int64", "identity", 0, 2**62),
    _scalar("game", "int8", "identity", 0, 8),
    _scalar("side", "int8", "identity", 0, 1),
    _scalar("step_id", "int32", "identity", 0, 2**31 - 1),
    _scalar("decision_id", "int32", "identity", 0, 2**31 - 1),
    _scalar("substep", "int16", "identity", 0, _I16),
    _scalar("new_episode", "bool", "identity", 0, 1),
)
_METADATA = (
    _scalar("day", "str", "metadata", None, None),
    _scalar("generation", "str", "metadata", None, None),
    _scalar("module_version", "str", "metadata", None, None),
    _scalar("player_name", "str", "metadata", None, None),
    _scalar("opponent_name", "str", "metadata", None, None),
    _scalar("player_deck_hash", "str", "metadata", None, None),
    _scalar("opponent_deck_hash", "str", "metadata", None, None),
    _scalar("outcome", "int8", "metadata", -1, 1),
    _scalar("is_attack", "bool", "metadata", 0, 1),
    _scalar("forced", "bool", "metadata", 0, 1),
)
_LABEL = (
    _scalar("y", "int16", "label", 0, _I16),
    _ragged("option", "opt_group", "int16", 0, _I16, role="label"),
)
_AUX = (
    _scalar("aux_valid", "bool", "aux", 0, 1),
    _scalar("aux_ko", "int8", "aux", 0, 1),
    _scalar("aux_prize_delta", "float32", "aux", -6, 6),
    _scalar("aux_terminal", "int8", "aux", 0, 1),
    _scalar("aux_return", "float32", "aux", -2.001, 2.001),
)
_FEATURES = (
    _fixed("globals", "int16", GLOBALS),
    _scalar("select_type", "int8", "feature", 0, 31),
    _scalar("select_context", "int16", "feature", 0, 255),
    _ragged("card", "card_zone", "int8", 0, len(CARD_ZONES) - 1),
    _ragged("card", "card_id", "int16", -1, _I16),
    _ragged("card", "card_count", "int8", 1, 60),
    _ragged("card", "card_flag", "int8", 0, len(CARD_FLAGS) - 1),
    _ragged("unit", "unit_zone", "int8", 0, len(UNIT_ZONES) - 1),
    _ragged("unit", "unit_id", "int16", -1, _I16),
    _fixed("unit_attributes", "int16", UNIT_ATTRIBUTES, "unit"),
    _ragged("attached", "attached_unit", "int8", 0, 127),
    _ragged("attached", "attached_kind", "int8", 0, len(ATTACHED_KINDS) - 1),
    _ragged("attached", "attached_id", "int16", -1, _I16),
    _ragged("option", "option_type", "int8", 0, 31),
    _ragged("option", "option_source", "int16", -1, _I16),
    _ragged("option", "option_target", "int16", -1, _I16),
    _ragged("option", "option_card", "int16", -1, _I16),
    _ragged("option", "option_target_card", "int16", -1, _I16),
    _ragged("option", "option_attack", "int16", 0, _I16),
    _fixed("option_attributes", "int16", OPTION_ATTRIBUTES, "option"),
)


@dataclass(frozen=True)
class Schema:
    """All streams of a row, in column order."""

    streams: tuple[Stream, ...]

    @cached_property
    def by_name(self) -> dict[str, Stream]:
        """Streams by name."""
        return {stream.name: stream for stream in self.streams}

    @cached_property
    def groups(self) -> dict[str, tuple[Stream, ...]]:
        """Ragged streams by the group whose lengths they share."""
        names = dict.fromkeys(stream.group for stream in self.streams if stream.group)
        return {name: tuple(s for s in self.streams if s.group == name) for name in names if name}

    def of_role(self, *roles: Role) -> tuple[Stream, ...]:
        """Streams with one of ``roles``."""
        return tuple(stream for stream in self.streams if stream.role in roles)

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 over all that changes what a row means: versions, streams, zones and flags."""
        text = json.dumps(
            {
                "encoder": ENCODER_VERSION,
                "schema": SCHEMA_VERSION,
                "streams": [
                    [s.name, s.dtype, s.kind, s.width, s.group, s.low, s.high, [[e.name, e.scale] for e in s.entries]]
                    for s in self.streams
                ],
                "zones": [CARD_ZONES, CARD_FLAGS, UNIT_ZONES, ATTACHED_KINDS],
            },
            sort_keys=True,
        )
        return hashlib.sha256(text.encode()).hexdigest()


SCHEMA = Schema(_IDENTITY + _METADATA + _LABEL + _AUX + _FEATURES)


def index_of(entries: tuple[Entry, ...]) -> dict[str, int]:
    """Position of each entry by name."""
    return {entry.name: position for position, entry in enumerate(entries)}
