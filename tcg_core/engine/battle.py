"""One battle of the engine, as a context manager that cannot kill the process.

The C library aborts on almost every misuse (``GetBattleData(NULL)``, ``Select`` after the end, a second
``BattleFinish``). Each of those is an exception here, raised before the library is called.
"""

import ctypes
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from tcg_core.engine.errors import BattleClosed, BattleEnded, DeckRejected, EngineBroken, IllegalAnswer
from tcg_core.engine.library import check_generation, load_library

__all__ = ["DECK_RULES", "DECK_SIZE", "Battle", "BattleClosed", "BattleEnded", "DeckRejected", "IllegalAnswer"]

DECK_SIZE = 60
DECK_RULES = {
    1: "it holds an id that this engine generation does not know",
    2: "it holds more than 4 cards of one name (Basic Energy is free)",
    3: "it holds no Basic Pokémon",
    4: "it holds more than one ACE SPEC card",
}
ANSWER_RULES = {4: "wrong number of picks", 5: "an option index out of range", 6: "the same option picked twice"}
_INT32 = range(-(2**31), 2**31)


class _State(msgspec.Struct):
    result: int


class _Outline(msgspec.Struct):
    current: _State


_outline = msgspec.json.Decoder(_Outline)
_untyped = msgspec.json.Decoder()


class Battle:
    """A running battle of two decks (60 card ids each) under ``generation``.

    Seat 0 chooses who goes first; with ``reverse`` seat 1 does (generation v2 only: even games of a best of three).
    Shuffles and coins come from the operating system and cannot be seeded. Battles are independent of each other; one
    battle may pass between threads, its calls are serialised. Raises :class:`DeckRejected`.
    """

    def __init__(self, generation: str, deck0: Sequence[int], deck1: Sequence[int], reverse: bool = False) -> None:
        self._pointer: int | None = None
        self._lock = threading.Lock()
        self.generation = check_generation(generation)
        self._library = load_library(generation)
        if reverse and not hasattr(self._library, "BattleStartReverse"):
            raise EngineBroken(f"engine {generation} has no reverse start: it plays best of one, where seat 0 chooses")
        start = self._library.BattleStartReverse if reverse else self._library.BattleStart
        data = start((ctypes.c_int * (2 * DECK_SIZE))(*_deck(0, deck0), *_deck(1, deck1)))
        if not data.battle:
            meaning = DECK_RULES.get(data.error_type, f"engine error {data.error_type}")
            raise DeckRejected(data.error_player, data.error_type, meaning)
        self._pointer = data.battle
        self._refresh()

    def _refresh(self) -> None:
        data = self._library.GetBattleData(self._pointer)
        self._raw: bytes = data.json
        self._search = ctypes.string_at(data.data, data.count)
        self._seat: int = data.select_player
        self._result = _outline.decode(self._raw).current.result
        self._observation: dict[str, Any] | None = None

    @property
    def raw(self) -> bytes:
        """The deciding seat's view as the engine wrote it: UTF-8 JSON with keys select, logs, current."""
        return self._raw

    @property
    def observation(self) -> dict[str, Any]:
        """The decoded view of the deciding seat with ``search_begin_input``; after the end its select holds no option.

        The same dictionary is given until the next answer; whoever changes it changes it for every reader.
        """
        if self._observation is None:
            self._observation = _untyped.decode(self._raw)
            self._observation["search_begin_input"] = self.search_begin_input
        return self._observation

    @property
    def search_begin_input(self) -> str:
        """The engine's opaque state for its own look-ahead. Not reproducible (uninitialised bytes): never hash it."""
        return self._search.decode("ascii")

    @property
    def seat(self) -> int:
        """The seat, 0 or 1, whose answer is awaited."""
        return self._seat

    @property
    def result(self) -> int:
        """-1 while running, 0 or 1 the seat that won, 2 a draw."""
        return self._result

    @property
    def ended(self) -> bool:
        """Whether the battle has a result."""
        return self._result != -1

    def select(self, picks: Sequence[int]) -> None:
        """Answers the pending decision with distinct option indexes; afterwards the next decision is pending. Integers count
        as the environment on Kaggle counts them: booleans as 0 and 1, larger ones by their low 32 bits.

        Raises :class:`IllegalAnswer` (the battle is unchanged), :class:`BattleEnded`, :class:`BattleClosed`.
        """
        values = _picks(picks)
        with self._lock:
            pointer = self._living()
            if self.ended:
                raise BattleEnded(f"the battle ended with result {self._result}; no answer is awaited")
            code = self._library.Select(pointer, (ctypes.c_int * len(values))(*values), len(values))
            if code == 0:
                self._refresh()
                return
        if code not in ANSWER_RULES:
            raise EngineBroken(f"engine {self.generation}: Select answered {code}")
        select = self.observation["select"]
        raise IllegalAnswer(
            code,
            f"answer {values} refused: {ANSWER_RULES[code]}; expected {select['minCount']} to {select['maxCount']} "
            f"distinct indexes below {len(select['option'])}",
        )

    def visualize(self) -> list[dict[str, Any]]:
        """Full-information frames, one for each decision so far, and a last one with the RESULT log once ended."""
        with self._lock:
            frames: list[dict[str, Any]] = _untyped.decode(self._library.VisualizeData(self._living()))
        return frames

    def close(self) -> None:
        """Gives the battle's memory back; a second call does nothing."""
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer is not None:
                self._library.BattleFinish(pointer)

    def _living(self) -> int:
        if self._pointer is None:
            raise BattleClosed("the battle was closed")
        return self._pointer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        # An unclosed battle holds about 10 KB. __init__ may have failed before any attribute was set.
        if getattr(self, "_pointer", None) is not None:
            self.close()


def _deck(player: int, deck: Sequence[int]) -> list[int]:
    if len(deck) != DECK_SIZE:
        raise DeckRejected(player, 0, f"it holds {len(deck)} cards, expected {DECK_SIZE}")
    for card in deck:
        if isinstance(card, bool) or not isinstance(card, int) or card not in _INT32:
            raise DeckRejected(player, 1, f"{card!r} is no card id")
    return list(deck)


def _picks(picks: Sequence[int]) -> list[int]:
    # As the environment on Kaggle does it: True is 1, and ctypes keeps the low 32 bits of a larger number.
    if isinstance(picks, str | bytes) or not isinstance(picks, Sequence):
        raise IllegalAnswer(0, f"answer {picks!r}: expected a list of option indexes, found {type(picks).__name__}")
    for pick in picks:
        if not isinstance(pick, int):
            raise IllegalAnswer(0, f"answer {list(picks)!r}: {pick!r} is no option index")
    return list(picks)
