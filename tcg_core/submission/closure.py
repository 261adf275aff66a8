"""Which source files the packed runtime needs, and which packages those import."""

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tcg_core.base.errors import TcgError

PACKAGE = "tcg_core"
ROOT = Path(__file__).resolve().parent.parent.parent
#: What the sandbox has besides the standard library.
SANDBOX_PACKAGES = ("numpy", "torch")
RUNTIME = "tcg_core.submission.runtime.agent"


class NotPackable(TcgError):
    """A runtime module that imports what the sandbox has not."""


def runtime_sources(start: str = RUNTIME) -> dict[str, bytes]:
    """The files of ``start`` and of all it imports inside the package, by path in the archive, byte for byte.

    Packages above a module are among them, as importing it runs them. Raises :class:`NotPackable` naming the file that
    imports something else than the standard library, numpy, torch or the package itself.
    """
    found: dict[str, bytes] = {}
    waiting = [start]
    while waiting:
        for name in _with_parents(waiting.pop()):
            path = _module_file(ROOT, name)
            if path is None:
                continue
            member = path.relative_to(ROOT).as_posix()
            if member not in found:
                found[member] = path.read_bytes()
                waiting.extend(name for name in imports_of(found[member].decode(), member) if name.split(".")[0] == PACKAGE)
    foreign = foreign_imports({name: data.decode() for name, data in found.items()})
    if foreign:
        raise NotPackable(foreign[0])
    return dict(sorted(found.items()))


def imports_of(source: str, name: str) -> list[str]:
    """Dotted names imported anywhere in ``source``, ``a.b`` and ``a.b.c`` for ``from a.b import c``.

    Raises :class:`NotPackable` for source that does not parse or a relative import.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise NotPackable(f"{name}: {error}") from None
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                raise NotPackable(f"{name}:{node.lineno}: a relative import; the runtime imports by full name")
            found.append(node.module)
            found.extend(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def foreign_imports(sources: Mapping[str, str]) -> list[str]:
    """Lines naming each import that the sandbox would not serve: neither standard library, nor numpy or torch, nor a
    module among ``sources`` (path -> text)."""
    own = {Path(name).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__") for name in sources}
    own |= {parent for name in own for parent in _with_parents(name)}
    problems = []
    for name, source in sorted(sources.items()):
        for module in imports_of(source, name):
            head = module.split(".")[0]
            if head in sys.stdlib_module_names or head in SANDBOX_PACKAGES:
                continue
            if module in own or module.rpartition(".")[0] in own:
                continue
            problems.append(f"{name} imports {module}, which is neither in the archive nor in the sandbox")
    return problems


def _with_parents(name: str) -> Iterable[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _module_file(root: Path, name: str) -> Path | None:
    path = root.joinpath(*name.split("."))
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None
