"""Synthetic identity rows: lanes of decisions with a few substeps each, as a day file would hold them."""

import numpy as np

from tcg_core.plan.assemble import assemble
from tcg_core.plan.plan import Plan
from tcg_core.plan.rows import IdentityRows
from tcg_core.recipe import Recipe, Selection, Work


def identity(
    episodes: int, seed: int = 0, decisions: tuple[int, int] = (3, 40), validation: float = 0.2, group_rows: int = 300
) -> IdentityRows:
    """Two lanes an episode, one row group every ``group_rows`` rows (whole episodes)."""
    rng = np.random.default_rng(seed)
    names = IdentityRows.__dataclass_fields__
    parts: dict[str, list[np.ndarray]] = {name: [] for name in names if name != "row"}
    group = in_group = 0
    for episode in range(episodes):
        held_out = rng.random() < validation if episodes > 2 else episode == 0
        for side in (0, 1):
            count = int(rng.integers(*decisions))
            rows = 1 + (rng.random(count) < 0.15) * rng.integers(1, 4, count)
            total = int(rows.sum())
            first = np.zeros(total, bool)
            first[0] = True
            values = {
                "group": group,
                "day": 0,
                "episode_id": 1000 + episode,
                "game": 0,
                "side": side,
                "generation": 0,
                "validation": held_out,
            }
            for name, value in values.items():
                parts[name].append(np.full(total, value))
            parts["step_id"].append(np.repeat(np.cumsum(rng.integers(1, 4, count)), rows))
            parts["new_episode"].append(first)
            parts["aux_valid"].append(rng.random(total) < 0.9)
            in_group += total
        if in_group >= group_rows:
            group, in_group = group + 1, 0
    joined = {name: np.concatenate(values) for name, values in parts.items()}
    return IdentityRows(row=np.arange(len(joined["day"])), **joined)


def recipe(**work: int | str) -> Recipe:
    """A recipe over all days with this work."""
    return Recipe(Selection(all_days=True), work=Work(**work), epochs=2)  # type: ignore[arg-type]


def plan_of(rows: IdentityRows, chosen: Recipe) -> Plan:
    """The plan in memory, not stored."""
    made = assemble(rows, chosen)
    return Plan("toy", "0" * 64, chosen, (), made.lanes, made.chunks, made.orders, "cards", {"facts": {}})
