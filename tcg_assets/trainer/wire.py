"""What the trainer's process says to its parent: plain JSON of what it built, where it ended, or the line of its refusal."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.catalog.registry import plain


class Refused(Exception):
    """The child refused, with one clear line. ``error``: name of the error's class."""

    def __init__(self, line: str, error: str = "") -> None:
        super().__init__(line)
        self.error = error


class EndedEarly(Exception):
    """The child's run ended before its end, as it was told to. ``progress``: where, as plain values; ``reason``: why."""

    def __init__(self, line: str, reason: str, progress: dict[str, int]) -> None:
        super().__init__(line)
        self.reason, self.progress = reason, progress


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


def said_refused(error: Exception) -> dict[str, Any]:
    """The message of a refusal."""
    return {"refused": str(error), "error": type(error).__name__}


def said_unfinished(line: str, reason: str, progress: dict[str, int]) -> dict[str, Any]:
    """The message of a run that ended before its end."""
    return {"unfinished": line, "reason": reason, "progress": progress}


def ran_of(message: dict[str, Any]) -> tuple[Built, float]:
    """Inverse of :func:`said_built`: what was built and its seconds; raises :class:`Refused` on a refusal,
    :class:`EndedEarly` for a run that ended before its end."""
    if "refused" in message:
        raise Refused(message["refused"], message["error"])
    if "unfinished" in message:
        raise EndedEarly(message["unfinished"], message["reason"], message["progress"])
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
