"""The project's own source as it was when this process started: what every code identity is computed from.

A process runs what it loaded. Files on disk may change under it (a ``git pull`` during a night), so they are read once, at
the import of this module, and never again for an identity.
"""

import ast
import hashlib
import time
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tcg_core",)


@dataclass(frozen=True)
class SourceTree:
    """Source files of a tree. ``files``: bytes by path below the root, POSIX style; ``taken``: seconds since 1970."""

    files: dict[str, bytes]
    taken: float

    @property
    def packages(self) -> tuple[str, ...]:
        """Names of the packages that are part of the tree."""
        return PACKAGES

    @cached_property
    def modules(self) -> dict[str, str]:
        """File by dotted module name."""
        return {file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): file for file in self.files}

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256 over all paths and bytes."""
        lines = "".join(f"{file} {self.sha256(file)}\n" for file in sorted(self.files))
        return hashlib.sha256(lines.encode()).hexdigest()

    def sha256(self, file: str) -> str:
        """Hex SHA-256 of a file's bytes."""
        return hashlib.sha256(self.files[file]).hexdigest()

    def packed(self, start: str) -> set[str]:
        """Files of a module and of all it imports, whole: packages above a module are among them, as importing it runs them."""
        found: set[str] = set()
        waiting = [start]
        while waiting:
            parts = waiting.pop().split(".")
            for count in range(1, len(parts) + 1):
                file = self.modules.get(".".join(parts[:count]))
                if file is not None and file not in found:
                    found.add(file)
                    waiting += imports_of(self.tree(file))
        return found

    def tree(self, file: str) -> ast.Module:
        """The file's syntax tree."""
        return ast.parse(self.files[file], file)


def imports_of(tree: ast.Module) -> list[str]:
    """Dotted names imported anywhere in a file, ``a.b`` and ``a.b.c`` for ``from a.b import c``."""
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return found


def read_source(root: Path = ROOT) -> SourceTree:
    """Reads every Python file of the packages below ``root``."""
    files = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        if "__pycache__" not in path.parts
    }
    return SourceTree(files, time.time())


@cache
def at_start() -> SourceTree:
    """The source as it was when this process first asked, which is when :mod:`tcg_core.base.source` was imported."""
    return read_source()


at_start()
