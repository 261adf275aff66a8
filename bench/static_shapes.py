"""What padding to a few static shapes costs, by how many they are, and what compiling gains on a CPU (for the record).

    python bench/static_shapes.py [--archive FILE.zip] [--episodes 220] [--compile]

Long real games are recorded (or taken from ``--archive``) and planned for three epochs. Padded tokens for each real one: of
the static shapes that a GPU is given, and of the groups computed together where nothing is compiled. ``--compile`` times a
small network's step; the first compilation starts the C++ compiler for each kernel.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import tempfile
import time
from pathlib import Path

from bench.measure import machine
from bench.recorded import record
from tcg_core.base.home import Home
from tcg_core.base.table import text_table
from tcg_core.cards.features import card_features
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.engine.cards import load_attacks
from tcg_core.engine.cards import load_cards as engine_cards
from tcg_core.model.bootstrap import mlx
from tcg_core.model.config import ModelConfig
from tcg_core.plan.build import build_plan
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Plan
from tcg_core.recipe import Recipe, Selection, Split, Work
from tcg_core.train.compiled.loss import shapes as static_shapes
from tcg_core.train.compiled.plan import choose_shapes
from tcg_core.train.data import open_cards, open_days, open_source
from tcg_core.train.loss import Normalizer
from tcg_core.train.prepare import prepare
from tcg_core.train.session import open_session
from tcg_core.train.shapes import Cost, cpu_cost, gpu_cost

DAY, SIZES, SHAPES, FIXED = "2026-09-01", (1024, 256), (1, 2, 4, 6, 8, 12), 20
SMALL = ModelConfig(d_model=32, heads=2, layers=2, ff=64, registers=4)


def planned(home: Home, size: int, model: ModelConfig) -> Plan:
    """A plan of three epochs with microbatches of ``size`` rows."""
    work = Work(batch_size=size, val_batch_size=size)
    recipe = Recipe(Selection(all_days=True), split=Split(val_frac=0.1), work=work, model=model, epochs=3)
    return load_plan(home, build_plan(home, recipe).id)


def grouped(home: Home, plan: Plan, cost: Cost) -> float:
    """Padded tokens for each real one of the first epoch where every step is cut by ``cost``."""
    source, cards = open_source(plan, open_days(home, plan.days), 1 << 30), open_cards(home, plan)
    real = padded = 0
    for batch in plan.microbatches(0):
        made = prepare(plan, batch, source, cards, cost)
        real += made.real_tokens + cost.fixed_tokens * made.n_rows
        padded += made.padded_tokens + cost.fixed_tokens * made.n_rows
    return padded / real


def table(home: Home) -> None:
    """One line a number of shapes and microbatch size."""
    for size in SIZES:
        plan = planned(home, size, ModelConfig())
        readers = open_days(home, plan.days)
        began = time.process_time()
        rows = {most: choose_shapes(plan, readers, FIXED, most) for most in SHAPES}
        seconds = (time.process_time() - began) / len(SHAPES)
        print(f"\nmicrobatches of {size} rows: {plan.count(0)} an epoch; choosing takes {seconds:.2f} s of CPU")
        lines = []
        for most, found in rows.items():
            ratios = {side: shapes.padded / shapes.real for side, shapes in found.sides.items()}
            groups = max(len(shape.rows) for shape in found.sides["train"].merged.shapes)
            lines.append([most, found.compilations, groups, f"{ratios['train']:.2f}", f"{ratios['validation']:.2f}"])
        print("\n".join(text_table(["shapes", "compilations", "groups a step", "padded, train", "validation"], lines)))
        kept, static_shapes.CALL_TOKENS = static_shapes.CALL_TOKENS, 1e9
        one = choose_shapes(plan, readers, FIXED).sides["train"]
        static_shapes.CALL_TOKENS = kept
        print(f"at most {static_shapes.MOST_SHAPES} shapes with one group a step: {one.padded / one.real:.2f}")
        for name, cost in (("one call a step, buckets", gpu_cost(FIXED)), ("groups of like size (CPU)", cpu_cost(FIXED))):
            print(f"nothing compiled, {name}: {grouped(home, plan, cost):.2f}")


def steps(home: Home) -> None:
    """Times updates of a small network: eager, padded, padded and compiled."""
    core = mlx().core
    plan = planned(home, SIZES[1], SMALL)
    cards = open_cards(home, plan)
    for name in ("eager", "static", "compiled"):
        session = open_session(home, plan, cards, "cpu", False)
        if name != "eager":
            session.compile()
        if name == "compiled":
            core.enable_compile()
        elif session.stepper.compiled:
            session.stepper.compiled._most = 1 << 30  # uncompiled, every call counts as one
        spent, rows, first = 0.0, 0, 0.0
        memories: dict[int, object] = {}
        for index in range(16):
            prepared = session.prepare_train(index)
            wall, cpu = time.perf_counter(), time.process_time()
            session.stepper.apply([prepared], Normalizer(prepared.n_rows, prepared.n_valid), memories, 1e-4, index + 1)
            if index < 10:  # most shapes are compiled by then
                first += time.perf_counter() - wall
                continue
            spent, rows = spent + time.process_time() - cpu, rows + prepared.n_rows
        core.disable_compile()
        made = session.stepper.compiled.made if name == "compiled" and session.stepper.compiled else 0
        print(
            f"{name:10} first 10 updates {first:6.1f} s; then {1000 * spent / rows:6.2f} CPU ms a row; {made} compilations",
            flush=True,
        )


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--episodes", type=int, default=220)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tcg_bench_") as place:
        work = Path(place)
        archive = arguments.archive or work / "recorded.zip"
        if not arguments.archive:
            record(archive, DAY, arguments.episodes, 1)
        home = Home(work / "home").prepare()
        add_archive(home, archive, DAY)
        for stage in (take_archive, build_day, promote_day):
            assert stage(home, DAY).passed
        assert card_features(home, HomeRegistrar(home), {"v1": engine_cards("v1")}, {"v1": load_attacks("v1")}).passed
        print(machine())
        table(home)
        if arguments.compile:
            print()
            steps(home)


if __name__ == "__main__":
    main()
