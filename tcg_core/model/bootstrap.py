"""The one place that imports MLX: sets what must be set before, says once which BLAS it runs on, picks the device.

The Linux wheel of MLX is linked to reference BLAS, about 8 times slower here than PyTorch's; MLX binds its BLAS when it
is first imported, so PyTorch's library is put into the global symbol scope before that, where it is installed. Nothing
depends on it: without, the same numbers come slower.
"""

import ctypes
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import platform
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple

from tcg_core.model.config import ModelError

Device = Literal["gpu", "cpu"]
_LOG = logging.getLogger(__name__)


class DeviceError(ModelError):
    """The asked-for device is not there."""


class Mlx(NamedTuple):
    """The MLX modules in use and the BLAS behind the CPU backend."""

    core: ModuleType
    nn: ModuleType
    optimizers: ModuleType
    utils: ModuleType
    blas: str


def limit_threads() -> None:
    """One BLAS thread unless the environment says otherwise; to be called before any BLAS is loaded.

    The products here are small: one thread is within a few percent of two, and on shared cores two wait for each other (33
    times slower was measured). The count is part of what bits depend on, so runs started in different ways agree on it.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("MKL_NUM_THREADS", os.environ["OMP_NUM_THREADS"])


@cache
def mlx() -> Mlx:
    """Imports MLX, once. Raises :class:`ModelError` with the remedy if it is not installed."""
    # float32 must mean float32: with TF32 on, GPU products keep 10 bits of mantissa.
    os.environ["MLX_ENABLE_TF32"] = "0"
    if sys.platform == "linux" and not _cuda_backend():
        # On a CPU, compile starts the C++ compiler for every fused kernel and gains nothing.
        os.environ["MLX_DISABLE_COMPILE"] = "1"
    limit_threads()
    imported = "mlx.core" in sys.modules
    blas = "unknown: mlx was imported before tcg_core.model.bootstrap" if imported else _load_blas()
    try:
        names = ("mlx.core", "mlx.nn", "mlx.optimizers", "mlx.utils")
        core, nn, optimizers, utils = (importlib.import_module(name) for name in names)
    except ImportError as error:
        remedy = "on Linux install exactly one of the extras cpu, cuda12, cuda13: make setup"
        raise ModelError(f"mlx cannot be imported ({error}); {remedy}") from None
    _LOG.info("mlx %s, BLAS: %s", _version("mlx"), blas)
    return Mlx(core, nn, optimizers, utils, blas)


def resolve_device(wanted: str) -> Device:
    """Makes ``auto``, ``gpu`` or ``cpu`` the default device and returns which it is.

    Raises :class:`DeviceError` for ``gpu`` where MLX has none; ``auto`` that ends on the CPU of a Mac logs a warning.
    """
    core = mlx().core
    if wanted not in ("auto", "gpu", "cpu"):
        raise DeviceError(f"device {wanted!r} is not one of auto, gpu, cpu")
    present = _gpu_present(core)
    if wanted == "gpu" and not present:
        raise DeviceError("device gpu: this MLX has no Metal or CUDA backend; use device auto or cpu")
    if wanted != "cpu" and present:
        core.set_default_device(core.gpu)
        return "gpu"
    if wanted == "auto" and sys.platform == "darwin":
        _LOG.warning("device auto: no Metal on this Mac, training runs on the CPU")
    core.set_default_device(core.cpu)
    core.disable_compile()
    return "cpu"


def facts() -> dict[str, Any]:
    """What the bits of a result depend on: chip, mlx version, default device, BLAS, threads. Kept in checkpoints."""
    modules = mlx()
    device = "gpu" if modules.core.default_device() == modules.core.Device(modules.core.gpu) else "cpu"
    return {
        "chip": _chip(modules.core, device),
        "platform": f"{sys.platform}-{platform.machine()}",
        "mlx": _version("mlx"),
        "device": device,
        "blas": modules.blas,
        "threads": int(os.environ["OMP_NUM_THREADS"]),
    }


def _gpu_present(core: ModuleType) -> bool:
    return bool(core.is_available(core.Device(core.gpu)))


def _cuda_backend() -> bool:
    return any(_version(name) != "none" for name in ("mlx-cuda-12", "mlx-cuda-13", "mlx-cuda"))


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def _load_blas() -> str:
    if sys.platform == "darwin":
        return "accelerate"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "wheel"
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return "wheel"
    library = Path(spec.origin).parent / "lib" / "libtorch_cpu.so"
    try:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        _LOG.warning("BLAS of PyTorch not usable (%s): MLX runs on the reference BLAS of its wheel, about 8 times slower", error)
        return "wheel"
    return f"torch {_version('torch')}"


def _chip(core: ModuleType, device: str) -> str:
    if device == "gpu":
        return str(core.device_info().get("device_name", "unknown"))
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
