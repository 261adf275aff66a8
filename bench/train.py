"""Rows a second of the training step against the earlier system's shape, on the same rows, in one run.

    python bench/train.py [--archive FILE.zip] [--steps 2] [--peer-steps 2]

Long real games are recorded (or taken from ``--archive``) and built into a day twice: ours, and the padded one of
bench/peer_padded_day.py. All three networks then take the very same microbatches of one work plan, with the same optimizer,
BLAS and process: the padded one, the same with padding columns dropped and options bucketed, and ours through the
trainer's own session, prefetch and stepper. Ratios are of CPU seconds, because the machine may be shared; the wall clock
stands beside. One BLAS thread.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet

from bench.measure import machine
from bench.peer_padded_day import FLOATS, INTS, convert
from bench.peer_padded_net import COLUMNS, Peer
from bench.recorded import record
from tcg_core.base.home import Home
from tcg_core.cards.features import card_features
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import add_archive, take_archive
from tcg_core.engine.cards import load_attacks
from tcg_core.engine.cards import load_cards as engine_cards
from tcg_core.model.bootstrap import facts, mlx
from tcg_core.model.names import weight_table
from tcg_core.plan.build import build_plan
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Plan
from tcg_core.recipe import Recipe, Selection, Split, Work
from tcg_core.rows.reader import DayReader
from tcg_core.train.data import open_cards
from tcg_core.train.loss import Normalizer, combine, sums
from tcg_core.train.optimizer import clip, initial_state, update
from tcg_core.train.prefetch import ahead
from tcg_core.train.prepare import Prepared
from tcg_core.train.session import Session, open_session
from tcg_core.train.shown import Stopwatch
from tcg_core.train.step import flat
from tcg_core.train.unroll import Loaded, Unrolled, gather_memory

mx = mlx().core
DAY = "2026-09-01"
SMALL = 64


@dataclass
class Timed:
    """What a number of microbatches cost. tokens: padded tokens of all rows; peak: bytes MLX held at most."""

    rows: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    tokens: int = 0
    peak: int = 0
    parameters: int = 0

    @property
    def rate(self) -> float:
        """Rows a CPU second."""
        return self.rows / self.cpu


def fresh_memory() -> None:
    """Nothing cached for whoever comes next: every run pays for its own memory."""
    mx.clear_cache()
    mx.reset_peak_memory()


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """(result, wall seconds, CPU seconds of the process)."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def peer(data: dict[str, np.ndarray], plan: Plan, indices: list[int], compact: bool) -> Timed:
    """The earlier shape over microbatches ``indices`` of epoch 0, the first of them not counted."""
    model, settings = plan.recipe.model, plan.recipe.optimizer
    system = Peer(13, model.d_model, model.heads, model.layers, model.registers, compact)
    parameters = flat(system.net.trainable_parameters())
    tables = ("card_emb", "type_emb", "sel_type_emb", "sel_ctx_emb", "opt_verb_emb", "attack_emb", "opt_head", "submit_head")
    routes: Any = {
        name: "muon" if leaf.ndim == 2 and name.endswith(".weight") and not name.startswith(tables) else "adamw"
        for name, leaf in parameters.items()
    }
    state = initial_state(parameters, routes)
    result = Timed(parameters=sum(leaf.size for leaf in parameters.values()))
    fresh_memory()
    for step, index in enumerate(indices, 1):
        batch = plan.microbatch(0, index)
        memory = mx.zeros((len(batch.lane), model.registers, model.d_model))
        resets = mx.array(batch.resets_memory)[:, None, None]
        decisions = slots(plan, index)

        def once(step: int = step, memory: Any = memory, resets: Any = resets, decisions: Any = decisions) -> None:
            nonlocal state
            (loss, written), gradients = system.gradient(data, decisions, memory, resets)
            clipped, _ = clip(flat(gradients), settings.max_grad_norm)
            fresh, state = update(flat(system.net.trainable_parameters()), clipped, state, routes, settings, 1e-4, step)
            mx.eval(loss, written, fresh, state)
            system.net.update(mlx().utils.tree_unflatten(list(fresh.items())))

        _, wall, cpu = timed(once)
        if step == 1:
            continue  # the first one allocates
        result.rows += batch.n_rows
        result.wall, result.cpu, result.tokens = result.wall + wall, result.cpu + cpu, result.tokens + system.tokens
    result.peak = mx.get_peak_memory()
    return result


