"""Training runs that a nightly began and that have not ended: which one the next night continues, and which are
abandoned.

A note (``nights/RUN.json``) is written before a night's trainer starts and removed when its run has ended, so that a night
that was killed is found again even if Dagster's history is lost.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.code import code_version
from tcg_core.base.errors import ConfigError, IntegrityError, TcgError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, read_manifest
from tcg_core.base.settings import from_dict, to_dict
from tcg_core.catalog.connection import now
from tcg_core.plan.again import require_current
from tcg_core.train.runs import pointers

#: Starts without an update after which a run is abandoned: one that dies at the same place would else block all nights.
MOST_STALLED = 2


@dataclass(frozen=True)
class RunProgress:
    """Where a run stands: epochs it has ended, its updates, and the updates of the whole run."""

    epochs: int
    updates: int
    horizon: int

    def __str__(self) -> str:
        return f"after {self.epochs} epochs and update {self.updates} of {self.horizon}"


@dataclass(frozen=True)
class Start:
    """One start of a run. night: date of the night; at: when; epochs, updates: where the run stood."""

    night: str
    at: str
    epochs: int
    updates: int


@dataclass(frozen=True)
class Begun:
    """A run that a nightly began. digest: of the days, code and recipe it was planned from; starts: at least one; abandoned:
    why no night continues it, "" if one does; last: what its last night ended with, "" while nothing is known."""

    run: str
    digest: str
    starts: tuple[Start, ...]
    abandoned: str = ""
    last: str = ""

    @property
    def stalled(self) -> int:
        """Starts, up to the last one, that found the run where the last one did."""
        found = [(start.epochs, start.updates) for start in reversed(self.starts)]
        return next((number for number, place in enumerate(found) if place != found[0]), len(found))


@dataclass(frozen=True)
class Found:
    """The run that the night continues, None if there is none; where it stands; and lines that say what was decided."""

    continued: Begun | None
    place: RunProgress | None
    lines: tuple[str, ...]


def begin(home: Home, run: str, night: str, digest: str) -> None:
    """Notes that the trainer of ``run`` is about to start, in a night whose run carries ``digest``."""
    place = _place(home, run) or RunProgress(0, 0, 0)
    old = _read(home, run)
    starts = (*(old.starts if old else ()), Start(night, now(), place.epochs, place.updates))
    _write(home, Begun(run, digest, starts))


def take_back(home: Home, run: str) -> None:
    """Takes the last start back: the trainer never got to the run, another one was at work."""
    old = _read(home, run)
    if old is not None and len(old.starts) > 1:
        _write(home, replace(old, starts=old.starts[:-1]))
    elif old is not None:
        end(home, run)


def end(home: Home, run: str) -> None:
    """Forgets a run that has ended."""
    _path(home, run).unlink(missing_ok=True)


def told(home: Home, run: str, line: str) -> None:
    """Notes what the last start ended with, if the run is a nightly's."""
    old = _read(home, run)
    if old is not None:
        _write(home, replace(old, last=line))


def abandon(home: Home, run: str, reason: str) -> None:
    """Marks ``run`` as abandoned: later nights do not continue it. Raises :class:`ConfigError` if no nightly began it."""
    old = _read(home, run)
    if old is None:
        raise ConfigError(f"no nightly began run {run}, or it has ended")
    _write(home, replace(old, abandoned=reason))


def find(home: Home) -> Found:
    """Decides: the run begun last is continued if it can be; others are abandoned, each with its reason.

    Raises :class:`IntegrityError` for a note that is none.
    """
    lines: list[str] = []
    chosen: Begun | None = None
    place: RunProgress | None = None
    for begun in sorted(begun_runs(home), key=lambda item: item.starts[-1].at, reverse=True):
        if _over(home, begun):
            end(home, begun.run)
        if _over(home, begun) or begun.abandoned:
            continue
        reason = f"run {chosen.run} was begun after it" if chosen else _why_not(home, begun)
        if reason:
            abandon(home, begun.run, reason)
            lines.append(f"run {begun.run} is abandoned: {reason}")
            continue
        chosen, place = begun, _place(home, begun.run)
        lines.append(
            f"continues run {begun.run}, begun in the night of {begun.starts[0].night}, {place or 'without a checkpoint yet'}"
        )
    return Found(chosen, place, tuple(lines))


