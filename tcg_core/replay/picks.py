"""Recorded answers as the engine took them: option indexes as the C side saw them."""

from collections import Counter
from typing import Any

_UINT32 = 2**32


class NotPicks(ValueError):
    """An answer that the engine would not have taken; the message says why."""


def to_int32(value: int) -> int:
    """The 32-bit integer that ctypes hands over for ``value``: higher bits are lost, so 2**40 arrives as 0."""
    low = value % _UINT32
    return low - _UINT32 if low >= _UINT32 // 2 else low


def normalise(action: Any, caveats: Counter[str]) -> tuple[int, ...]:
    """The picks of a recorded answer: a list of integers, perhaps as ``{"action": list}`` (accepted from 1.33.2 on).

    Booleans count as 0 and 1, larger integers wrap to 32 bits; both are counted in ``caveats``. Raises
    :class:`NotPicks` for anything else; whether the picks are legal is the caller's question.
    """
    if isinstance(action, dict) and isinstance(action.get("action"), list):
        caveats["wrapped_action"] += 1
        action = action["action"]
    if not isinstance(action, list):
        raise NotPicks(f"the answer is {type(action).__name__}, expected a list of option indexes")
    picks = []
    for value in action:
        if isinstance(value, bool):
            caveats["boolean_index"] += 1
        elif not isinstance(value, int):
            raise NotPicks(f"the answer holds {type(value).__name__}, expected option indexes")
        index = to_int32(int(value))
        if index != value:
            caveats["wrapped_index"] += 1
        picks.append(index)
    return tuple(picks)


def check_legal(picks: tuple[int, ...], options: int, low: int, high: int) -> None:
    """Raises :class:`NotPicks` unless ``picks`` are low..high distinct indexes of ``options`` options."""
    if not low <= len(picks) <= high:
        raise NotPicks(f"{len(picks)} picks, expected {low} to {high}")
    if len(set(picks)) != len(picks):
        raise NotPicks(f"picks {list(picks)} repeat an option")
    for pick in picks:
        if not 0 <= pick < options:
            raise NotPicks(f"pick {pick} of {options} options")
