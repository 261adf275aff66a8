"""The phases of a curriculum, trained here one after the other."""

import logging
from collections.abc import Iterator

from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.plan.curriculum import Curriculum, planned_phases, require_phase
from tcg_core.train.run import train
from tcg_core.train.stop import Stop

LOG = logging.getLogger("tcg")


def run_curriculum(
    home: Home,
    curriculum: Curriculum,
    device: str = "auto",
    allow_inexact: bool = False,
    again: bool = False,
    stop: Stop | None = None,
) -> Iterator[Built]:
    """Executes the phases in order, yielding each finished run. again: make the plans anew instead of those begun before; stop:
    when to end before the end, of all phases together.

    Raises :class:`~tcg_core.plan.errors.CurriculumStopped` naming the phase whose plan or run does not pass its checks, and what
    planning and training raise; started again it continues where it stood.
    """
    for phase in planned_phases(home, curriculum, again=again):
        LOG.info("%s: run %s", phase.title, phase.plan.id)
        built = train(home, phase.plan.id, device, allow_inexact=allow_inexact, stop=stop)
        require_phase(built, phase.title)
        yield built
