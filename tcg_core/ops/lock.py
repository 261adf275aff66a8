"""Backup and clean-up exclude each other: what one copies the other must not remove."""

from contextlib import AbstractContextManager
from pathlib import Path

from tcg_core.base.lock import hold
from tcg_core.ops.errors import OpsBusy

NAME = "ops.lock"


def ops_lock(root: Path, what: str) -> AbstractContextManager[None]:
    """Holds ``root/ops.lock`` for a backup, restore or clean-up; raises :class:`OpsBusy` naming who holds it already."""
    return hold(root / NAME, what, refused=OpsBusy, rule="one backup, restore or clean-up at a time")
