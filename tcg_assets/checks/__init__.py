"""Checks by asset, declared as literal names; the functions that decide them are pure and live in the core.

An ERROR check blocks what comes after in the same run; a WARN check is shown.
"""

from collections.abc import Sequence

import dagster as dg

from tcg_assets.checks import days, evaluation, release, training
from tcg_assets.checks.declared import Declared

DECLARED: dict[str, Declared] = days.DECLARED | training.DECLARED | release.DECLARED | evaluation.DECLARED


def specs(*assets: str) -> Sequence[dg.AssetCheckSpec]:
    """Check specs of the named assets."""
    return [
        dg.AssetCheckSpec(name, asset=asset, blocking=blocking, description=meaning)
        for asset in assets
        for blocking, meanings in ((True, DECLARED[asset].error), (False, DECLARED[asset].warn))
        for name, meaning in meanings.items()
    ]


def severity_of(asset: str) -> dict[str, str]:
    """Declared severity of each check of an asset."""
    return dict.fromkeys(DECLARED[asset].error, "ERROR") | dict.fromkeys(DECLARED[asset].warn, "WARN")
