"""The reference lane: the same game through ``kaggle_environments.make("cabt")``, about 30 times slower than our own.

Used to prove that recorded replays are what Kaggle writes. One episode at a time in a process: the wheel's interpreter
keeps its battle in a module global.
"""

import contextlib
import copy
import io
from collections.abc import Callable, Sequence
from typing import Any

from tcg_core.engine.errors import EngineMissing
from tcg_core.engine.library import REMEDY, check_generation, engine_directory

_VERSION = {"v1": 1, "v2": 2}


def reference_episode(
    agents: Sequence[Callable[[dict[str, Any]], list[int]]], generation: str, best_of: int = 1
) -> dict[str, Any]:
    """Plays one episode of two agents through ``env.run`` and returns ``env.toJSON()``.

    In generation v1 the wheel (1.33.2) still writes ``bo``, ``version``, ``win``, ``draw`` and ``round``, which 1.32.7,
    whose engine that is, did not. Raises :class:`EngineMissing` where the wheel or one of its two imports is missing.
    """
    check_generation(generation)
    engine_directory()
    make = _import_make()
    environment = make("cabt", configuration={"bo": best_of, "version": _VERSION[generation]})
    environment.run([_plain(agent) for agent in agents])
    replay: dict[str, Any] = environment.toJSON()
    return replay


def _import_make() -> Callable[..., Any]:
    try:
        # Importing runs every environment of the wheel; those that want more packages say so on stdout.
        with contextlib.redirect_stdout(io.StringIO()):
            from kaggle_environments import make
    except ImportError as error:
        raise EngineMissing(
            f"the reference lane cannot be imported ({error}): it wants jsonschema and requests; {REMEDY}"
        ) from None
    found: Callable[..., Any] = make
    return found


def _plain(agent: Callable[[dict[str, Any]], list[int]]) -> Callable[[dict[str, Any]], list[int]]:
    def act(observation: dict[str, Any]) -> list[int]:
        return agent(copy.deepcopy(dict(observation)))

    return act
