"""Preflight: what Kaggle would do with an archive, done here first, and each refusal with the name of its rule."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.checks import Check
from tcg_core.engine.library import engine_directory
from tcg_core.submission.archive import LARGEST_ARCHIVE, ArchiveRefused, extract_archive
from tcg_core.submission.judged import deck_check, inspect, logits_check, plays_check, time_check
from tcg_core.submission.kaggle import Played, PreflightEpisode, PreflightOutcome, Spec

CHECKS = ("extracted", "size", "deck", "logits", "plays", "time")
_ROOT = Path(__file__).resolve().parent.parent.parent
#: Seconds allowed for the whole reference lane, per episode and for loading.
_PER_EPISODE, _TO_LOAD = 900.0, 300.0


def preflight(
    path: Path, generations: Sequence[str] | None = None, games: int = 2, opponents: Sequence[str] = ("random", "heuristic")
) -> tuple[Check, ...]:
    """The checks :data:`CHECKS` of an archive; later ones fail as not run when an earlier one leaves nothing to run.

    generations: engine generations to play (default: those the archive declares); games: episodes in each, seats
    alternating, against ``opponents`` in turn, so that four meet each opponent in each seat. Raises
    :class:`~tcg_core.engine.errors.EngineMissing` without the engine.
    """
    engine_directory()
    with tempfile.TemporaryDirectory(prefix="tcg-preflight-") as name:
        folder = Path(name).resolve() / "agent"
        folder.mkdir()
        size = _size_check(path)
        try:
            members = extract_archive(path, folder)
            contract = inspect(folder, members)
        except ArchiveRefused as error:
            return (Check("extracted", False, str(error), facts={"rule": error.rule}), size, *_not_run(CHECKS[2:]))
        extracted = Check("extracted", True, f"{len(members)} files, each as its manifest says", facts={"files": len(members)})
        played = tuple(generations or contract["generations"])
        episodes = tuple(
            PreflightEpisode(generation, number % 2, opponents[(number + number // 2) % len(opponents)], 13 + number)
            for generation in played
            for number in range(games)
        )
        outcome = _run(Spec(str(folder), episodes), Path(name))
        return (
            extracted,
            size,
            deck_check(folder, outcome, contract["generations"]),
            logits_check(outcome),
            plays_check(folder, outcome, episodes),
            time_check(outcome),
        )


def _size_check(path: Path) -> Check:
    found = path.stat().st_size if path.is_file() else 0
    return Check(
        "size",
        0 < found <= LARGEST_ARCHIVE,
        f"{found:,} bytes, {LARGEST_ARCHIVE:,} are allowed",
        facts={"bytes": found, "limit": LARGEST_ARCHIVE},
    )


def _not_run(names: Sequence[str]) -> tuple[Check, ...]:
    return tuple(Check(name, False, "not run: the archive was refused before", facts={"rule": "not_run"}) for name in names)


def _run(spec: Spec, scratch: Path) -> PreflightOutcome:
    """The reference lane in a process of its own; whatever ends that process is an outcome too."""
    spec_path, out_path = scratch / "spec.json", scratch / "outcome.json"
    write_json(spec_path, asdict(spec))
    command = [sys.executable, "-m", "tcg_core.submission.kaggle", str(spec_path), str(out_path)]
    environment = os.environ | {"PYTHONPATH": str(_ROOT)}
    try:
        done = subprocess.run(
            command,
            cwd=scratch,
            env=environment,
            capture_output=True,
            text=True,
            timeout=_TO_LOAD + _PER_EPISODE * len(spec.episodes),
        )
    except subprocess.TimeoutExpired as error:
        return PreflightOutcome(failure=f"the reference lane took more than {error.timeout:.0f} s")
    if done.returncode or not out_path.is_file():
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["nothing printed"]
        return PreflightOutcome(failure=f"the reference lane ended with code {done.returncode}: {last[0][:300]}")
    values: dict[str, Any] = json.loads(out_path.read_text())
    return PreflightOutcome(**values | {"episodes": [Played(**episode) for episode in values["episodes"]]})
