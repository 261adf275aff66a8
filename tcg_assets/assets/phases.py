"""A curriculum within one run: the phases before the last are trained where the plan of the last is made."""

from collections.abc import Callable

import dagster as dg

from tcg_assets.pages.outcome import Ran
from tcg_core.base.built import Built
from tcg_core.base.home import Home
from tcg_core.plan.curriculum import Curriculum

#: (asset, its kind in the registry) of what a phase leaves behind.
_MADE = (("work_plan", "work_plan"), ("mlx_checkpoint", "checkpoint"))


def last_plan(
    context: dg.AssetExecutionContext, home: Home, curriculum: Curriculum, cards_id: str, train: Callable[[str], Ran]
) -> tuple[Built, list[str]]:
    """The plan of the last phase, and one line for each phase; ``train`` trains a plan by its id.

    A phase that is done is reused as it is, one that was begun goes on. Each phase trained here is shown on the pages of its
    assets. Raises :class:`~tcg_core.plan.errors.CurriculumStopped` and what planning and training raise.
    """
    from tcg_core.plan.curriculum import planned_phases, require_phase

    told: list[str] = []
    for phase in planned_phases(home, curriculum, cards_id):
        context.log.info(f"{phase.title}: run {phase.plan.id}")
        if phase.last:
            return phase.plan, [*told, f"{phase.title}: run {phase.plan.id}"]
        ran = train(phase.plan.id)
        require_phase(ran.built, phase.title)
        told.append(f"{phase.title}: run {phase.plan.id}, {'done before' if ran.built.reused else f'{ran.seconds:.0f} s'}")
        if not ran.built.reused:
            _show(context.instance, home, phase.plan.id)
    raise AssertionError("a curriculum has a last phase")


def _show(instance: dg.DagsterInstance, home: Home, run: str) -> None:
    from tcg_assets.sync.held import Held
    from tcg_assets.sync.report import report
    from tcg_core.catalog.registry import rows_of

    for asset, kind in _MADE:
        for row in rows_of(home, kind):
            if row.id == run:
                report(Held(instance), home, asset, row, row.content)
