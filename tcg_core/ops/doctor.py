"""Is this machine ready? One finding for each thing that has stopped somebody, with its remedy."""

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home

_NEEDED_BYTES = 2 << 30


@dataclass(frozen=True)
class Finding:
    """``state``: ok, warn (works, but not as well as it could) or FAIL (something will not work)."""

    what: str
    state: Literal["ok", "warn", "FAIL"]
    found: str
    remedy: str = ""


def examine(home: Home) -> list[Finding]:
    """All findings, in the order in which a person would mend them."""
    examinations: tuple[Callable[[], Iterator[Finding]], ...] = (
        _python, _engine, _torch, _mlx, lambda: _home(home), _credentials,
    )  # fmt: skip
    return [finding for examination in examinations for finding in examination()]


def before_work() -> list[Finding]:
    """What a long command says before it starts: engine and torch findings that are not ok. Imports neither."""
    return [finding for examination in (_engine, _torch) for finding in examination() if finding.state != "ok"]


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    if sys.version_info[:2] == (3, 11):
        yield Finding("python", "ok", version)
    else:
        yield Finding("python", "FAIL", version, "make a virtual environment with Python 3.11, the sandbox's version")


def _engine() -> Iterator[Finding]:
    from tcg_core.engine.library import GENERATIONS, engine_version

    for generation in GENERATIONS:
        try:
            version = engine_version(generation)
        except TcgError as error:
            yield Finding(f"engine {generation}", "FAIL", str(error), "make engine")
        else:
            yield Finding(f"engine {generation}", "ok", f"{version.package_version}, library {version.library_sha256[:8]}")


def _torch() -> Iterator[Finding]:
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        yield Finding("torch", "FAIL", "not installed", "make setup")
        return
    names = [(distribution.name or "").lower() for distribution in importlib.metadata.distributions()]
    cuda = [name for name in names if name.startswith(("nvidia-cuda-runtime", "nvidia-cublas"))]
    if cuda:
        remedy = "play needs the CPU build only: uninstall torch and the nvidia-* packages, then install torch's CPU wheel"
        yield Finding("torch", "warn", f"{version}, a CUDA build ({cuda[0]} is installed)", remedy)
    else:
        yield Finding("torch", "ok", version)


def _mlx() -> Iterator[Finding]:
    try:
        from tcg_core.model.bootstrap import facts

        found = facts()
    except (ImportError, TcgError) as error:
        remedy = "on Linux install exactly one of the extras cpu, cuda12, cuda13: make setup BACKEND=cpu"
        yield Finding("mlx", "FAIL", str(error), remedy)
        return
    text = ", ".join(f"{name} {value}" for name, value in found.items())
    if sys.platform == "darwin" and "cpu" in str(found.get("device", "")):
        yield Finding("mlx", "warn", text, "Metal was not found: training falls to the CPU and is many times slower")
    elif sys.platform == "linux" and "reference" in str(found.get("blas", "")):
        yield Finding("mlx", "warn", text, "install torch's CPU build: its BLAS makes MLX about 8 times faster on Linux")
    else:
        yield Finding("mlx", "ok", text)


def _home(home: Home) -> Iterator[Finding]:
    try:
        home.prepare()
    except TcgError as error:
        yield Finding("data home", "FAIL", str(error), "set TCG_DATA to a directory of yours")
        return
    free = shutil.disk_usage(home.root).free
    if free < _NEEDED_BYTES:
        found = f"{home.root}, {free >> 20} MiB free"
        yield Finding("data home", "warn", found, "a real day needs about 2 GiB while it is built")
    else:
        yield Finding("data home", "ok", f"{home.root}, {free >> 30} GiB free")


def _credentials() -> Iterator[Finding]:
    named = {"KAGGLE_USERNAME", "KAGGLE_KEY"} <= set(os.environ) or "KAGGLE_API_TOKEN" in os.environ
    if named or (Path.home() / ".kaggle" / "kaggle.json").is_file():
        yield Finding("kaggle credentials", "ok", "present (not shown)")
    else:
        remedy = "only to fetch days from Kaggle: set KAGGLE_USERNAME and KAGGLE_KEY; archives in the inbox need none"
        yield Finding("kaggle credentials", "warn", "none", remedy)
