"""What a night trains: the mode that applies, its recipe, and both in one line for people.

The line always says which it is: a fine-tune of the champion, fresh weights because a baseline is champion or because it was
trained on rows of another encoder, or a retrain on all days. A champion whose run cannot be resumed is refused.
"""

from dataclasses import dataclass, replace
from datetime import date

from tcg_core.base.home import Home
from tcg_core.nightly.settings import Mode, Nightly
from tcg_core.plan.champion import other_rows, reigning, require_fit
from tcg_core.recipe import Recipe, Resume


@dataclass(frozen=True)
class Tonight:
    """The mode that applies (not always the one configured), the recipe, and why, in one line."""

    mode: Mode
    recipe: Recipe
    line: str


def tonight(home: Home, nightly: Nightly, night: date) -> Tonight:
    """What the night that begins on ``night`` trains.

    Raises :class:`~tcg_core.plan.errors.ChampionRefused` if it should continue from the champion and cannot.
    """
    mode = nightly.mode_of(night)
    if mode == "full":
        why = "mode is full" if nightly.mode == "full" else f"{night:%A} is the night of the full retrain"
        return Tonight(mode, _full(nightly.recipe), f"full: fresh weights over all validated days: {why}")
    return of_mode(home, nightly, mode)


def of_mode(home: Home, nightly: Nightly, mode: Mode) -> Tonight:
    """What a night of ``mode`` would train, whatever its date.

    Raises :class:`~tcg_core.plan.errors.ChampionRefused` if it should continue from the champion and cannot.
    """
    if mode == "full":
        return Tonight(mode, _full(nightly.recipe), "full: fresh weights over all validated days: asked for")
    if mode == "fresh":
        return Tonight(mode, nightly.recipe, f"fresh: fresh weights over {_days(nightly.recipe)}: mode is fresh")
    of = reigning(home)
    why = of.why if not of.run else other_rows(home, of)
    if why:
        return Tonight("fresh", nightly.recipe, f"fresh: fresh weights over {_days(nightly.recipe)}: {why}")
    recipe = finetuned(nightly, of.run, of.checkpoint)
    require_fit(home, recipe, of)
    return Tonight(
        mode,
        recipe,
        f"finetune: goes on from run {of.run} ({of.checkpoint}) of champion {of.submission}, on the validated days it has not "
        f"seen, with {nightly.finetune.replay:g} times their rows of older ones",
    )


def finetuned(nightly: Nightly, run: str, checkpoint: str) -> Recipe:
    """The nightly recipe, resuming a checkpoint of ``run``: the filters stay; the days are those that the run has not seen."""
    base, settings = nightly.recipe, nightly.finetune
    return replace(
        base,
        selection=replace(base.selection, days=(), last_n_days=0, all_days=True, unseen_by=run, replay=settings.replay),
        optimizer=replace(base.optimizer, lr=settings.lr),
        # A configured horizon is meant for a run from fresh weights.
        schedule=replace(base.schedule, total_steps=0),
        epochs=settings.epochs,
        resume=Resume(run, checkpoint, settings.optimizer_state, settings.scheduler_state),
    )


def _full(recipe: Recipe) -> Recipe:
    return replace(recipe, selection=replace(recipe.selection, days=(), last_n_days=0, all_days=True))


def _days(recipe: Recipe) -> str:
    chosen = recipe.selection
    if chosen.last_n_days:
        return f"the last {chosen.last_n_days} validated days"
    return f"days {', '.join(chosen.days)}" if chosen.days else "all validated days"
