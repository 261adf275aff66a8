"""What the trainer's process says to its parent: plain JSON of what it built, or the line of its refusal."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcg_core.built import Built
from tcg_core.catalog.registry import plain
from tcg_core.checks import Check


class Refused(Exception):
    """The child refused, with one clear line."""


def said_built(built: Built, seconds: float) -> dict[str, Any]:
    """The message of a finished stage."""
    return {
        "built": {
            "kind": built.kind,
            "id": built.id,
            "path": str(built.path),
            "reused": built.reused,
            "checks": [plain(asdict(check)) for check in built.checks],
            "facts": plain(built.facts),
            "plots": {name: str(path) for name, path in built.plots.items()},
        },
        "seconds": seconds,
    }


def said_refused(line: str) -> dict[str, Any]:
    """The message of a refusal."""
    return {"refused": line}


def ran_of(message: dict[str, Any]) -> tuple[Built, float]:
    """Inverse of :func:`said_built`: what was built and its seconds; raises :class:`Refused` on a refusal."""
    if "refused" in message:
        raise Refused(message["refused"])
    values = message["built"]
    built = Built(
        kind=values["kind"],
        id=values["id"],
        path=Path(values["path"]),
        reused=values["reused"],
        checks=tuple(Check(**check) for check in values["checks"]),
        facts=values["facts"],
        plots={name: Path(path) for name, path in values["plots"].items()},
    )
    return built, message["seconds"]
