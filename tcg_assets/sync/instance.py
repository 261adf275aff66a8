"""Dagster's instance of a data home: its configuration from the template, its pool limits, and how it is opened."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import yaml  # type: ignore[import-untyped]

from tcg_assets.assets.wiring import POOLS
from tcg_assets.dagster_private import UNCAPTURED, InstanceRef
from tcg_assets.sync.mirror import mirror_days
from tcg_core.base.atomic import write_bytes
from tcg_core.base.errors import HomeError
from tcg_core.base.home import Home
from tcg_core.base.lock import hold

TEMPLATE = Path(__file__).resolve().parents[2] / "dagster.yaml"
_HEADER = "# Written from the project's dagster.yaml by tcg_assets/sync/instance.py: edit that one.\n"
#: Making the storage anew takes seconds; a machine under load needs more.
_SETUP_SECONDS = 300.0


def write_home(home: Home) -> Path:
    """Writes `dagster.yaml` with absolute paths below the data home, sets the pool limits, mirrors the catalog's days.

    Returns what DAGSTER_HOME must be.

    For the project's own `data/` these are the very files that the template names from the project's root. Raises
    :class:`HomeError` when the directory cannot be written.
    """
    config = configuration(home)
    try:
        home.dagster.mkdir(parents=True, exist_ok=True)
        text = (_HEADER + yaml.safe_dump(config, sort_keys=False)).encode()
        target = home.dagster / "dagster.yaml"
        if not target.is_file() or target.read_bytes() != text:
            write_bytes(target, text)
    except OSError as error:
        raise HomeError(f"{home.dagster} cannot be written: {error.strerror or error}") from None
    # Two processes that make the same new storage, as both services do at their first start, would leave one whose migration
    # table nobody can read.
    with hold(home.dagster / "setup.lock", "setup", wait=_SETUP_SECONDS, refused=HomeError), _opened(home, {}) as instance:
        set_pool_limits(instance)
        mirror_days(instance, home)
    return home.dagster


def configuration(home: Home) -> dict[str, Any]:
    """The template's configuration with this home's absolute paths."""
    config: dict[str, Any] = yaml.safe_load(TEMPLATE.read_text())
    config["storage"]["sqlite"]["base_dir"] = str(home.dagster / "storage")
    config["local_artifact_storage"]["config"]["base_dir"] = str(home.dagster)
    config["compute_logs"]["config"]["base_dir"] = str(home.dagster / "compute_logs")
    return config


def set_pool_limits(instance: dg.DagsterInstance) -> None:
    """The limit of each pool, explicitly: a default limit alone is not applied to a pool seen for the first time."""
    for pool, limit in POOLS.items():
        instance.event_log_storage.set_concurrency_slots(pool, limit)


@contextmanager
def open_instance(home: Home, captured: bool = False) -> Iterator[dg.DagsterInstance]:
    """The instance of a home, written first if need be; ``captured``: keep stdout and stderr of steps in files.

    A process that shows its own progress keeps its terminal instead.
    """
    write_home(home)
    with _opened(home, {} if captured else UNCAPTURED) as instance:
        yield instance


@contextmanager
def _opened(home: Home, overrides: dict[str, Any]) -> Iterator[dg.DagsterInstance]:
    # Each run has a database of its own, and alembic would announce every one.
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(home.dagster), overrides=overrides)) as instance:
        yield instance
