"""Runs a command and tells what it cost: wall and CPU seconds, and the peak memory of its whole process tree."""

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
_INTERVAL = 0.1


@dataclass(frozen=True)
class Cost:
    """wall, cpu: seconds (cpu of all processes of the tree); peak_rss: bytes, the largest sum of RSS over the tree at one
    time, so pages that processes share count once each; load: 1-minute load average at the end; result: what the command
    printed, as JSON."""

    wall: float
    cpu: float
    peak_rss: int
    load: float
    result: dict[str, Any]


def run(*command: str | Path) -> Cost:
    """Runs ``python command...`` in the repository's root with one thread a library; its last line must be a JSON object."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    before, started, peak = _children_cpu(), time.perf_counter(), 0
    process = subprocess.Popen(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env=os.environ | threads | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    tree = psutil.Process(process.pid)
    while process.poll() is None:
        peak = max(peak, _tree_rss(tree))
        time.sleep(_INTERVAL)
    wall = time.perf_counter() - started
    output = process.communicate()[0]
    if process.returncode:
        raise SystemExit(f"{command}: exit status {process.returncode}")
    return Cost(wall, _children_cpu() - before, peak, os.getloadavg()[0], json.loads(output.splitlines()[-1]))


def _tree_rss(root: psutil.Process) -> int:
    total = 0
    try:
        for process in (root, *root.children(recursive=True)):
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        pass
    return total


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine() -> str:
    """The machine in words."""
    model = "unknown processor"
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = names[0] if names else model
    memory = psutil.virtual_memory().total / 2**30
    return f"{model}, {os.cpu_count()} logical cores, {memory:.0f} GiB, load {' '.join(f'{x:.1f}' for x in os.getloadavg())}"
