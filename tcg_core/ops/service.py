"""Service files for webserver and daemon: templates of `deploy/`, with the paths of this environment and data home.

The templates name no machine; each format has its own way to quote a path.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape

from tcg_core.base.home import Home
from tcg_core.ops.errors import ServiceError

Kind = Literal["systemd", "launchd"]
PROJECT = Path(__file__).resolve().parents[2]
_PLACE = re.compile(r"@([A-Z_]+)@")
_QUOTED = re.compile(r"[\n\r\0]")


def render(kind: Kind, home: Home, port: int, python: Path | None = None, project: Path | None = None) -> dict[str, str]:
    """The files by name. ``python``: the interpreter, this one if left out; ``project``: the checkout.

    Raises :class:`ServiceError` for a path that the format cannot hold, a missing template or a place it does not know.
    """
    root = project or PROJECT
    values = {
        # Not resolved: a virtual environment's interpreter is a link, and only its own path names the environment.
        "PYTHON": str(python or sys.executable),
        "PROJECT": str(root),
        "DATA": str(home.root),
        "DAGSTER_HOME": str(home.dagster),
        "PORT": str(port),
    }
    for name, value in values.items():
        if _QUOTED.search(value):
            raise ServiceError(f"{name.lower()} {value!r} has a line break in it, which no service file can hold")
    templates = sorted((PROJECT / "deploy" / kind).glob("tcg*"))
    if not templates:
        raise ServiceError(f"{PROJECT / 'deploy' / kind} holds no template: services are set up from a checkout")
    return {path.name: _filled(path, values, kind) for path in templates}


def _filled(path: Path, values: dict[str, str], kind: Kind) -> str:
    lines = []
    for line in path.read_text().splitlines(keepends=True):
        quote = escape if kind == "launchd" else _systemd_quote(line)

        def value(found: re.Match[str], quote: Callable[[str], str] = quote) -> str:
            if found[1] not in values:
                raise ServiceError(f"{path}: unknown place @{found[1]}@; known: {', '.join(sorted(values))}")
            return quote(values[found[1]])

        lines.append(line if line.startswith("#") else _PLACE.sub(value, line))
    return "".join(lines)


def _systemd_quote(line: str) -> Callable[[str], str]:
    """How a value is written within this line: specifiers doubled everywhere, quotes where the line quotes, and in
    commands dollars too."""

    def quote(text: str) -> str:
        text = text.replace("%", "%%")
        if '"' in line:
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        return text.replace("$", "$$") if line.startswith("Exec") else text

    return quote
