"""The engine's enumerations that the encoder acts on, by the engine's own numbers.

Values outside these occur (undocumented areas 13 and 14 in logs; new ones may be appended): code compares, it never
converts a number to a member.
"""

from typing import Final


class Area:
    """Where a card lies."""

    DECK: Final = 1
    HAND: Final = 2
    DISCARD: Final = 3
    ACTIVE: Final = 4
    BENCH: Final = 5
    PRIZE: Final = 6
    STADIUM: Final = 7
    LOOKING: Final = 12


class SelectType:
    """What kind of choice a select asks for; only MAIN matters by itself."""

    MAIN: Final = 0


class OptionType:
    """What an option does."""

    NUMBER: Final = 0
    YES: Final = 1
    NO: Final = 2
    CARD: Final = 3
    TOOL_CARD: Final = 4
    ENERGY_CARD: Final = 5
    ENERGY: Final = 6
    PLAY: Final = 7
    ATTACH: Final = 8
    EVOLVE: Final = 9
    ABILITY: Final = 10
    DISCARD: Final = 11
    RETREAT: Final = 12
    ATTACK: Final = 13
    END: Final = 14
    SKILL: Final = 15
    SPECIAL_CONDITION: Final = 16


class LogType:
    """Events that tell something about where cards are."""

    DRAW: Final = 4
    DRAW_REVERSE: Final = 5
    MOVE_CARD: Final = 6
    MOVE_CARD_REVERSE: Final = 7
    PLAY: Final = 10
    ATTACH: Final = 11
    EVOLVE: Final = 12


ENERGY_TYPES: Final = 12
#: serials 3-62 belong to seat 0, 63-122 to seat 1, in every game
FIRST_SERIAL_OF_SEAT_1: Final = 63
