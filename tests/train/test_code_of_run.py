"""A checkpoint records the code that ran, whatever lies on disk when it is saved."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tcg_core.base.code import code_version, version_in
from tcg_core.base.identity import Index
from tcg_core.base.manifest import read_manifest
from tcg_core.base.same_code import for_child
from tcg_core.base.source import read_source
from tests.train.toy import toy_home, toy_plan

ROOT = Path(__file__).resolve().parents[2]


def test_a_pull_during_a_run_does_not_change_what_its_checkpoints_record(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(ROOT / "tcg_core", tree / "tcg_core", ignore=shutil.ignore_patterns("__pycache__"))
    home = toy_home(tmp_path / "home")
    plan = toy_plan(home)
    command = [
        sys.executable,
        "-m",
        "tcg_core.train",
        plan.id,
        "--home",
        str(home.root),
        "--device",
        "cpu",
        "--latest-every",
        "1",
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(tree)}
    process = subprocess.Popen(command, cwd=tree, env=environment, stderr=subprocess.PIPE, text=True)
    run = home.checkpoints / plan.id
    while not (run / "latest.json").exists() and process.poll() is None:
        time.sleep(0.01)
    with (tree / "tcg_core/train/loss.py").open("a") as file:
        file.write("\n\ndef each_row(*_):\n    return {}\n")
    _, error = process.communicate()
    assert process.returncode in (0, 1), error  # so short a run may fail its own check of having learned
    on_disk = version_in(Index(read_source(tree)), "mlx_checkpoint")
    found = {read_manifest(path.parent).code for path in run.rglob("manifest.json")}
    assert found == {code_version("mlx_checkpoint")} and on_disk not in found

    handed = environment | for_child("mlx_checkpoint")
    refused = subprocess.run(command, cwd=tree, env=handed, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.strip() == f"the code changed since PID {os.getpid()} started: restart `tcg ui`"
