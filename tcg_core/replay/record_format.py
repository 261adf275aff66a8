"""The fixed parts of Kaggle's replay layout for both engine generations, as kaggle-environments writes them.

v1 is the layout of 1.32.7 (best of one, no ``bo`` and ``version``), v2 that of 1.33.2.
"""

import uuid
from collections.abc import Sequence
from typing import Any

from tcg_core.base.errors import ConfigError
from tcg_core.engine.library import check_generation, engine_version

OVERAGE_SECONDS = 600
"""Clock of each seat, for each game anew."""

_EPISODE_STEPS, _ACT_TIMEOUT = 10_000_000, 0
_RUN_TIMEOUT = {"v1": 2000, "v2": 6000}
_VERSION = {"v1": 1, "v2": 2}
# Replay ids are UUIDs on Kaggle; ours name the episode, so that the same episode always has the same.
_NAMESPACE = uuid.UUID("6b0f2c1e-9a53-5d0e-8a77-2f5f0f6f7a11")


def check_best_of(generation: str, best_of: int) -> int:
    """Returns ``best_of`` if ``generation`` plays it: v1 only 1, v2 any odd number. Raises :class:`ConfigError`."""
    if check_generation(generation) == "v1" and best_of != 1:
        raise ConfigError(f"best_of {best_of}: engine v1 always plays best of 1")
    if best_of < 1 or best_of % 2 == 0:
        raise ConfigError(f"best_of {best_of}: expected an odd number of games, as 1 or 3")
    return best_of


def configuration(generation: str, best_of: int) -> dict[str, Any]:
    """The ``configuration`` of a replay."""
    common = {"episodeSteps": _EPISODE_STEPS, "actTimeout": _ACT_TIMEOUT, "runTimeout": _RUN_TIMEOUT[generation]}
    return common if generation == "v1" else {"bo": best_of, **common, "version": _VERSION[generation]}


def header(generation: str, best_of: int, episode_id: int) -> dict[str, Any]:
    """Everything that stands before ``steps``."""
    return {
        "id": str(uuid.uuid5(_NAMESPACE, str(episode_id))),
        "name": "cabt",
        "title": "Card Battle",
        "description": "Limited Card Battle.",
        "version": "1.0.0",
        "module_version": engine_version(generation).package_version,
        "configuration": configuration(generation, best_of),
        "specification": _specification(generation),
    }


def info(names: Sequence[str], episode_id: int) -> dict[str, Any]:
    """Who played, as Kaggle adds it to what the environment writes."""
    return {"EpisodeId": episode_id, "TeamNames": list(names), "Agents": [{"Name": name} for name in names]}


def _specification(generation: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "episodeSteps": {
            "description": "Maximum number of steps in the episode.",
            "type": "integer",
            "minimum": 1,
            "default": _EPISODE_STEPS,
        },
        "actTimeout": {
            "description": "Maximum runtime (seconds) to obtain an action from an agent.",
            "type": "number",
            "minimum": 0,
            "default": _ACT_TIMEOUT,
        },
        "runTimeout": {
            "description": "Maximum runtime (seconds) of an episode (not necessarily DONE).",
            "type": "number",
            "minimum": 0,
            "default": _RUN_TIMEOUT[generation],
        },
    }
    if generation == "v2":
        fields["bo"] = {
            "description": "The 'Best of' format (1 for BO1, 3 for BO3, etc.)",
            "type": "integer",
            "default": 3,
            "minimum": 1,
        }
        fields["version"] = {
            "description": "Engine version. 1 is the legacy engine and always plays BO1.",
            "type": "integer",
            "default": 2,
            "enum": [1, 2],
        }
    action = "array" if generation == "v1" else ["array", "object"]
    return {
        "action": {"description": "List of option index.", "type": action, "default": []},
        "agents": [2],
        "configuration": fields,
        "info": {},
        "observation": {
            "remainingOverageTime": {
                "description": "Total remaining banked time (seconds) that can be used in excess of per-step actTimeouts "
                "-- agent is disqualified with TIMEOUT status when this drops below 0.",
                "shared": False,
                "type": "number",
                "minimum": 0,
                "default": OVERAGE_SECONDS,
            },
            "step": {
                "description": "Current step within the episode.",
                "type": "integer",
                "shared": True,
                "minimum": 0,
                "default": 0,
            },
        },
        "reward": {
            "description": "Lost:-1, Won:1, Draw:0",
            "enum": [-1, 0, 1],
            "default": 0,
            "type": ["number", "null"],
        },
    }
