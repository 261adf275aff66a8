"""The house as its files say it: rooms, imports (those inside functions and under TYPE_CHECKING too), and what breaks its rules.

Every rule is a function of a :class:`House`, a mapping of file names to texts: a broken copy differs in one file.
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
#: Rooms in the order of the flow: each imports those before it, never one after it.
CORE = (
    "base",
    "encode",
    "model",
    "recipe.py",
    "cards",
    "engine",
    "replay",
    "catalog",
    "ratings",
    "lineage",
    "rows",
    "lookahead",
    "fetch",
    "days",
    "plan",
    "train",
    "convert",
    "submission",
    "arena",
    "nightly",
    "ops",
    "alerts",
    "explain",
)
ASSETS = (
    "dagster_private.py",
    "checks",
    "pages",
    "trainer",
    "assets",
    "graph.py",
    "sync",
    "automation",
    "definitions.py",
    "cli",
)
ORDER = {"tcg_core": CORE, "tcg_assets": ASSETS}
#: Loose files at the root of a package, with its __init__.
ROOT_FILES = {"tcg_core": 6, "tcg_assets": 8}
MOST_ROOMS, MOST_LINES, MOST_MEDIAN = 40, 500, 110
#: Library -> the rooms that may import it; in no other room of the house.
ALLOWED = {
    "mlx": {"tcg_core/model", "tcg_core/train", "tcg_core/convert"},
    "dagster": {f"tcg_assets/{room}" for room in ASSETS},
    "dagster_pipes": {"tcg_assets/trainer"},
    "dagster_webserver": set(),
    "transformers": set(),
    "peft": set(),
}
PRIVATE = "tcg_assets/dagster_private.py"
RUNTIME = "tcg_core/submission/runtime/"
PACKED_ROOMS = {"tcg_core/submission", "tcg_core/encode", "tcg_core/model"}
PACKED_LIBRARIES = {"numpy", "torch"}


@cache
def names_imported(text: str) -> tuple[tuple[str, str], ...]:
    """(module, name) of each import anywhere in a file; name is "" for ``import module``. Relative imports have leading dots."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [("." * node.level + (node.module or ""), alias.name) for alias in node.names]
    return tuple(found)


@cache
def swallows_everything(text: str) -> bool:
    return any(isinstance(node, ast.ExceptHandler) and node.type is None for node in ast.walk(ast.parse(text)))


@dataclass(frozen=True)
class House:
    """Both packages. files: name below the project, as ``tcg_core/base/home.py``, to its text."""

    files: Mapping[str, str]

    @classmethod
    def at(cls, root: Path) -> "House":
        paths = [path for package in ORDER for path in root.glob(f"{package}/**/*.py")]
        return cls({str(path.relative_to(root)): path.read_text() for path in paths})

    def but(self, name: str, text: str) -> "House":
        """The same house with one file more, or another one."""
        return House({**self.files, name: text})

    @cached_property
    def rooms(self) -> set[str]:
        """Folders and loose files of both packages, as ``tcg_core/base``; `__init__.py` is none."""
        return {room_of(name) for name in self.files} - {f"{package}/__init__.py" for package in ORDER}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """Files of the house that each file imports. Of ``from package import name`` it is the module of that name, else the
        package's `__init__.py`."""
        return {name: set(self._targets(name, text)) for name, text in self.files.items()}

    def _targets(self, importer: str, text: str) -> Iterator[str]:
        for module, name in names_imported(text):
            parts = absolute(importer, module)
            for candidate in ((*parts, name), parts) if name else (parts,):
                path = "/".join(candidate)
                found = [file for file in (f"{path}.py", f"{path}/__init__.py") if file in self.files]
                if found:
                    yield found[0]
                    break

    def libraries(self, file: str) -> set[str]:
        """First names of the modules from outside the house that a file imports."""
        heads = {module.split(".")[0] for module, _ in names_imported(self.files[file])}
        return heads - {"", *ORDER}


def room_of(name: str) -> str:
    return "/".join(name.split("/")[:2])


def absolute(importer: str, module: str) -> tuple[str, ...]:
    """Parts of a module's name; a relative one is resolved from the file that imports it."""
    level = len(module) - len(module.lstrip("."))
    rest = tuple(part for part in module[level:].split(".") if part)
    return (*importer.split("/")[:-level], *rest) if level else rest


# --- rules: each returns one line for each fault ---


def unnamed_rooms(house: House) -> list[str]:
    """The list above names every room and nothing else."""
    listed = {f"{package}/{room}" for package, rooms in ORDER.items() for room in rooms}
    absent = [f"{room} is listed in tests/house.py, and is not there" for room in sorted(listed - house.rooms)]
    return absent + [f"{room} is a room that tests/house.py does not list" for room in sorted(house.rooms - listed)]


def arrows_up(house: House) -> list[str]:
    """A room imports earlier rooms of its package; tcg_core imports nothing of tcg_assets."""
    faults = []
    for file, targets in house.imports.items():
        for target in sorted(targets):
            one, other = file.split("/")[0], target.split("/")[0]
            if one == "tcg_core" and other == "tcg_assets":
                faults.append(f"{file} imports {target}: tcg_core imports nothing of tcg_assets")
            elif one == other and place(file) < place(target):
                faults.append(f"{file} imports {target}, which comes later")
    return faults