def slots(plan: Plan, index: int) -> list[list[np.ndarray]]:
    """Row numbers of each decision of each slot of a microbatch."""
    batch = plan.microbatch(0, index)
    found = []
    for chunk, first in zip(batch.chunk, batch.first_row, strict=True):
        counts = plan.decision_rows(int(chunk)).astype(int)
        ends = int(first) + np.cumsum(counts)
        found.append([np.arange(end - count, end) for end, count in zip(ends, counts, strict=True)])
    return found


def memories_of(session: Session) -> dict[int, np.ndarray]:
    """Something to carry for every lane: the bench starts in the middle of an epoch."""
    return {lane: np.zeros(session.stepper.net.architecture.memory_shape, np.float32) for lane in range(len(session.plan.lanes))}


def ours(session: Session, indices: list[int]) -> tuple[Timed, float]:
    """The trainer's own prefetch and stepper over the same microbatches, the first not counted; also the share of the wall
    time spent waiting for data."""
    clock, memories = Stopwatch(), memories_of(session)
    result = Timed(parameters=sum(leaf.size for leaf in weight_table(session.stepper.net.architecture).values()))
    fresh_memory()

    def apply(prepared: Prepared, step: int) -> None:
        normalizer = Normalizer(prepared.n_rows, prepared.n_valid)
        session.stepper.apply([prepared], normalizer, memories, session.horizon.rate(step), step)

    def run() -> None:
        for step, prepared in enumerate(clock.watch(ahead(session.prepare_train, indices[1:])), 2):
            apply(prepared, step)
            result.rows += prepared.n_rows
            result.tokens += prepared.padded_tokens + session.cost.fixed_tokens * prepared.n_rows

    apply(session.prepare_train(indices[0]), 1)
    _, result.wall, result.cpu = timed(run)
    result.peak = mx.get_peak_memory()
    return result, 100 * clock.waited / result.wall


def split(session: Session, indices: list[int]) -> dict[str, float]:
    """CPU seconds of data, forward, backward and optimizer over the microbatches, one after the other, unlike in training."""
    net, plan = session.stepper.net, session.plan
    spent = dict.fromkeys(("data", "forward", "backward", "optimizer"), 0.0)
    memories = memories_of(session)
    for step, index in enumerate(indices, 1):
        prepared, _, cpu = timed(lambda index=index: session.prepare_train(index))
        spent["data"] += cpu
        loaded, _, cpu = timed(lambda prepared=prepared: Loaded(prepared))
        spent["data"] += cpu
        carried = gather_memory(prepared, memories, net.architecture.memory_shape)

        def loss(parameters: Any, prepared: Prepared = prepared, loaded: Loaded = loaded, carried: Any = carried) -> Any:
            net.update(parameters)
            total: dict[str, Any] = {}
            for _, labels, output in Unrolled(net, loaded, carried):
                for name, value in sums(output, labels).items():
                    total[name] = total[name] + value if name in total else value
            return combine(total, prepared.n_rows, Normalizer(prepared.n_rows, prepared.n_valid).heads(session.aux_weights))

        parameters = net.parameters()
        _, _, forward = timed(lambda loss=loss, parameters=parameters: mx.eval(loss(parameters)))
        (_, gradients), _, both = timed(lambda loss=loss, parameters=parameters: evaluated(mx.value_and_grad(loss)(parameters)))
        net.update(parameters)

        def apply(gradients: Any = gradients, parameters: Any = parameters, step: int = step) -> Any:
            clipped, _ = clip(flat(gradients), plan.recipe.optimizer.max_grad_norm)
            stepper = session.stepper
            return evaluated(update(flat(parameters), clipped, stepper.state, stepper.routes, plan.recipe.optimizer, 1e-4, step))

        _, _, cpu = timed(apply)
        spent["forward"] += forward
        spent["backward"] += both - forward
        spent["optimizer"] += cpu
    return spent


def evaluated(values: Any) -> Any:
    """``values``, computed."""
    mx.eval(values)
    return values


