"""The lineage graph and the one walk over it: nodes are artifacts, by kind and id; edges are inputs with the hash that was read.

The walk keeps a stack of its own: a thousand nights of fine-tuning are one chain of thousands of nodes, deeper than Python
recurses.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tcg_core.base.manifest import Input, Key


@dataclass(frozen=True)
class Visit:
    """A node that a walk reached. depth: edges from its root, along the way by which it was first reached; item: the input by
    which a walk back reached it, None for a root and on a walk forward."""

    key: Key
    depth: int
    item: Input | None = None


_Near = Callable[[Visit], Iterable[tuple[Key, Input | None]]]


def _walk(roots: Iterable[Key], near: _Near) -> Iterator[tuple[Visit, bool]]:
    """Depth first, each node once, neighbours in their order: (visit, False) where it is reached, (visit, True) once all beyond
    it is done. ``near`` is asked after the node was yielded."""
    seen: set[Key] = set()
    for root in roots:
        if root in seen:
            continue
        stack: list[tuple[Visit, Iterator[tuple[Key, Input | None]]]] = []
        entered: Visit | None = Visit(root, 0)
        while entered or stack:
            if entered:
                seen.add(entered.key)
                yield entered, False
                stack.append((entered, iter(near(entered))))
            here, rest = stack[-1]
            entered = next((Visit(key, here.depth + 1, item) for key, item in rest if key not in seen), None)
            if entered is None:
                stack.pop()
                yield here, True


def back(roots: Iterable[Key], inputs_of: Callable[[Visit], Iterable[Input]]) -> Iterator[Visit]:
    """``roots`` and all they were made from, directly or through others, each once and before what it was made from.

    ``inputs_of`` may read a manifest when it is asked, which is after the node was yielded.
    """
    return (visit for visit, done in _walk(roots, _backward(inputs_of)) if not done)


def made_first(roots: Iterable[Key], inputs_of: Callable[[Visit], Iterable[Input]]) -> Iterator[Visit]:
    """``roots`` and all they were made from, each once and after all that it was made from."""
    return (visit for visit, done in _walk(roots, _backward(inputs_of)) if done)


def first_of(inputs: Iterable[Input], kind: str) -> Input | None:
    """The first input of a kind; None if there is none."""
    return next((item for item in inputs if item.kind == kind), None)


def _backward(inputs_of: Callable[[Visit], Iterable[Input]]) -> _Near:
    return lambda visit: ((item.key, item) for item in inputs_of(visit))


@dataclass(frozen=True)
class Graph:
    """A graph as it was loaded. inputs: by node, what it was made from, in order; a node that is no key was made from nothing."""

    inputs: Mapping[Key, tuple[Input, ...]]

    @cached_property
    def _users(self) -> dict[Key, tuple[Key, ...]]:
        found: dict[Key, dict[Key, None]] = {}
        for key, items in self.inputs.items():
            for item in items:
                found.setdefault(item.key, {})[key] = None
        return {key: tuple(users) for key, users in found.items()}

    def of(self, key: Key) -> tuple[Input, ...]:
        """What a node was made from, directly."""
        return self.inputs.get(key, ())

    def users(self, key: Key) -> tuple[Key, ...]:
        """What was made from a node, directly, in the order of ``inputs``."""
        return self._users.get(key, ())

    def back(self, *roots: Key) -> Iterator[Visit]:
        """:func:`back` over this graph."""
        return back(roots, lambda visit: self.of(visit.key))

    def forward(self, *roots: Key) -> Iterator[Visit]:
        """``roots`` and all that was made from them, each once and before what was made from it."""
        return (visit for visit, done in _walk(roots, lambda visit: ((user, None) for user in self.users(visit.key))) if not done)

    def read(self, *roots: Key) -> Iterator[Input]:
        """Every edge behind ``roots``: a node that two others read is there twice, perhaps under two hashes."""
        return (item for visit in self.back(*roots) for item in self.of(visit.key))

    def heights(self) -> dict[Key, int]:
        """By node, the edges of the longest way back from it: what a node was made from is always lower."""
        found: dict[Key, int] = {}
        for visit in made_first(self.inputs, lambda visit: self.of(visit.key)):
            found[visit.key] = max((found[item.key] + 1 for item in self.of(visit.key)), default=0)
        return found

    def ways(self, start: Key, kinds: Iterable[str]) -> list[tuple[Key, ...]]:
        """Every way forward from ``start`` through ``kinds`` in their order, each as far as it goes."""
        done: list[tuple[Key, ...]] = []
        open_ways: list[tuple[Key, ...]] = [(start,)]
        for kind in kinds:
            longer = [(way, [user for user in self.users(way[-1]) if user[0] == kind]) for way in open_ways]
            done += [way for way, users in longer if not users]
            open_ways = [(*way, user) for way, users in longer for user in users]
        return done + open_ways