def place(file: str) -> int:
    package, room = room_of(file).split("/")
    order = ORDER[package]
    # The package's own __init__ is below all rooms; a room that is not listed is told of by another rule.
    return order.index(room) if room in order else -1


def siblings_of_encode(house: House) -> list[str]:
    """encode imports no other room."""
    return [
        f"{file} imports {target}: encode imports no other room"
        for file, targets in house.imports.items()
        for target in sorted(targets)
        if room_of(file) == "tcg_core/encode" != room_of(target)
    ]


def circles(house: House) -> list[str]:
    """Files that import each other, directly or through others (Tarjan's strongly connected components)."""
    return [" -> ".join(sorted(group)) for group in components(house.imports) if len(group) > 1] + [
        f"{file} imports itself" for file, targets in house.imports.items() if file in targets
    ]


def components(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Strongly connected components of a graph (Tarjan 1972), without recursion."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in sorted(graph):
        waiting = [(root, iter(sorted(graph[root])))] if root not in index else []
        if waiting:
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
        while waiting:
            node, rest = waiting[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    waiting.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                waiting.pop()
                if waiting:
                    low[waiting[-1][0]] = min(low[waiting[-1][0]], low[node])
                if low[node] == index[node]:
                    group = stack[stack.index(node) :]
                    del stack[stack.index(node) :]
                    on_stack -= set(group)
                    found.append(group)
    return found


def too_many_rooms(house: House) -> list[str]:
    faults = [f"{len(house.rooms)} rooms, at most {MOST_ROOMS}"] if len(house.rooms) > MOST_ROOMS else []
    for package, most in ROOT_FILES.items():
        loose = sorted(name for name in house.files if name.count("/") == 1 and name.startswith(f"{package}/"))
        faults += (
            [f"{package} has {len(loose)} files at its root, at most {most}: {', '.join(loose)}"] if len(loose) > most else []
        )
    return faults


def long_files(house: House) -> list[str]:
    lines = {name: text.count("\n") for name, text in house.files.items() if not name.endswith("__init__.py")}
    faults = [f"{name} has {count} lines, at most {MOST_LINES}" for name, count in sorted(lines.items()) if count > MOST_LINES]
    median = statistics.median(lines.values())
    return faults + ([f"the median file has {median:.0f} lines, at most {MOST_MEDIAN}"] if median > MOST_MEDIAN else [])


def misplaced_libraries(house: House) -> list[str]:
    return [
        f"{file} imports {library}, which only {', '.join(sorted(ALLOWED[library])) or 'no room'} may"
        for file in sorted(house.files)
        for library in sorted(house.libraries(file) & set(ALLOWED))
        if room_of(file) not in ALLOWED[library]
    ]


def unpackable(house: House) -> list[str]:
    """What the packed runtime reaches lies in three rooms and needs the standard library, numpy and torch only."""
    reached, waiting = set(), [file for file in house.files if file.startswith(RUNTIME)]
    while waiting:
        file = waiting.pop()
        if file not in reached:
            reached.add(file)
            waiting += house.imports[file]
    faults = []
    for file in sorted(reached):
        inside = file.startswith(RUNTIME) or room_of(file) in PACKED_ROOMS - {"tcg_core/submission"}
        faults += [] if inside else [f"the packed runtime reaches {file}"]
        foreign = sorted(house.libraries(file) - PACKED_LIBRARIES - sys.stdlib_module_names)
        faults += [f"{file}, which is packed, imports {library}" for library in foreign]
    return faults


def private_names(house: House) -> list[str]:
    """Private names of Dagster stand in one module."""
    return [
        f"{file}: {found[0]}: a private name of Dagster belongs into {PRIVATE}"
        for file, text in sorted(house.files.items())
        if file != PRIVATE and (found := re.search(r"\b(dagster|dg)\._\w*", text))
    ]


def bare_excepts(house: House) -> list[str]:
    return [f"{file} has an except without a class" for file, text in sorted(house.files.items()) if swallows_everything(text)]


def rooms_of_the_page(page: str) -> list[str]:
    """Rooms in the tree of docs/architecture.md, in its order; raises ``ValueError`` for a line of the tree that names none."""
    blocks = [block for block in re.findall(r"^```\n(.*?)^```$", page, re.MULTILINE | re.DOTALL) if "tcg_core/\n" in block]
    if len(blocks) != 1:
        raise ValueError(f"{len(blocks)} trees of tcg_core/ in the page, expected one")
    found, package = [], ""
    for line in blocks[0].splitlines():
        if line.rstrip("/") in ORDER:
            package = line.rstrip("/")
        elif package and (room := re.fullmatch(r"  ([\w.]+?)/? +\S.*", line)):
            found.append(f"{package}/{room[1]}")
        else:
            raise ValueError(f"{line!r} is no room of the tree, expected `  name/   description`")
    return found
