"""What every asset carries: owner, group, kinds, tags, checks, code version."""

from collections.abc import Iterable
from typing import Any

import dagster as dg

from tcg_assets.checks import specs
from tcg_core.base.code import code_version

OWNERS = ("team:tcg",)
#: One pool for the whole chain from plan to tournament; its limit is set at set-up (tcg_assets.sync.instance).
CHAIN_POOL = "trainer"
#: Days that are built at once, each by worker processes of its own: by the queue, the UI and command lines together.
DAY_POOL = "day_builds"
#: Steps at a time of each pool.
POOLS = {CHAIN_POOL: 1, DAY_POOL: 2}


def described(name: str, group: str, kinds: Iterable[str], artifact: str) -> dict[str, Any]:
    """Keywords of an asset or its spec; ``artifact`` is the directory of the data home that holds it."""
    return {
        "group_name": group,
        "kinds": set(kinds),
        "owners": list(OWNERS),
        "tags": {"tcg/artifact": artifact},
        "code_version": code_version(name),
    }


def day_spec(name: str, kinds: Iterable[str], artifact: str, deps: Iterable[str], description: str) -> dg.AssetSpec:
    """Spec of a day asset that shares its step with another."""
    return dg.AssetSpec(name, deps=list(deps), description=description, **described(name, "days", kinds, artifact))


def chain(name: str, group: str, kinds: Iterable[str], artifact: str, deps: Iterable[str]) -> dict[str, Any]:
    """Keywords of an asset of the training chain: it waits for the pool and carries its checks."""
    return described(name, group, kinds, artifact) | {"deps": list(deps), "check_specs": specs(name), "pool": CHAIN_POOL}
