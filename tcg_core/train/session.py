"""A training run in memory: network, moments, cursor; started or recovered, and saved."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tcg_core.base.atomic import make_directory
from tcg_core.base.code import code_version
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, read_manifest
from tcg_core.cards.features import KIND as CARDS
from tcg_core.cards.features import card_csv_of
from tcg_core.catalog import registry
from tcg_core.encode.cards import CardTables
from tcg_core.encode.columns import Array
from tcg_core.model import bootstrap
from tcg_core.model.architecture import Architecture
from tcg_core.model.bootstrap import mlx
from tcg_core.model.mlx_net import PolicyNet, build, restore_net, weights_of
from tcg_core.model.names import Group
from tcg_core.plan.plan import Plan, Side
from tcg_core.rows.cache_spill import Spill
from tcg_core.train import optimizer
from tcg_core.train.baseline import RankCounts, count_ranks
from tcg_core.train.compiled.batch import pad
from tcg_core.train.compiled.loss import Compiled, serves
from tcg_core.train.compiled.plan import StaticPlan, choose_shapes
from tcg_core.train.data import Source, open_days, open_source
from tcg_core.train.optimizer import Leaves
from tcg_core.train.prepare import Prepared, prepare
from tcg_core.train.runs import pointers
from tcg_core.train.runs.base import Base, horizon_of
from tcg_core.train.runs.checkpoint import Payload, read_step, step_name, write_step
from tcg_core.train.runs.contract import describe, refuse_other, refuse_parent
from tcg_core.train.runs.state import Progress
from tcg_core.train.schedule import Horizon
from tcg_core.train.shapes import Cost, cpu_cost, gpu_cost
from tcg_core.train.step import Stepper, check_finite, flat

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = mlx().core

LOG = logging.getLogger("tcg")
TRAIN_CACHE_BYTES, VALIDATION_CACHE_BYTES = 2 << 30, 1 << 30
TRAIN_SPILL_BYTES, VALIDATION_SPILL_BYTES = 8 << 30, 2 << 30


@dataclass
class Session:
    """Everything a run needs in memory. ``memories``: lane -> memory between microbatches of the current epoch; ``base``: where
    its counts begin."""

    home: Home
    plan: Plan
    cards: CardTables
    contract: dict[str, Any]
    horizon: Horizon
    stepper: Stepper
    progress: Progress
    memories: dict[int, Array]
    ranks: RankCounts
    train: Source
    validation: Source
    cost: Cost
    base: Base = field(default_factory=Base)
    #: Shapes that microbatches are padded to, where MLX compiles.
    static: StaticPlan | None = None

    @property
    def directory(self) -> Any:
        """``checkpoints/RUN``."""
        return self.home.checkpoints / self.plan.id

    @property
    def step_name(self) -> str:
        """Name of the checkpoint of the current state."""
        progress = self.progress
        complete = progress.microbatch > 0 and progress.microbatch == self.plan.count(progress.epoch)
        return step_name(progress.updates, validated=not complete)

    @property
    def aux_weights(self) -> dict[str, float]:
        """Loss weight of each head."""
        return asdict(self.plan.recipe.aux)

    def prepare_train(self, index: int) -> Prepared:
        """Microbatch ``index`` of the current epoch."""
        return self._prepare("train", self.progress.epoch, index, self.train)

    def prepare_validation(self, index: int) -> Prepared:
        """Microbatch ``index`` of the validation side."""
        return self._prepare("validation", 0, index, self.validation)

    def _prepare(self, side: Side, epoch: int, index: int, source: Source) -> Prepared:
        batch = self.plan.microbatch(epoch, index, side)
        if self.static is None:
            return prepare(self.plan, batch, source, self.cards, self.cost)
        shape = self.static.shape(side, epoch, index)
        return pad(prepare(self.plan, batch, source, self.cards, shape), shape)

    def compile(self) -> None:
        """From this call on, pads microbatches to the few shapes chosen for the plan and computes them by compiled functions."""
        self.static = choose_shapes(self.plan, self.train.readers, self.cost.fixed_tokens)
        self.stepper.compiled = Compiled(self.stepper.net, self.aux_weights, self.static.compilations)
        LOG.info("run %s compiles: %s", self.plan.id, self.static.text())

    def close(self) -> None:
        """Releases the row groups, in memory and on disk."""
        if self.stepper.compiled and self.static:
            LOG.info("run %s: %d of at most %d compilations", self.plan.id, self.stepper.compiled.made, self.static.compilations)
        for source in (self.train, self.validation):
            source.cache.clear()
        shutil.rmtree(self.home.spill / self.plan.id, ignore_errors=True)

    def save(self, names: tuple[str, ...]) -> None:
        """Writes a checkpoint of the current state and sets the pointers ``names`` to it, ``latest`` first. After a kill between
        two pointers, the state behind ``latest`` names those still to be set. Directories without a pointer are removed."""
        parameters = flat(self.stepper.net.parameters())
        check_finite(parameters, "parameter")
        check_finite(self.stepper.state, "moment")
        progress, base = self.progress, self.base
        last = progress.updates + base.scheduler
        state = self.contract | {
            "progress": progress.to_dict(),
            "rank_counts": self.ranks.to_dict(),
            "pointers": list(names),
            "epoch": base.epoch + progress.epoch - (0 if progress.microbatch else 1),
            "gstep": base.gstep + progress.updates,
            "optimizer_phase_step": base.optimizer + progress.updates,
            "scheduler_phase_step": last,
            "scheduler_state": {"phase_step": last, "rate": self.horizon.rate(last) if last else None},
            "val_acc": progress.history[-1]["validation"]["acc"] if progress.history else None,
            "best_val_acc": progress.best["acc"] if progress.best else None,
        }
        payload = Payload(
            weights_of(self.stepper.net),
            self.cards,
            {name: np.array(value) for name, value in self.stepper.state.items()},
            self.memories,
            state,
        )
        step = self.directory / self.step_name
        pointers.remove_unpointed(self.directory)
        inputs = (Input("work_plan", self.plan.id, self.plan.sha256),)
        write_step(step, payload, inputs)
        self.point(names)

    def point(self, names: tuple[str, ...]) -> None:
        """Sets the pointers ``names`` to the checkpoint of the current update."""
        for name in sorted(names, key=lambda name: name != pointers.LATEST):
            pointers.point(self.directory, name, self.directory / self.step_name, self.progress.updates)
        pointers.remove_unpointed(self.directory)


def open_session(home: Home, plan: Plan, cards: CardTables, device: str, allow_inexact: bool) -> Session:
    """A run where it stands: at its ``latest`` checkpoint if there is one, else at its parent, else fresh from the seed.

    Raises :class:`RecoverRefused`, :class:`ResumeRefused` naming what differs, :class:`IntegrityError` for a damaged checkpoint
    or day.
    """
    resolved = bootstrap.resolve_device(device)
    architecture = Architecture.of(plan.recipe.model, asdict(plan.recipe.aux), cards)
    horizon = horizon_of(plan)
    card_csv = card_csv_of(registry.find(home, CARDS, plan.cards_id))
    environment = bootstrap.facts() | {"compile": serves(resolved), "code": code_version("mlx_checkpoint")}
    contract = describe(plan, architecture, cards, card_csv, horizon, environment)
    routes = optimizer.routing(architecture)
    readers = open_days(home, plan.days)
    directory = home.checkpoints / plan.id
    make_directory(directory)
    latest = pointers.follow(directory, pointers.LATEST)
    memories: dict[int, Array] = {}
    if latest is None:
        net, state = _start(home, plan, architecture, routes, contract)
        progress, ranks = Progress(), count_ranks(plan, readers)
    else:
        payload = read_step(latest)
        refuse_other(payload.state, contract, allow_inexact)
        net = restore_net(architecture, payload.weights, str(latest))
        state = _moments(payload, net, routes, str(latest))
        progress, memories = Progress.from_dict(payload.state["progress"]), payload.memories
        ranks = RankCounts.from_dict(payload.state["rank_counts"])
        LOG.info(
            "run %s: continues after update %d, epoch %d, microbatch %d",
            plan.id,
            progress.updates,
            progress.epoch,
            progress.microbatch,
        )
    net.set_tables(cards)
    mx.eval(state)
    spill = home.spill / plan.id
    fixed = architecture.head_tokens + plan.recipe.model.registers + 1
    session = Session(
        home=home,
        plan=plan,
        cards=cards,
        contract=contract,
        horizon=horizon,
        stepper=Stepper(net, state, routes, plan.recipe),
        progress=progress,
        memories=memories,
        ranks=ranks,
        train=open_source(plan, readers, TRAIN_CACHE_BYTES, Spill(spill / "train", TRAIN_SPILL_BYTES)),
        validation=open_source(plan, readers, VALIDATION_CACHE_BYTES, Spill(spill / "val", VALIDATION_SPILL_BYTES)),
        cost=cpu_cost(fixed) if resolved == "cpu" else gpu_cost(fixed),
        base=Base.of(plan),
    )
    session.stepper.guard = session.train.cache.protect
    if serves(resolved):
        session.compile()
    if latest is not None:
        session.point(tuple(payload.state["pointers"]))
    return session


def _start(
    home: Home, plan: Plan, architecture: Architecture, routes: Mapping[str, Group], contract: dict[str, Any]
) -> tuple[PolicyNet, Leaves]:
    """Weights and moments before a run's first update: the parent's, or fresh from the seed."""
    if plan.parent is None:
        net = build(architecture, plan.recipe.seed)
        return net, optimizer.initial_state(flat(net.parameters()), routes)
    step = home.checkpoints / plan.parent.run / plan.parent.step
    if not step.is_dir() or read_manifest(step).content != plan.parent.sha256:
        raise IntegrityError(f"plan {plan.id} goes on from {step}, which is missing or not as it was when the plan was made")
    payload = read_step(step)
    refuse_parent(payload.state, contract, f"{plan.parent.run}/{plan.parent.checkpoint}")
    net = restore_net(architecture, payload.weights, str(step))
    LOG.info("run %s: continues from %s at epoch %d", plan.id, step, plan.parent.first_epoch)
    if plan.recipe.resume.optimizer_state == "resume":
        return net, _moments(payload, net, routes, str(step))
    return net, optimizer.initial_state(flat(net.parameters()), routes)


def _moments(payload: Payload, net: PolicyNet, routes: Mapping[str, Group], source: str) -> Leaves:
    state = {name: mx.array(value) for name, value in payload.optimizer.items()}
    optimizer.check_state(state, flat(net.parameters()), routes, source)
    return state
