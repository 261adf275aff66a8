"""Run by test_record_reference in a process of its own, with the seedable random device loaded before the engine.

Plays each episode twice from the same random numbers, through our recorder and through ``env.run``, and prints, as one
JSON line, what differs.
"""

import ctypes
import json
import sys
from typing import Any

shim = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)

from tcg_core.engine.agents import make_agent  # noqa: E402
from tcg_core.engine.decks import random_legal_deck, sample_deck  # noqa: E402
from tcg_core.engine.reference import reference_episode  # noqa: E402
from tcg_core.replay.record import record_episode  # noqa: E402

NOT_COMPARED = {"id", "info", "search_begin_input", "remainingOverageTime", "remainingTime"}
# Written by the 1.33.2 wrapper around the v1 engine, not by 1.32.7, whose layout we record.
NEWER_THAN_V1 = {"win", "draw", "round", "configuration", "specification", "module_version"}


def cleaned(value: Any, dropped: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: cleaned(item, dropped) for key, item in value.items() if key not in dropped}
    if isinstance(value, list | tuple):
        return [cleaned(item, dropped) for item in value]
    return value


def first_difference(one: Any, other: Any, where: str = "") -> str | None:
    if type(one) is not type(other):
        return f"{where}: {type(one).__name__} {one!r:.80} / {type(other).__name__} {other!r:.80}"
    if isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{where}: keys {sorted(one.keys() ^ other.keys())}"
        pairs = [(f"{where}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list):
        if len(one) != len(other):
            return f"{where}: {len(one)} / {len(other)} items"
        pairs = [(f"{where}[{index}]", a, b) for index, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else f"{where}: {one!r} / {other!r}"
    return next((found for place, a, b in pairs if (found := first_difference(a, b, place))), None)


class Failing:
    """Plays like the random agent, but fails at its tenth call: it raises, or gives a fixed answer."""

    def __init__(self, deck: tuple[int, ...], answer: Any) -> None:
        self.player, self.answer, self.calls = make_agent("random", "v2", deck, 5), answer, 0

    def __call__(self, observation: dict[str, Any]) -> Any:
        self.calls += 1
        if self.calls < 10:
            return self.player(observation)
        if self.answer == "raise":
            raise RuntimeError("as asked")
        return self.answer


def player(name: Any, generation: str, deck: tuple[int, ...], seed: int) -> Any:
    return make_agent(name, generation, deck, seed) if isinstance(name, str) else Failing(deck, name[0])


def compare(generation: str, best_of: int, names: list[Any], decks: list[tuple[int, ...]], seed: int) -> dict[str, Any]:
    def players() -> list[Any]:
        return [player(name, generation, deck, seed + side) for side, (name, deck) in enumerate(zip(names, decks, strict=True))]

    shim.tcg_seed(seed)
    ours = json.loads(json.dumps(record_episode(players(), decks, generation, best_of, names, 1, decision_cap=5000)))
    shim.tcg_seed(seed)
    theirs = json.loads(json.dumps(reference_episode(players(), generation, best_of)))
    dropped = NOT_COMPARED | (NEWER_THAN_V1 if generation == "v1" else set())
    return {
        "generation": generation,
        "best_of": best_of,
        "statuses": ours["statuses"],
        "rewards": ours["rewards"],
        "steps": len(ours["steps"]),
        "frames": len(ours["steps"][0][0]["visualize"]),
        "difference": first_difference(cleaned(ours, dropped), cleaned(theirs, dropped)),
    }


if __name__ == "__main__":
    results = []
    for generation, best_of in (("v1", 1), ("v2", 1), ("v2", 3)):
        varied = [random_legal_deck(generation, 1), random_legal_deck(generation, 2)]
        results.append(compare(generation, best_of, ["heuristic", "random"], [sample_deck()] * 2, 11))
        results.append(compare(generation, best_of, ["heuristic", "heuristic"], varied, 22))
        # 1.32.7 allows no object as an action; the newer wrapper around its engine does, and so is no reference for it.
        objects = [{"no": 1}] if generation == "v2" else []
        for answer in ("raise", [99], [0, 0], None, "text", *objects):
            results.append(compare(generation, best_of, ["first", [answer]], [sample_deck()] * 2, 33))
    # Two seeds must give two games, or the comparison above would prove nothing about the shim.
    shim.tcg_seed(1)
    one = record_episode([make_agent("first", "v2", sample_deck(), 0)] * 2, [sample_deck()] * 2, "v2", 1, ["a", "b"], 1)
    shim.tcg_seed(2)
    two = record_episode([make_agent("first", "v2", sample_deck(), 0)] * 2, [sample_deck()] * 2, "v2", 1, ["a", "b"], 1)
    print(json.dumps({"results": results, "seeds_differ": one["steps"][2] != two["steps"][2]}))
