"""The engine's own look-ahead: a state as a seat saw it, completed by guesses of what it did not see, and played on.

A blob (``search_begin_input``) that is not of this generation's engine, or is damaged, kills the process: whoever calls this on
blobs from elsewhere does so in a process of its own.
"""

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import msgspec

from tcg_core.base.errors import TcgError
from tcg_core.engine.errors import EngineBroken
from tcg_core.engine.library import load_library

_SLOTS = 64
_decode = msgspec.json.Decoder().decode
_MEANING = {
    1: "an id or the blob is bad",
    2: "the guessed active card is no Pokémon",
    3: "the search has ended",
    4: "wrong number of picks",
    5: "an option index out of range",
    6: "the same option picked twice",
    99: "the guess holds no Basic Pokémon",
}


class LookaheadRefused(TcgError):
    """The engine did not take a guess or an answer; ``code`` is its number."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(code, what)
        self.code = code
        self.what = what

    def __str__(self) -> str:
        return f"look-ahead: {self.what} answered {self.code} ({_MEANING.get(self.code, 'no known reason')})"


@dataclass(frozen=True)
class HiddenZones:
    """Card ids guessed for the zones that the deciding seat does not see: as many as the state counts, decks from the top."""

    own_deck: tuple[int, ...]
    own_prizes: tuple[int, ...]
    other_deck: tuple[int, ...]
    other_prizes: tuple[int, ...]
    other_hand: tuple[int, ...]
    other_active: tuple[int, ...] = ()


@dataclass(frozen=True)
class SearchState:
    """A state inside a search: its number and the deciding seat's observation (keys select, logs, current)."""

    search_id: int
    observation: dict[str, Any]


class Lookahead:
    """A searching context of one engine generation; one search at a time. Close it, or use it as a context manager."""

    def __init__(self, generation: str) -> None:
        self.generation = generation
        self._library = _declared(generation)
        self._agent: int | None = self._library.AgentStart()
        if not self._agent:
            raise EngineBroken(f"engine {generation}: AgentStart gave nothing")

    def begin(self, blob: str, zones: HiddenZones, manual_coin: bool = True) -> SearchState:
        """Starts a search at the state of ``blob``, dropping the one before. With ``manual_coin`` every coin is a decision
        (context COIN_HEAD), so that nothing but the order after a shuffle is left to chance.

        Raises :class:`LookaheadRefused`; a blob of another generation kills the process.
        """
        self.end()
        data = blob.encode("ascii")
        own = zones.own_deck or zones.own_prizes
        other = zones.other_deck or zones.other_hand
        arrays = [_slots(zones.own_deck, own), _slots(zones.own_prizes, own)]
        arrays += [_slots(part, other) for part in (zones.other_deck, zones.other_prizes, zones.other_hand, zones.other_active)]
        return self._node(self._library.SearchBegin(self._agent, data, len(data), *arrays, int(manual_coin)), "SearchBegin")

    def step(self, node: SearchState, picks: Sequence[int]) -> SearchState:
        """The state after answering ``node``, which stays as it is and can be answered otherwise. Raises
        :class:`LookaheadRefused`."""
        values = (ctypes.c_int * max(len(picks), 1))(*picks)
        return self._node(self._library.SearchStep(self._agent, node.search_id, values, len(picks)), "SearchStep")

    def end(self) -> None:
        """Gives the memory of the present search back."""
        if self._agent is not None:
            self._library.SearchEnd(self._agent)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def _node(self, answer: bytes, what: str) -> SearchState:
        told: dict[str, Any] = _decode(answer)
        if told["error"]:
            raise LookaheadRefused(told["error"], what)
        return SearchState(told["state"]["searchId"], told["state"]["observation"])


def _slots(ids: Sequence[int], filler: Sequence[int]) -> Any:
    """The ids in an array that is longer than any zone, so that an engine that counts otherwise reads cards, not memory."""
    if len(ids) > _SLOTS:
        raise LookaheadRefused(1, f"a zone of {len(ids)} cards")
    values = [*ids, *[filler[0] if filler else 1] * (_SLOTS - len(ids))]
    return (ctypes.c_int * _SLOTS)(*values)


_lock = threading.Lock()


def _declared(generation: str) -> Any:
    library = load_library(generation)
    numbers = ctypes.POINTER(ctypes.c_int)
    with _lock:
        library.AgentStart.restype, library.AgentStart.argtypes = ctypes.c_void_p, []
        library.SearchBegin.restype = ctypes.c_char_p
        library.SearchBegin.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, *[numbers] * 6, ctypes.c_int]
        library.SearchStep.restype = ctypes.c_char_p
        library.SearchStep.argtypes = [ctypes.c_void_p, ctypes.c_int64, numbers, ctypes.c_int]
        library.SearchEnd.restype, library.SearchEnd.argtypes = None, [ctypes.c_void_p]
    return library
