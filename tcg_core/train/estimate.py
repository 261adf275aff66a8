"""What training a plan will cost, without training it: the size of the work, and the time at a known or measured rate."""

import json
import time
from dataclasses import asdict, dataclass, replace

import numpy as np

from tcg_core.base.home import Home
from tcg_core.encode.cards import CardTables
from tcg_core.model import bootstrap
from tcg_core.model.architecture import Architecture
from tcg_core.model.mlx_net import build
from tcg_core.model.names import group_sizes
from tcg_core.plan.load import load_plan
from tcg_core.plan.plan import Microbatch, Plan
from tcg_core.train import optimizer
from tcg_core.train.compiled.batch import pad
from tcg_core.train.compiled.loss import Compiled, serves
from tcg_core.train.compiled.plan import choose_shapes
from tcg_core.train.data import open_cards, open_days, open_source
from tcg_core.train.loss import Normalizer
from tcg_core.train.prepare import prepare
from tcg_core.train.rate import Rate, known_rate
from tcg_core.train.runs import pointers
from tcg_core.train.shapes import cpu_cost, gpu_cost
from tcg_core.train.step import Stepper, flat

#: Rows of the step that is measured, about; and what validating a row costs of training it (`bench/train.py`).
MEASURED_ROWS, VALIDATION_SHARE = 128, 0.4
_CACHE_BYTES = 256 << 20


@dataclass(frozen=True)
class Estimate:
    """parameters: of the network, by optimizer; updates_done: of a run begun before; seconds: of all epochs that are left,
    validation included."""

    plan: Plan
    parameters: dict[str, int]
    updates_done: int
    rate: Rate
    seconds: float


def estimate(home: Home, plan_id: str, device: str = "auto") -> Estimate:
    """Estimates a run of ``plan_id`` on this machine; writes nothing.

    The rate is that of the last run like it (:func:`~tcg_core.train.rate.known_rate`), else of one step over about
    ``MEASURED_ROWS`` rows made now (of a whole microbatch where a GPU compiles). Raises what reading plan, cards and days
    raises.
    """
    plan = load_plan(home, plan_id)
    cards = open_cards(home, plan)
    architecture = Architecture.of(plan.recipe.model, asdict(plan.recipe.aux), cards)
    resolved = bootstrap.resolve_device(device)
    rate = known_rate(home, plan.recipe, resolved) or _measure(home, plan, cards, architecture, resolved)
    done = _updates_done(home, plan)
    work = plan.recipe.epochs * (plan.rows["train"] + VALIDATION_SHARE * plan.rows["validation"])
    left = work * (1 - done / plan.horizon)
    return Estimate(plan, {str(k): v for k, v in group_sizes(architecture).items()}, done, rate, left / rate.rows)


def _measure(home: Home, plan: Plan, cards: CardTables, architecture: Architecture, device: str) -> Rate:
    fixed = architecture.head_tokens + plan.recipe.model.registers + 1
    cost = cpu_cost(fixed) if device == "cpu" else gpu_cost(fixed)
    net, routes = build(architecture, plan.recipe.seed), optimizer.routing(architecture)
    net.set_tables(cards)
    stepper = Stepper(net, optimizer.initial_state(flat(net.parameters()), routes), routes, plan.recipe)
    readers = open_days(home, plan.days)
    batch, shape = plan.microbatch(0, plan.count(0) // 2), None
    if serves(device):
        shape = choose_shapes(plan, readers, fixed).shape("train", 0, batch.index)
        stepper.compiled = Compiled(net, asdict(plan.recipe.aux), 1)
    else:
        batch = _short(plan, batch, MEASURED_ROWS)
    source = open_source(plan, readers, _CACHE_BYTES)
    memories = {int(lane): np.zeros(architecture.memory_shape, np.float32) for lane in batch.lane}
    seconds = []
    for step in (1, 2):  # the first one allocates and, on a GPU, compiles
        began = time.perf_counter()
        prepared = pad(prepare(plan, batch, source, cards, shape), shape) if shape else prepare(plan, batch, source, cards, cost)
        stepper.apply([prepared], Normalizer(batch.n_rows, batch.n_valid), dict(memories), plan.recipe.optimizer.lr, step)
        seconds.append(time.perf_counter() - began)
    words = "" if shape else "; a full microbatch is faster"
    return Rate(batch.n_rows / seconds[-1], f"of one step of {batch.n_rows} rows measured now{words}")


def _short(plan: Plan, batch: Microbatch, rows: int) -> Microbatch:
    """The first slots of a microbatch that together hold about ``rows`` rows."""
    count = max(1, int(np.searchsorted(np.cumsum(batch.rows), rows, side="right")))
    arrays = {
        name: getattr(batch, name)[:count]
        for name in ("chunk", "lane", "first_row", "rows", "decisions", "resets_memory", "last_of_lane")
    }
    n_valid = int(plan.chunks.valid[arrays["chunk"]].sum())
    return replace(batch, **arrays, n_rows=int(arrays["rows"].sum()), n_valid=n_valid)


def _updates_done(home: Home, plan: Plan) -> int:
    step = pointers.follow(home.checkpoints / plan.id, pointers.LATEST)
    return 0 if step is None else int(json.loads((step / "state.json").read_text())["progress"]["updates"])
