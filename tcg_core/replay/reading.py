"""From a member's bytes to the outer layout. What is refused depends on the bytes alone: not on which strings are decoded, on
how deep the caller's stack is, or on whether another reader looks at the episode too."""

import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import TypeVar

import msgspec

from tcg_core.replay.errors import Quarantine
from tcg_core.replay.layout import Replay, decode_replay

T = TypeVar("T")

#: Brackets within brackets. Real replays have 14.
MAX_NESTING = 100
_BOM = b"\xef\xbb\xbf"
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def read_replay(data: bytes, name: str, caveats: Counter[str]) -> Replay:
    """The replay in ``data``, taken out of its wrapper if it has one.

    Lone surrogates count as the caveat ``lone_surrogate``. Raises :class:`Quarantine` for too deep a nesting,
    :class:`msgspec.DecodeError` and :class:`UnicodeDecodeError` for bytes that are no JSON.
    """
    if not data.isascii():
        data.removeprefix(_BOM).decode()  # the decoder does not look into the strings that it skips
    replay, lone = decoded(lambda text: _bounded(decode_replay, text, name), data)
    if lone:
        caveats["lone_surrogate"] += lone
    if isinstance(replay.replay, msgspec.Raw) and isinstance(replay.steps, msgspec.UnsetType):
        replay = decode_replay(replay.replay)
    return replay


def decoded(decode: Callable[[bytes], T], data: bytes) -> tuple[T, int]:
    """What ``decode`` makes of a member's JSON, and how many lone surrogates were replaced for it by U+FFFD: JSON can write them,
    and no text can hold them. A byte order mark is skipped. Raises what ``decode`` raises."""
    data = data.removeprefix(_BOM)
    try:
        return decode(data), 0
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        mended, count = without_lone_surrogates(data)
        if not count:
            raise
        return decode(mended), count


def without_lone_surrogates(data: bytes) -> tuple[bytes, int]:
    r"""JSON in which each ``\uD800`` to ``\uDFFF`` outside a pair is ``\ufffd``, and how many there were."""
    count = 0

    def mended(found: re.Match[bytes]) -> bytes:
        nonlocal count
        if found[1] is None:
            return found[0]
        count += 1
        return rb"\ufffd"

    return _ESCAPE.sub(mended, data), count


def nesting(data: bytes) -> int:
    """How many brackets of a JSON document are open at once, at most; those in strings do not count."""
    depth = deepest = 0
    for byte in _STRING.sub(b"", data).translate(None, _NO_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _bounded(decode: Callable[[bytes], Replay], data: bytes, name: str) -> Replay:
    """Decodes with MAX_NESTING levels left of the interpreter's recursion limit, which costs nothing on sound replays. How many
    levels the caller has used is not known exactly, so that brackets are counted before an episode is refused."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    try:
        return _deeper(sys.getrecursionlimit() - depth - MAX_NESTING, decode, data)
    except RecursionError:
        found = nesting(data)
        if found > MAX_NESTING:
            raise Quarantine("broken_json", f"{name}: {found} brackets within each other, the cap is {MAX_NESTING}") from None
    return decode(data)


def _deeper(levels: int, decode: Callable[[bytes], Replay], data: bytes) -> Replay:
    return decode(data) if levels <= 0 else _deeper(levels - 1, decode, data)
