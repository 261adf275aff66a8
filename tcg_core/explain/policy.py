"""What a trained policy says of a recorded decision, its memory carried through the lane as in play."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tcg_core.base.errors import UnknownId
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.selection import select_days
from tcg_core.convert.decisions import lane_steps
from tcg_core.convert.players import torch_player
from tcg_core.convert.reference import Reference
from tcg_core.convert.replay import replay
from tcg_core.encode.cards import CardTables
from tcg_core.encode.columns import Columns
from tcg_core.lookahead.read import LookedDayReader
from tcg_core.model.torch_load import CONTRACT, load_artifact
from tcg_core.model.torch_net import TorchNet, restore_net
from tcg_core.recipe import Selection
from tcg_core.train.runs.checkpoint import load_weights
from tcg_core.train.runs.pointers import BEST, LATEST, follow


@dataclass(frozen=True)
class ExplainedPolicy:
    """A network on the PyTorch side, its card tables, what it came from in words, and whether it was trained with its would-KO
    inputs set to zero."""

    net: TorchNet
    tables: CardTables
    source: str
    zero_wouldko: bool = False


@dataclass(frozen=True)
class Opinion:
    """Of one pick. probabilities: of each option in the engine's order, STOP last; aux: head -> output (``ko`` and
    ``terminal`` as probabilities, ``prize`` in prizes, ``value`` the return)."""

    probabilities: tuple[float, ...]
    aux: dict[str, float]


def load_policy(home: Home, name: str) -> ExplainedPolicy:
    """The network of ``name``: a training run (its best checkpoint, else its latest), a converted artifact, or the directory
    of either. Raises :class:`UnknownId` if it is none of them, and what loading raises."""
    for directory in (home.checkpoints / name, home.artifacts / name, Path(name)):
        if (directory / CONTRACT).is_file():
            net, tables, contract = load_artifact(directory)
            origin = contract["origin"]
            zero = net.architecture.config.would_ko and bool(origin["zero_wouldko"])
            return ExplainedPolicy(net, tables, f"artifact {directory.name} (run {origin['run']})", zero)
        step = directory if (directory / "state.json").is_file() else follow(directory, BEST) or follow(directory, LATEST)
        if step is not None:
            architecture, weights, tables, state = load_weights(step)
            net = restore_net(architecture, weights, str(step))
            net.set_tables(tables)
            zero = architecture.config.would_ko and bool(state["run_config"]["zero_wouldko"])
            return ExplainedPolicy(net.freeze(), tables, f"run {state['run']}, {step.name}", zero)
    raise UnknownId(f"there is no training run or artifact {name} in {home.root}")


def with_looks(home: Home, policy: ExplainedPolicy, lane: Columns, day: str) -> Columns:
    """The lane with the looks of its day, where the policy reads them. Raises :class:`UnknownId` if the day is not validated,
    :class:`~tcg_core.base.errors.IntegrityError` if it was built without them."""
    if not policy.net.architecture.config.would_ko or policy.zero_wouldko:
        return lane
    with catalog(home) as connection:
        [chosen] = select_days(connection, Selection(days=(day,)))
    with LookedDayReader(chosen.path) as reader:
        return reader.joined(lane)


def opinions(policy: ExplainedPolicy, lane: Columns, step_id: int, generation: str) -> tuple[Opinion, ...]:
    """One opinion a pick of decision ``step_id``. lane: all rows of its lane up to it, from the lane's start.

    All picks of a decision read the memory that came in; that of the last pick is carried on.
    """
    decisions = len(np.unique(lane["step_id"]))
    steps = lane_steps({0: lane}, generation, policy.tables, decisions, policy.zero_wouldko)
    answer = replay(torch_player(policy.net), Reference((f"step {step_id}",), tuple(steps)))[-1]
    found = []
    count = int(lane.lengths("option")[-1])
    for row in range(len(answer.choice)):
        spread = answer.probabilities[row]
        aux = {name: float(values[row]) for name, values in answer.aux.items()}
        for name in ("ko", "terminal"):
            if name in aux:
                aux[name] = float(1 / (1 + np.exp(-aux[name])))
        found.append(Opinion((*spread[:count].tolist(), float(spread[-1])), aux))
    return tuple(found)
