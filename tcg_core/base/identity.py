"""Code identity: a hash of the definitions that produce a result, by what they are and not by where they stand.

From its roots on, every definition that is used, directly or through others, is hashed with the hashes of those it uses. A
file's path, its comments, docstrings and formatting, annotations, log lines and the texts of refusals are not part of it. A
module that says ``OUTSIDE_IDENTITY = "why"`` is not followed.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from tcg_core.base.definitions import BODY, Definition, Imported, SourceModule, bindings, dotted, read_module
from tcg_core.base.digest import sha256_json
from tcg_core.base.source import SourceTree

#: Descendants of this class are refusals: lines for people, stored in no artifact ...
REFUSAL = "TcgError"
#: ... but for those of a class that says so.
STORED = "TEXT_IS_STORED"
Place = tuple[str, str]
#: How a definition names another: the parts it wrote, and what they mean.
Use = tuple[tuple[str, ...], Place]


@dataclass
class _Classes:
    """Classes of a module: their bases as written, whether their texts are stored; and what the module imports."""

    bases: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    imports: dict[str, Imported] = field(default_factory=dict)


class Index:
    """The definitions of a source tree, read as they are asked for."""

    def __init__(self, source: SourceTree) -> None:
        self.source = source
        self._modules: dict[str, SourceModule] = {}
        self._classes: dict[str, _Classes] = {}
        self._hashes: dict[Place, str] = {}

    def identity(self, roots: Iterable[str]) -> str:
        """Hex SHA-256 of what ``roots`` (``module:definition``) are made of; raises KeyError naming a root that is not there."""
        return sha256_json(sorted(self.hash(self._root(root)) for root in roots))

    def closure(self, roots: Iterable[str]) -> set[Place]:
        """(module, definition) of everything that decides the identity of ``roots``."""
        found: set[Place] = set()
        waiting = [self._root(root) for root in roots]
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += [target for _, target in self._uses(place)]
        return found

    def hash(self, place: Place) -> str:
        """Hash of a definition with all that it uses; definitions that use each other in a circle are hashed together."""
        if place not in self._hashes:
            for circle in _circles(place, lambda each: [target for _, target in self._uses(each)], self._hashes):
                self._hash(circle)
        return self._hashes[place]

    def module(self, name: str) -> SourceModule:
        """The definitions of a module of the tree."""
        if name not in self._modules:

            def is_refusal(parts: tuple[str, ...], imports: dict[str, Imported]) -> bool:
                return self._is_refusal(name, parts, imports)

            self._modules[name] = read_module(name, self._tree(name), is_refusal)
        return self._modules[name]

    def _tree(self, name: str) -> ast.Module:
        return self.source.tree(self.source.modules[name])

    def _root(self, root: str) -> Place:
        module, _, name = root.partition(":")
        if module not in self.source.modules or name not in self.module(module).definitions:
            raise KeyError(f"{root}: there is no such definition")
        return module, name

    def _hash(self, circle: list[Place]) -> None:
        inside = set(circle)
        labels = {}
        for place in circle:
            definition = self._definition(place)
            links = [[*parts, "", target[1] if target in inside else self._hashes[target]] for parts, target in self._uses(place)]
            labels[place] = sha256_json([definition.name, definition.text, self._foreign(place), sorted(links)])
        whole = sha256_json(sorted(labels.values()))
        for place in circle:
            self._hashes[place] = labels[place] if len(circle) == 1 else sha256_json([labels[place], whole])

    def _definition(self, place: Place) -> Definition:
        return self.module(place[0]).definitions[place[1]]

    def _uses(self, place: Place) -> list[Use]:
        """The definitions of the tree that one uses, and its module's statements that are none."""
        module, definition = self.module(place[0]), self._definition(place)
        found: set[Use] = set()
        for parts in definition.uses:
            found |= {(parts, target) for target in self._meaning(module, parts, definition.imports)}
        implied = [BODY] if place[1] != BODY and BODY in module.definitions else []
        found |= {((name,), (place[0], name)) for name in (*implied, *(module.registered if place[1] != BODY else ()))}
        return sorted(use for use in found if use[1] != place)

    def _foreign(self, place: Place) -> list[list[str]]:
        """What the names mean that come from outside the tree."""
        module, definition = self.module(place[0]), self._definition(place)
        found = set()
        for parts in definition.uses:
            imported = definition.imports.get(parts[0]) or (
                None if parts[0] in module.definitions else module.imports.get(parts[0])
            )
            if imported is not None and imported.module.split(".")[0] not in self.source.packages:
                found.add((parts[0], imported.module, imported.name))
        return sorted(list(each) for each in found)

    def _meaning(self, module: SourceModule, parts: tuple[str, ...], local: dict[str, Imported]) -> list[Place]:
        imported = local.get(parts[0])
        if imported is None:
            if parts[0] in module.definitions:
                return [(module.name, parts[0])]
            imported = module.imports.get(parts[0])
        return [] if imported is None else self._imported(imported, parts[1:])

    def _imported(self, imported: Imported, rest: tuple[str, ...]) -> list[Place]:
        whole = f"{imported.module}.{imported.name}" if imported.name else imported.module
        if whole in self.source.modules:
            return self._of_module(whole, rest)
        if imported.name and imported.module in self.source.modules:
            return self._exported(imported.module, imported.name)
        return []

    def _of_module(self, name: str, rest: tuple[str, ...]) -> list[Place]:
        if not rest:
            module = self.module(name)
            return [] if module.outside else [(name, each) for each in module.definitions]
        deeper = f"{name}.{rest[0]}"
        return self._of_module(deeper, rest[1:]) if deeper in self.source.modules else self._exported(name, rest[0])

    def _exported(self, name: str, what: str) -> list[Place]:
        module = self.module(name)
        if what in module.definitions:
            return [] if module.outside else [(name, what)]
        return self._imported(module.imports[what], ()) if what in module.imports else []

    def _is_refusal(self, name: str, parts: tuple[str, ...], imports: dict[str, Imported]) -> bool:
        while parts:
            classes = self._classes_of(name)
            known = imports if parts[0] in imports else classes.imports
            if parts[0] in known:
                target = known[parts[0]]
                path = (*(target.module.split(".") if target.module else ()), *([target.name] if target.name else []), *parts[1:])
                name, parts = ".".join(path[:-1]), path[-1:]
                if name not in self.source.modules:
                    return False
                imports = {}
                classes = self._classes_of(name)
                if parts[0] in classes.imports:
                    continue
            if parts[0] in classes.stored or parts[0] not in classes.bases:
                return False
            if parts[0] == REFUSAL:
                return True
            bases = classes.bases[parts[0]]
            if len(bases) > 1:
                return any(self._is_refusal(name, base, {}) for base in bases)
            parts = bases[0] if bases else ()
        return False

    def _classes_of(self, name: str) -> _Classes:
        if name not in self._classes:
            found = _Classes()
            for statement in self._tree(name).body:
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    found.imports |= bindings(statement)
                elif isinstance(statement, ast.ClassDef):
                    found.bases[statement.name] = [dotted(base) for base in statement.bases]
                    assigned = [target for each in statement.body if isinstance(each, ast.Assign) for target in each.targets]
                    if any(isinstance(target, ast.Name) and target.id == STORED for target in assigned):
                        found.stored.add(statement.name)
            self._classes[name] = found
        return self._classes[name]


def _circles(start: Place, targets: Callable[[Place], list[Place]], done: dict[Place, str]) -> Iterator[list[Place]]:
    """Strongly connected components reachable from ``start`` and not in ``done``, each after those it uses (Tarjan)."""
    numbers: dict[Place, int] = {start: 0}
    lowest: dict[Place, int] = {start: 0}
    stack, on_stack = [start], {start}
    work = [(start, iter(targets(start)))]
    while work:
        place, rest = work[-1]
        following = next((each for each in rest if each not in done), None)
        if following is not None:
            if following not in numbers:
                numbers[following] = lowest[following] = len(numbers)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(targets(following))))
            elif following in on_stack:
                lowest[place] = min(lowest[place], numbers[following])
            continue
        work.pop()
        if work:
            lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[place])
        if lowest[place] == numbers[place]:
            cut = stack.index(place)
            circle, stack = stack[cut:], stack[:cut]
            on_stack -= set(circle)
            yield circle
