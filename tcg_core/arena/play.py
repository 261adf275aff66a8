"""One game between any two players, for a look."""

import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tcg_core.arena.opponents import resolve
from tcg_core.arena.pool import run_schedule
from tcg_core.arena.schedule import make_schedule, store_schedule
from tcg_core.arena.worker import SCHEDULE
from tcg_core.base.home import Home


def play_one(home: Home, first: str, second: str, seed: int = 13, generation: str = "v1") -> dict[str, Any]:
    """Plays ``first`` in seat 0 against ``second`` once, in a process of its own; returns what came of it, as seen from
    seat 0. Raises :class:`~tcg_core.base.errors.TcgError` for a player that cannot be played."""
    ours, theirs = resolve(home, first, generation), resolve(home, second, generation)
    if ours.name == theirs.name:
        ours, theirs = replace(ours, name=f"{ours.name} (seat 0)"), replace(theirs, name=f"{theirs.name} (seat 1)")
    schedule = make_schedule(generation, (ours, theirs), 2, seed, "play")
    with tempfile.TemporaryDirectory(prefix="tcg-play-") as name:
        directory = Path(name)
        store_schedule(directory / SCHEDULE, schedule)
        game = run_schedule(home, schedule, directory, 1, "play", only=(0,))[0]
    return {"seat 0": ours.name, "seat 1": theirs.name, **asdict(game)}


def spoiled(found: Mapping[str, Any]) -> str:
    """What :func:`play_one` returned, as one line about why the game says nothing of the players' strength; "" if it does."""
    said = []
    for seat, (fallbacks, decisions) in enumerate(zip(found["fallbacks"], found["decisions"], strict=True)):
        if fallbacks:
            said.append(f"{fallbacks} of {decisions} decisions of seat {seat} were fallbacks, made without its network")
    if found["offender"]:
        who = {"candidate": "seat 0", "opponent": "seat 1"}.get(found["offender"], "neither seat")
        said.append(f"a fault of {who} ended the game: {found['reason']}")
    return f"this game is no evidence: {'; '.join(said)}" if said else ""