def prepared_day(archive: Path, work: Path) -> tuple[Home, dict[str, np.ndarray]]:
    """The archive as our day and as padded columns, row by row the same decisions."""
    home = Home(work / "home").prepare()
    add_archive(home, archive, DAY)
    for stage in (take_archive, build_day, promote_day):
        built = stage(home, DAY)
        assert built.passed, built.checks
    assert card_features(home, HomeRegistrar(home), {"v1": engine_cards("v1")}, {"v1": load_attacks("v1")}).passed
    padded = work / "padded.parquet"
    convert(archive, padded)
    with DayReader(built.path) as reader:
        identity = reader.read(("episode_id", "side", "step_id", "substep"))
    table = parquet.read_table(padded, columns=[*COLUMNS])
    data = {name: values_of(table, name) for name in COLUMNS}
    with zipfile.ZipFile(archive) as file:
        episodes = np.array([int(Path(name).stem) for name in sorted(file.namelist())])
    theirs = [episodes[data["episode"][:, 0]], *(data[name][:, 0] for name in ("side", "step_id", "substep"))]
    place = {key: row for row, key in enumerate(zip(*(column.tolist() for column in theirs), strict=True))}
    ours_keys = zip(*(identity[name].tolist() for name in ("episode_id", "side", "step_id", "substep")), strict=True)
    index = np.array([place[key] for key in ours_keys])  # KeyError: a row of ours that the peer does not have
    return home, {name: values[index] for name, values in data.items()}


def values_of(table: Any, name: str) -> np.ndarray:
    """A padded column, [rows, ...]."""
    shape = INTS[name] if name in INTS else FLOATS[name]
    column = table[name].combine_chunks()
    flat_values = column.flatten() if column.type.num_fields else column
    return np.asarray(flat_values).reshape(len(table), *shape)


def line(name: str, result: Timed, base: Timed | None) -> str:
    """One line of the table."""
    ratio = f"{result.rate / base.rate:6.1f}x" if base else ""
    sizes = f"{result.parameters:>10,} {result.tokens / result.rows:10.1f} {result.rows:6}"
    rates = f"{1000 * result.cpu / result.rows:10.1f} {result.rate:10.2f} {result.rows / result.wall:8.2f}"
    return f"{name:48} {sizes} {rates} {result.peak / 1e6:8.0f} {ratio:>8}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--peer-steps", type=int, default=2, help=f"microbatches of {SMALL} rows for each padded network")
    parser.add_argument("--steps", type=int, default=2, help="microbatches of the default batch size")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tcg_bench_") as place:
        work = Path(place)
        archive = arguments.archive or work / "recorded.zip"
        if not arguments.archive:
            record(archive, DAY, arguments.episodes, 2)
        home, data = prepared_day(archive, work)
        sessions = {}
        for size in (SMALL, Work().batch_size):
            recipe = Recipe(Selection(all_days=True), split=Split(val_frac=0.2), work=Work(batch_size=size), epochs=1)
            plan = load_plan(home, build_plan(home, recipe).id)
            sessions[size] = open_session(home, plan, open_cards(home, plan), "cpu", False)
        small, large = sessions.values()
        print(machine())
        print(f"mlx {facts()['mlx']}, BLAS {facts()['blas']}, {facts()['threads']} thread, device {facts()['device']}")
        print(f"{len(data['y'])} rows of {len(small.plan.lanes)} lanes; microbatches of {SMALL} from the middle of an epoch\n")
        count = small.plan.count(0)
        steps = [count // 2 + number for number in range(1 + arguments.peer_steps)]
        heads = f"{'parameters':>10} {'tokens/row':>10} {'rows':>6} {'CPU ms/row':>10} {'rows/s CPU':>10} {'rows/s':>8} {'MB':>8}"
        print(f"{'network':48} {heads} {'against':>8}")
        padded = peer(data, small.plan, steps, compact=False)
        print(line(f"padded 337 + 192, batch {SMALL}", padded, None), flush=True)
        compact = peer(data, small.plan, steps, compact=True)
        print(line(f"padding dropped, options bucketed, batch {SMALL}", compact, padded), flush=True)
        same, _ = ours(small, steps)
        print(line(f"ours, the same rows, batch {SMALL}", same, padded), flush=True)
        middle = large.plan.count(0) // 2
        many = list(range(middle, min(middle + 1 + arguments.steps, large.plan.count(0))))
        full, waited = ours(large, many)
        print(line(f"ours, default batch {large.plan.recipe.work.batch_size}", full, padded))
        spent = split(large, many[1:])
        total = sum(spent.values())
        print(f"\nours, default batch, one after the other: {total / full.rows * 1000:.2f} CPU ms a row")
        for name, seconds in spent.items():
            print(f"  {name:10} {1000 * seconds / full.rows:7.3f} ms/row {100 * seconds / total:6.1f} %")
        print(f"waiting for data in the loop: {waited:.2f} % of the wall time")


if __name__ == "__main__":
    main()
