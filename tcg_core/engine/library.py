"""Finds and loads the cabt engine, one shared library for each generation, out of the installed ``kaggle-environments`` wheel.

The wheel is never imported here (its import runs every environment's own); only its files are used.
"""

import ctypes
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tcg_core.base.errors import ConfigError
from tcg_core.engine.errors import EngineBroken, EngineMissing

__all__ = [
    "GENERATIONS",
    "PACKAGE",
    "PACKAGE_VERSION",
    "REMEDY",
    "EngineBroken",
    "EngineMissing",
    "EngineVersion",
    "check_generation",
    "engine_directory",
    "engine_version",
    "library_path",
    "load_library",
]

GENERATIONS = ("v1", "v2")
PACKAGE, PACKAGE_VERSION = "kaggle-environments", "1.33.2"
REMEDY = (
    f"run `make engine`, which is `pip install --no-deps -r requirements-engine.txt` ({PACKAGE}=={PACKAGE_VERSION}; "
    "its declared dependencies are not needed)"
)
# The wheel's cg/v1 is byte for byte the engine that 1.32.7 shipped as its only one; replays of that season say 1.32.7.
_SEASON_SHA256, _SEASON_VERSION = "d16244a3", "1.32.7"


class StartData(ctypes.Structure):
    """Answer of BattleStart: the battle (NULL when refused), the seat refused (-1: none) and the reason's number."""

    _fields_ = [("battle", ctypes.c_void_p), ("error_player", ctypes.c_int), ("error_type", ctypes.c_int)]


class SerialData(ctypes.Structure):
    """Answer of GetBattleData: the deciding seat's view as JSON, the ``count`` bytes of ``search_begin_input``, the seat."""

    _fields_ = [
        ("json", ctypes.c_char_p),
        ("data", ctypes.POINTER(ctypes.c_ubyte)),
        ("count", ctypes.c_int),
        ("select_player", ctypes.c_int),
    ]


@dataclass(frozen=True)
class EngineVersion:
    """Which engine this is: what a replay and a manifest record. ``package_version`` goes into ``module_version``."""

    generation: str
    package_version: str
    library_sha256: str


def check_generation(generation: str) -> str:
    """Returns ``generation`` if it is one of :data:`GENERATIONS`; raises :class:`ConfigError` otherwise."""
    if generation not in GENERATIONS:
        raise ConfigError(f"engine generation {generation!r}: expected one of {', '.join(GENERATIONS)}")
    return generation


def engine_directory() -> Path:
    """The ``cabt`` folder of the installed wheel. Raises :class:`EngineMissing` with the remedy."""
    spec = importlib.util.find_spec("kaggle_environments")
    if spec is None or not spec.submodule_search_locations:
        raise EngineMissing(f"the engine is not installed: {REMEDY}")
    directory = Path(spec.submodule_search_locations[0]) / "envs" / "cabt"
    if not (directory / "cg").is_dir():
        raise EngineMissing(f"the installed {PACKAGE} has no cabt engine at {directory}: {REMEDY}")
    return directory


def library_path(generation: str) -> Path:
    """The shared library of ``generation`` for this platform. Raises :class:`EngineMissing` naming the file."""
    folder = engine_directory() / "cg" / ("v1" if check_generation(generation) == "v1" else ".")
    if platform.system() == "Darwin":
        name = "libcg.dylib"
    else:
        name = "libcg-arm64.so" if platform.machine() in ("arm64", "aarch64") else "libcg.so"
    path = (folder / name).resolve()
    if not path.is_file():
        raise EngineMissing(f"engine {generation}: no {path}: {REMEDY}")
    return path


@functools.cache
def engine_version(generation: str) -> EngineVersion:
    """Package version and library hash of ``generation``; nothing is loaded."""
    digest = hashlib.sha256(library_path(generation).read_bytes()).hexdigest()
    version = importlib.metadata.version(PACKAGE)
    if generation == "v1" and digest.startswith(_SEASON_SHA256):
        version = _SEASON_VERSION
    return EngineVersion(generation, version, digest)


_lock = threading.Lock()
_loaded: dict[str, ctypes.CDLL] = {}
_loading: set[str] = set()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


# A fork may happen while another thread holds the lock; that thread does not exist in the child.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def load_library(generation: str) -> ctypes.CDLL:
    """The engine of ``generation``, initialised exactly once in this process; safe to call from any thread and after a fork.

    A second ``GameInitialize`` of one library aborts the process (its card tables overflow). We therefore load a private
    copy, so that ``kaggle_environments`` in the same process, which initialises its own, neither breaks ours nor is
    broken by it. Raises :class:`EngineMissing` or :class:`EngineBroken`.
    """
    check_generation(generation)
    with _lock:
        if generation not in _loaded:
            if generation in _loading:
                raise EngineBroken(f"engine {generation}: this process was forked while the library was being initialised")
            library = _open_private(library_path(generation))
            _declare(library)
            _loading.add(generation)
            library.GameInitialize()
            _loaded[generation] = library
        return _loaded[generation]


def _open_private(path: Path) -> ctypes.CDLL:
    with _copied(path) as copy:
        try:
            return ctypes.CDLL(copy)
        except OSError as error:
            raise EngineBroken(f"engine library {path} does not load here: {error}") from None


@contextmanager
def _copied(path: Path) -> Iterator[str]:
    if hasattr(os, "memfd_create"):
        # The descriptor stays open: the loader knows libraries by name, and a reused number would name another library.
        handle = os.memfd_create(path.name)
        with open(handle, "wb", closefd=False) as file:
            file.write(path.read_bytes())
        yield f"/proc/self/fd/{handle}"
        return
    with tempfile.TemporaryDirectory(prefix="tcg-engine-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(path.read_bytes())
        yield str(copy)


def _declare(library: ctypes.CDLL) -> None:
    ints = ctypes.POINTER(ctypes.c_int)
    for name in ("BattleStart", "BattleStartReverse"):
        if hasattr(library, name):
            function = getattr(library, name)
            function.restype, function.argtypes = StartData, [ints]
    library.GetBattleData.restype, library.GetBattleData.argtypes = SerialData, [ctypes.c_void_p]
    library.Select.restype, library.Select.argtypes = ctypes.c_int, [ctypes.c_void_p, ints, ctypes.c_int]
    library.VisualizeData.restype, library.VisualizeData.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
    library.BattleFinish.restype, library.BattleFinish.argtypes = None, [ctypes.c_void_p]
    library.GameInitialize.restype, library.GameInitialize.argtypes = None, []
    for name in ("AllCard", "AllAttack"):
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_char_p, []
