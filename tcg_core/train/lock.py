"""One trainer a home: the lock that trainer and clean-up take."""

from contextlib import AbstractContextManager

from tcg_core.base.home import Home
from tcg_core.base.lock import hold
from tcg_core.train.errors import TrainerBusy


def trainer_lock(home: Home, what: str) -> AbstractContextManager[None]:
    """Holds ``home.trainer_lock``; raises :class:`TrainerBusy` naming who holds it already."""
    return hold(home.trainer_lock, what, refused=TrainerBusy, rule="one trainer a home; wait for it or end it")
