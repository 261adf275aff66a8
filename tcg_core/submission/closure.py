"""Which source files the packed runtime needs, and which packages those import."""

import ast
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tcg_core.base.errors import TcgError
from tcg_core.base.source import at_start, imports_of

#: What the sandbox has besides the standard library.
SANDBOX_PACKAGES = ("numpy", "torch")
RUNTIME = "tcg_core.submission.runtime.agent"


class NotPackable(TcgError):
    """A runtime module that imports what the sandbox has not."""


def runtime_sources(start: str = RUNTIME) -> dict[str, bytes]:
    """The files of ``start`` and of all it imports inside the package, by path in the archive, byte for byte.

    Packages above a module are among them, as importing it runs them. They are those of this process, whatever lies on disk
    by now. Raises :class:`NotPackable` naming the file that imports something else than the standard library, numpy, torch
    or the package itself.
    """
    source = at_start()
    found = {file: source.files[file] for file in sorted(source.packed(start))}
    foreign = foreign_imports({name: data.decode() for name, data in found.items()})
    if foreign:
        raise NotPackable(foreign[0])
    return found


def _imports(source: str, name: str) -> list[str]:
    """Dotted names imported anywhere in ``source``; raises :class:`NotPackable` for a relative import or no Python."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise NotPackable(f"{name}: {error}") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.level or node.module is None):
            raise NotPackable(f"{name}:{node.lineno}: a relative import; the runtime imports by full name")
    return imports_of(tree)


def foreign_imports(sources: Mapping[str, str]) -> list[str]:
    """Lines naming each import that the sandbox would not serve: neither standard library, nor numpy or torch, nor a
    module among ``sources`` (path -> text)."""
    own = {Path(name).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__") for name in sources}
    own |= {parent for name in own for parent in _with_parents(name)}
    problems = []
    for name, source in sorted(sources.items()):
        for module in _imports(source, name):
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
