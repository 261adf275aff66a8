"""The fresh-process reload gate: ``python -m tcg_core.convert.reload DIRECTORY`` replays reference decisions from disk only.

DIRECTORY is a PyTorch artifact (its own reference and tolerance) or an MLX checkpoint (``--reference`` and
``--tolerance`` of the artifact made from it). One JSON object on standard output; exit 0 within the tolerance, 1 beyond
it, 2 with one line on standard error if something cannot be loaded. :func:`reload` runs it in a separate interpreter, so
that nothing can come from the memory of the process that made the files.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tcg_core
from tcg_core.base.errors import TcgError
from tcg_core.base.same_code import for_child, require_same
from tcg_core.convert.errors import ConvertError
from tcg_core.convert.players import mlx_player, torch_player
from tcg_core.convert.reference import read_reference
from tcg_core.convert.replay import NetworkPlayer, compare, replay
from tcg_core.model.config import ModelError
from tcg_core.model.torch_load import CONTRACT, REFERENCE, load_artifact

TIMEOUT_S = 600
ASSET = "torch_artifact"


def reload(directory: Path, reference: Path | None = None, tolerance: float | None = None) -> dict[str, Any]:
    """Runs the gate in another interpreter and returns its report (keys of :func:`report`).

    Raises :class:`ConvertError` with what it said if the files cannot be loaded there.
    """
    command = [sys.executable, "-m", "tcg_core.convert.reload", str(directory.resolve())]
    command += ["--reference", str(reference.resolve())] if reference else []
    command += ["--tolerance", repr(tolerance)] if tolerance is not None else []
    package = str(Path(tcg_core.__file__).resolve().parent.parent)
    environment = (
        os.environ | for_child(ASSET) | {"PYTHONPATH": os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])}
    )
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ConvertError(f"reload of {directory} took more than {TIMEOUT_S} s") from None
    if done.returncode not in (0, 1):
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise ConvertError(f"reload of {directory} failed in a fresh process: {last}")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["process"] == os.getpid():
        raise ConvertError(f"reload of {directory} ran in the process that asked for it")
    return found


def report(directory: Path, reference: Path | None, tolerance: float | None) -> dict[str, Any]:
    """Loads, replays and compares in this process. Keys: passed, framework, tolerance, process, lanes, decisions, steps,
    other_framework (the other one was imported: must be false for an artifact), and those of ``Difference.facts``."""
    player, tolerance, reference = _load(directory, reference, tolerance)
    decisions, expected = read_reference(reference)
    difference = compare(decisions, expected, replay(player, decisions))
    return {
        "passed": difference.within(tolerance),
        "framework": player.framework,
        "tolerance": tolerance,
        "process": os.getpid(),
        "lanes": len(decisions.lanes),
        "decisions": decisions.decisions,
        "steps": len(decisions.steps),
        "other_framework": player.framework == "torch" and "mlx.core" in sys.modules,
        "difference": difference.largest,
        **difference.facts(),
    }


def _load(directory: Path, reference: Path | None, tolerance: float | None) -> tuple[NetworkPlayer, float, Path]:
    if (directory / CONTRACT).is_file():
        net, _, contract = load_artifact(directory)
        declared = float(contract["tolerance"])
        if tolerance is not None and tolerance > declared:
            raise ConvertError(f"tolerance {tolerance} is looser than the {declared} that {directory / CONTRACT} declares")
        return torch_player(net), tolerance or declared, reference or directory / REFERENCE
    if reference is None or tolerance is None:
        raise ConvertError(f"{directory} has no {CONTRACT}: to reload a checkpoint give --reference and --tolerance")
    # Imported here: the artifact side must load nothing of training.
    from tcg_core.train.runs.checkpoint import load_weights

    architecture, weights, tables, _ = load_weights(directory)
    return mlx_player(architecture, weights, tables, str(directory)), tolerance, reference


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tcg_core.convert.reload", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--reference", type=Path, help="reference.safetensors to replay, default: the artifact's own")
    parser.add_argument("--tolerance", type=float, help="largest accepted difference, default: the artifact's own")
    given = parser.parse_args(arguments)
    try:
        require_same(ASSET)
        found = report(given.directory, given.reference, given.tolerance)
    except (TcgError, ModelError) as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found, sort_keys=True))
    return 0 if found["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
