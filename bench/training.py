"""Throughput of plan and training loop on games recorded here: `python -m bench.training [--episodes 60] [--updates 12]`.

Prints one JSON object: rows a second of CPU and of wall time, where the time of an update goes (data prepared in the
main thread here, gradient, optimizer), padding, peak MLX memory, for the demo's network and for the baseline.
"""

import argparse
import itertools
import json
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tcg_core.model.config import ModelConfig
from tcg_core.recipe import Recipe, Selection, Work

DAY = "2026-08-01"
NETWORKS = {
    "demo 64/4/2/128/8": ModelConfig(d_model=64, heads=4, layers=2, ff=128, registers=8),
    "baseline 128/4/3/512/16": ModelConfig(),
}


def main() -> None:
    """Records, plans, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--updates", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=256)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measure(Path(directory), options.episodes, options.updates, options.batch_size), indent=2))


def measure(root: Path, episodes: int, updates: int, batch_size: int) -> dict[str, Any]:
    """Figures by network."""
    from tcg_core.dataset.build import build_day
    from tcg_core.dataset.card_features import card_features, load_cards
    from tcg_core.dataset.promote import promote_day
    from tcg_core.dataset.take import take_archive
    from tcg_core.engine.cards import load_attacks
    from tcg_core.engine.cards import load_cards as engine_cards
    from tcg_core.home import Home
    from tcg_core.plan.build import build_plan
    from tcg_core.plan.load import load_plan
    from tcg_core.replay.record_day import record_day

    home = Home(root).prepare()
    record_day(home, DAY, episodes)
    take_archive(home, DAY)
    build_day(home, DAY)
    promote_day(home, DAY)
    card_features(home, {"v1": engine_cards("v1")}, {"v1": load_attacks("v1")})
    found: dict[str, Any] = {}
    for name, network in NETWORKS.items():
        work = Work(tbptt_chunk=8, batch_size=batch_size)
        recipe = replace(Recipe(Selection(days=(DAY,)), work=work, epochs=1), model=network)
        plan = load_plan(home, build_plan(home, recipe).id)
        found[name] = {"rows": plan.rows["train"]} | _loop(home, plan, load_cards(home, plan.cards_id), updates)
    return found


def _loop(home: Any, plan: Any, cards: Any, updates: int) -> dict[str, Any]:
    from tcg_core.model.bootstrap import facts, mlx
    from tcg_core.train.loss import Normalizer
    from tcg_core.train.optimizer import clip, update
    from tcg_core.train.session import open_session
    from tcg_core.train.step import flat

    session = open_session(home, plan, cards, "cpu", False)
    stepper, core = session.stepper, mlx().core
    seconds = {"data": 0.0, "gradient": 0.0, "optimizer": 0.0}
    rows = padded = real = 0
    memories: dict[int, Any] = {}
    cpu = wall = 0.0
    for index in range(min(updates + 1, plan.count(0))):
        if index == 1:  # the first warms up
            seconds, rows, padded, real = dict.fromkeys(seconds, 0.0), 0, 0, 0
            cpu, wall = time.process_time(), time.perf_counter()
        marks = [time.perf_counter()]
        prepared = session.prepare_train(index)
        marks.append(time.perf_counter())
        gradients, _ = stepper._accumulate(prepared, Normalizer(prepared.n_rows, prepared.n_valid), memories)
        marks.append(time.perf_counter())
        clipped, _ = clip(gradients, plan.recipe.optimizer.max_grad_norm)
        parameters = flat(stepper.net.parameters())
        fresh, stepper.state = update(parameters, clipped, stepper.state, stepper.routes, plan.recipe.optimizer, 1e-4, index + 1)
        core.eval(fresh, stepper.state)
        stepper.net.update(mlx().utils.tree_unflatten(list(fresh.items())))
        marks.append(time.perf_counter())
        for part, (start, end) in zip(seconds, itertools.pairwise(marks), strict=True):
            seconds[part] += end - start
        rows += prepared.n_rows
        padded += prepared.padded_tokens
        real += prepared.real_tokens
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    total = sum(seconds.values())
    return {
        "network": asdict(plan.recipe.model),
        "rows_per_cpu_second": round(rows / cpu, 1),
        "rows_per_second": round(rows / wall, 1),
        "share_pct": {part: round(100 * value / total, 1) for part, value in seconds.items()},
        "padded_over_real_tokens": round(padded / real, 2),
        "peak_mlx_mib": round(core.get_peak_memory() / 2**20),
        "environment": facts(),
    }


if __name__ == "__main__":
    main()
