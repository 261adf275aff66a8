"""`tcg demo`: three days of real games, then the whole graph, with the history that the UI shows.

Safe to run twice (what is unchanged is reused by its id) and to interrupt (what a killed run left is repaired first).
"""

import logging
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from tcg_core.base.home import Home
from tcg_core.base.lock import hold
from tcg_core.model.config import ModelConfig
from tcg_core.recipe import Optimizer, Recipe, Schedule, Selection, Split, Work

if TYPE_CHECKING:
    from tcg_assets.automation.launch import Launched

DAYS = ("2026-08-01", "2026-08-02", "2026-08-03")
EPISODES = 80
AGENTS = ("heuristic", "heuristic")
#: Small enough for two CPU cores, large enough to beat `random` clearly; its size is configuration.
RECIPE = Recipe(
    selection=Selection(days=DAYS),
    split=Split(val_frac=0.1),
    work=Work(tbptt_chunk=8, batch_size=256, val_batch_size=1024),
    model=ModelConfig(d_model=64, heads=4, layers=2, ff=128, registers=8),
    optimizer=Optimizer(lr=2e-3),
    schedule=Schedule(warmup_steps=30, lr_min_ratio=0.1),
    epochs=5,
)
OPPONENTS = ("random", "first", "heuristic")
GAMES = 100
#: Exit status of a demo of which a step failed.
FAILED = 1
LOG = logging.getLogger("tcg.demo")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(demo)


def demo() -> None:
    """Records 3 days of real games and materializes the whole graph on them; safe to run twice and to interrupt."""
    home = Home.resolve().prepare()
    with hold(home.root / "demo.lock", "demo", rule="another demo is at work in this data home; let it end first"):
        if not run_demo(home):
            raise typer.Exit(FAILED)


def run_demo(home: Home) -> bool:
    """Records, ingests, trains, converts, packs and plays; prints the summary; True if everything succeeded."""
    from tcg_assets.automation.launch import run_chain, run_day
    from tcg_assets.sync.instance import open_instance
    from tcg_assets.sync.reconcile import reconcile
    from tcg_core.ops.doctor import before_work
    from tcg_core.replay.record_day import record_day

    started = time.monotonic()
    for finding in before_work():
        LOG.warning("%s: %s; %s", finding.what, finding.found, finding.remedy)
    with open_instance(home) as instance:
        repaired = reconcile(instance, home)
        for run in repaired.runs:
            LOG.info("run %s of %s is closed: %s", run.run_id[:8], run.job, run.reason)
        for path in repaired.temporaries:
            LOG.info("removed a dead process's %s", path.name)
        launched = []
        for day in DAYS:
            record_day(home, day, EPISODES, AGENTS, generation="v1", best_of=1, seed=13)
            launched.append(_said(run_day(instance, home, day), day))
        if all(launch.success for launch in launched):
            launched.append(_said(run_chain(instance, home, RECIPE, opponents=OPPONENTS, games=GAMES), "nightly"))
    if not all(launch.success for launch in launched):
        return False
    print(summary(home, launched[-1], time.monotonic() - started))
    return True


def summary(home: Home, chain: "Launched", seconds: float) -> str:
    """What the demo made, in words and figures, and where to look."""
    from tcg_core.catalog.days import list_days
    from tcg_core.catalog.registry import find

    checkpoint, artifact, submission, games = (
        chain.made[name] for name in ("mlx_checkpoint", "torch_artifact", "submission", "tournament")
    )
    days = [row for row in list_days(home) if row["day"] in DAYS]
    archive = find(home, "submission", str(submission["id"])) / "submission.tar.gz"
    lines = [
        "",
        f"From day to submission in {seconds:.0f} s",
        f"  days                 {len(days)} validated: {', '.join(str(row['day']) for row in days)}",
        f"  episodes, rows       {sum(int(row['episodes']) for row in days)}, {sum(int(row['rows']) for row in days)}",
        f"  validation accuracy  {_figure(checkpoint, 'val_acc')}",
        f"    unforced decisions {_figure(checkpoint, 'val_acc_unforced')}; "
        f"the most frequent option rank gets {_figure(checkpoint, 'baseline_acc_unforced')}",
        f"  parity               {_figure(artifact, 'parity', '.1e')} largest difference, MLX to PyTorch",
        *_results(games),
        f"  submission           {submission['id']}  {archive}",
        "",
        "Look around:",
        "  make ui                        the asset graph, checks, plots and lineage at http://127.0.0.1:3000",
        "  .venv/bin/tcg lineage          from this submission back to its days, every hash verified",
        "  .venv/bin/tcg status           days and artifacts",
        f"  {find(home, 'tournament', str(games['id'])) / 'report.html'}",
    ]
    return "\n".join(lines)


def _results(games: Any) -> Iterator[str]:
    for opponent, result in dict(games["results"]).items():
        counts = f"  against {opponent}: {result['wins']} won, {result['draws']} drawn, {result['losses']} lost"
        if result.get("score") is None:
            yield f"{counts}: no clean game, no score"
        else:
            yield f"{counts}: score {result['score']:.3f}, 95 % interval {result['low']:.3f} to {result['high']:.3f}"


def _figure(made: Any, name: str, form: str = ".3f") -> str:
    value = made.get(name)
    return format(value, form) if isinstance(value, int | float) else str(value)


def _said(launch: "Launched", what: str) -> "Launched":
    if launch.skipped:
        LOG.info("%s: nothing to do, %s", what, launch.skipped)
    for failure in launch.failures:
        print(f"tcg: {what}: {failure}", file=sys.stderr)
    return launch