def begun_runs(home: Home) -> list[Begun]:
    """All notes, by run."""
    return [begun for path in sorted(home.nights.glob("*.json")) if (begun := _read(home, path.stem))]


def lines_of(home: Home) -> list[str]:
    """What a person should know of runs that nightlies began, one line each; changes nothing."""
    lines = []
    for begun in begun_runs(home):
        if _over(home, begun):
            continue
        try:
            where = str(_place(home, begun.run) or "without a checkpoint yet")
        except IntegrityError as error:
            where = str(error)
        follows = f"abandoned: {begun.abandoned}" if begun.abandoned else "the next night continues it"
        ended = f"; its last start: {begun.last}" if begun.last else ""
        lines.append(f"unfinished run {begun.run}, begun in the night of {begun.starts[0].night}, {where}: {follows}{ended}")
    return lines


def _over(home: Home, begun: Begun) -> bool:
    """True for a note that is not needed: its run has ended, or was abandoned and cleaned away."""
    run = home.checkpoints / begun.run
    return (run / MANIFEST).is_file() or bool(begun.abandoned and not run.is_dir())


def why_refused(home: Home, run: str) -> str:
    """Why a run cannot continue under this code and with these days, "" if it can."""
    checks: tuple[Callable[[], object], ...] = (lambda: require_current(home, run), lambda: _require_step(home, run))
    for check in checks:
        try:
            check()
        except TcgError as error:
            return str(error)
    return ""


def _why_not(home: Home, begun: Begun) -> str:
    """Why no night can continue a run, "" if one can."""
    refused = why_refused(home, begun.run)
    if refused:
        return refused
    place, last = _place(home, begun.run) or RunProgress(0, 0, 0), begun.starts[-1]
    here = (place.epochs, place.updates) == (last.epochs, last.updates)
    if here and begun.stalled >= MOST_STALLED:
        return f"{begun.stalled} starts brought it no further than {place}" + (f"; the last: {begun.last}" if begun.last else "")
    return ""


def _require_step(home: Home, run: str) -> None:
    """A run that died before its first checkpoint has nothing of other code: it begins again from its plan."""
    step = pointers.follow(home.checkpoints / run, pointers.LATEST)
    if step is None:
        return
    made, code = read_manifest(step).code, code_version("mlx_checkpoint")
    if made != code:
        raise IntegrityError(f"run {run}: its checkpoint was made by code {made}, this is {code}")


def _place(home: Home, run: str) -> RunProgress | None:
    """Where a run's ``latest`` stands; None without one."""
    directory, summary = home.checkpoints / run, home.plans / run / "summary.json"
    step = pointers.follow(directory, pointers.LATEST)
    if step is None:
        return None
    progress = json.loads((step / "state.json").read_text())["progress"]
    horizon = json.loads(summary.read_text())["facts"]["horizon"] if summary.is_file() else 0
    return RunProgress(int(progress["epoch"]), int(progress["updates"]), int(horizon))


def _read(home: Home, run: str) -> Begun | None:
    path = _path(home, run)
    if not path.is_file():
        return None
    try:
        return from_dict(Begun, _present(json.loads(path.read_text())))
    except (ValueError, TcgError) as error:
        raise IntegrityError(f"{path} is no note of a nightly: {error}; remove it if nothing else helps") from None


def _present(values: Any) -> Any:
    """A note's values under the keys of :class:`Begun`: older homes wrote ``abandoned`` as ``given_up``."""
    if not isinstance(values, dict):
        return values
    return {"abandoned" if key == "given_up" else key: value for key, value in values.items()}


def _write(home: Home, begun: Begun) -> None:
    write_json(_path(home, begun.run), to_dict(begun))


def _path(home: Home, run: str) -> Path:
    return home.nights / f"{run}.json"
