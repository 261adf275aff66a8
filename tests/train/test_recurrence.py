"""Memory is used: an answer that depends on a decision of an earlier chunk is learned with TBPTT and cannot be without."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from tcg_core.base.home import Home
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import GLOBALS, OPTION_ATTRIBUTES, index_of
from tcg_core.model.architecture import Architecture
from tcg_core.model.config import ModelConfig
from tcg_core.model.mlx_net import build
from tcg_core.plan.plan import Plan
from tcg_core.plan.rows import IdentityRows
from tcg_core.recipe import AuxWeights, Optimizer, Recipe, Schedule, Selection, Work
from tcg_core.rows.cache import CacheCounters
from tcg_core.train import loop, optimizer
from tcg_core.train.baseline import RankCounts
from tcg_core.train.board import Board
from tcg_core.train.runs.state import Progress
from tcg_core.train.schedule import Horizon
from tcg_core.train.session import Session
from tcg_core.train.shapes import cpu_cost
from tcg_core.train.step import Stepper, flat
from tests.model.synthetic import tables
from tests.plan.rows import plan_of

DECISIONS, LANES, CHUNK = 6, 96, 3
_GLOBAL, _RANK = index_of(GLOBALS), index_of(OPTION_ATTRIBUTES)["rank"]


def bit(lane: int) -> int:
    """What the first decision of a lane shows, and every later one asks for."""
    return int(np.random.default_rng([11, lane]).integers(2))


class Remember:
    """Rows of the toy game: two options; the first row shows the bit and asks for it, the others only ask."""

    class cache:
        counters = CacheCounters()

    def fetch(self, rows: Any) -> Columns:
        made = []
        for row in rows.tolist():
            lane, decision = divmod(row, DECISIONS)
            values = np.zeros(len(GLOBALS), np.int16)
            values[_GLOBAL["min_count"]] = values[_GLOBAL["max_count"]] = 1
            values[_GLOBAL["options"]] = 2
            values[_GLOBAL["turn"]] = 0 if decision else 50 * (2 * bit(lane) - 1)
            attributes = np.zeros((2, len(OPTION_ATTRIBUTES)), np.int16)
            attributes[1, _RANK] = 20
            made.append(
                {
                    "episode_id": lane,
                    "game": 0,
                    "side": 0,
                    "step_id": decision,
                    "is_attack": False,
                    "forced": False,
                    "y": bit(lane),
                    "opt_group": [0, 1],
                    "aux_valid": False,
                    "aux_ko": 0,
                    "aux_prize_delta": 0.0,
                    "aux_terminal": 0,
                    "aux_return": 0.0,
                    "globals": values,
                    "select_type": 0,
                    "select_context": 0,
                    "card_zone": [0],
                    "card_id": [1],
                    "card_count": [1],
                    "card_flag": [0],
                    "unit_zone": [],
                    "unit_id": [],
                    "unit_attributes": [],
                    "attached_unit": [],
                    "attached_kind": [],
                    "attached_id": [],
                    "option_type": [1, 1],
                    "option_source": [-1, -1],
                    "option_target": [-1, -1],
                    "option_card": [0, 0],
                    "option_target_card": [0, 0],
                    "option_attack": [0, 0],
                    "option_attributes": attributes,
                }
            )
        return Columns.from_rows(made)


def accuracy(tmp_path: Path, mode: Any) -> list[float]:
    """Validation accuracy of each epoch."""
    lanes = np.repeat(np.arange(LANES), DECISIONS)
    total, decision = len(lanes), np.tile(np.arange(DECISIONS), LANES)
    same = {name: np.zeros(total, np.int64) for name in ("group", "day", "game", "side", "generation")}
    rows = IdentityRows(
        row=np.arange(total),
        episode_id=lanes,
        step_id=decision,
        new_episode=decision == 0,
        aux_valid=np.zeros(total, bool),
        validation=lanes % 4 == 0,
        **same,
    )
    recipe = Recipe(
        Selection(all_days=True),
        work=Work(mode=mode, tbptt_chunk=CHUNK, batch_size=36, val_batch_size=200),
        model=ModelConfig(d_model=16, heads=2, layers=1, ff=32, registers=2),
        optimizer=Optimizer(lr=2e-2),
        schedule=Schedule(warmup_steps=5),
        aux=AuxWeights(0.0, 0.0, 0.0, 0.0),
    )
    recipe = dataclasses.replace(recipe, epochs=8)
    plan: Plan = plan_of(rows, recipe)
    cards = tables()
    architecture = Architecture.of(recipe.model, dataclasses.asdict(recipe.aux), cards)
    net = build(architecture, 5)
    net.set_tables(cards)
    routes = optimizer.routing(architecture)
    source: Any = Remember()
    session = Session(
        home=Home(tmp_path),
        plan=plan,
        cards=cards,
        contract={"run": "toy", "plan": {}, "arch_config": architecture.to_dict(), "cards_digest": cards.digest},
        horizon=Horizon(recipe.schedule, recipe.optimizer.lr, plan.horizon),
        stepper=Stepper(net, optimizer.initial_state(flat(net.parameters()), routes), routes, recipe),
        progress=Progress(),
        memories={},
        ranks=RankCounts((1, 1), 0),
        train=source,
        validation=source,
        cost=cpu_cost(6),
    )
    board = Board(tmp_path / mode, 0, 0)
    loop.run_epochs(session, board, lambda event: None, 10_000)
    board.close()
    return [entry["validation"]["acc"] for entry in session.progress.history]


def test_tbptt_remembers_over_the_chunk_border_and_stateless_cannot(tmp_path: Path) -> None:
    with_memory = accuracy(tmp_path / "a", "tbptt")
    without = accuracy(tmp_path / "b", "stateless")
    # Without memory only the first of DECISIONS decisions can be known; the rest is a coin.
    assert max(with_memory) > 0.95, with_memory
    assert max(without) < 0.75, without
