"""Rows that keep every rule of the schema, made from a seed: for tests that need no replay."""

from typing import Any

import numpy as np

from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import GLOBALS, OPTION_ATTRIBUTES, UNIT_ATTRIBUTES, index_of

_GLOBAL = index_of(GLOBALS)


def lane(
    rng: np.random.Generator,
    episode_id: int,
    game: int,
    side: int,
    decisions: int,
    outcome: int,
    day: str,
    generation: str = "v1",
) -> list[dict[str, Any]]:
    """The rows of one lane; every third decision picks one or two of several and may stop."""
    rows = []
    for decision in range(decisions):
        options = int(rng.integers(1, 7))
        multiple = decision % 3 == 2 and options > 1
        minimum, maximum = (0, 2) if multiple else (1, 1)
        picks = (
            [int(pick) for pick in rng.permutation(options)[: int(rng.integers(0, 3))]]
            if multiple
            else [int(rng.integers(options))]
        )
        last = decision == decisions - 1
        labels = picks + ([options] if len(picks) < maximum and len(picks) >= minimum else [])
        for substep, label in enumerate(labels):
            rows.append(
                _row(
                    rng,
                    episode_id,
                    game,
                    side,
                    decision,
                    substep,
                    label,
                    picks[:substep],
                    options,
                    minimum,
                    maximum,
                    day,
                    generation,
                )
            )
            rows[-1] |= {"outcome": outcome, "aux_valid": True, "aux_ko": int(last), "aux_prize_delta": float(last)}
            rows[-1] |= {"aux_terminal": int(last), "aux_return": 1 / 6 + outcome}
    return rows


def _row(rng, episode_id, game, side, decision, substep, label, picked, options, minimum, maximum, day, generation):
    cards, units = int(rng.integers(3, 20)), int(rng.integers(1, 6))
    attached = int(rng.integers(0, 5))
    values = np.zeros(len(GLOBALS), np.int16)
    for name, value in (
        ("min_count", minimum),
        ("max_count", maximum),
        ("picked", len(picked)),
        ("options", options),
        ("turn", decision),
    ):
        values[_GLOBAL[name]] = value
    attributes = np.zeros((options, len(OPTION_ATTRIBUTES)), np.int16)
    attributes[picked, 0] = 1
    attributes[:, 5] = np.arange(options)
    count = np.arange(options)
    identity = {"episode_id": episode_id, "game": game, "side": side, "step_id": decision * 3 + side, "decision_id": decision}
    identity |= {"substep": substep, "new_episode": decision == 0 and substep == 0, "y": label, "opt_group": count}
    metadata = {"day": day, "generation": generation, "module_version": "1.32.7", "is_attack": False, "forced": options == 1}
    metadata |= {"player_name": f"team {side}", "opponent_name": f"team {1 - side}"}
    metadata |= {"player_deck_hash": "a" * 64, "opponent_deck_hash": "b" * 64}
    state = {"globals": values, "select_type": 0, "select_context": 1}
    state |= {"card_zone": rng.integers(0, 5, cards), "card_id": rng.integers(1, 1000, cards)}
    state |= {"card_count": np.ones(cards, int), "card_flag": np.zeros(cards, int)}
    state |= {"unit_zone": rng.integers(0, 4, units), "unit_id": rng.integers(1, 1000, units)}
    state |= {"unit_attributes": rng.integers(0, 300, (units, len(UNIT_ATTRIBUTES)))}
    state |= {"attached_unit": rng.integers(0, units, attached), "attached_kind": rng.integers(0, 3, attached)}
    state |= {"attached_id": rng.integers(1, 1000, attached), "option_type": rng.integers(0, 17, options)}
    state |= {"option_source": count * 0 - 1, "option_target": count * 0 - 1, "option_card": count * 0}
    state |= {"option_target_card": count * 0, "option_attack": count * 0, "option_attributes": attributes}
    return identity | metadata | state


def episode(
    seed: int, episode_id: int, decisions: int = 12, day: str = "2026-08-01", generation: str = "v1", games: int = 1
) -> Columns:
    """Both lanes of each game of an episode; seat 0 wins."""
    rng = np.random.default_rng(seed)
    rows = [
        row
        for game in range(games)
        for side, outcome in ((0, 1), (1, -1))
        for row in lane(rng, episode_id, game, side, decisions, outcome, day, generation)
    ]
    return Columns.from_rows(rows)


def many(count: int, first_id: int = 100, **options: Any) -> list[Columns]:
    """``count`` episodes with rising ids."""
    return [episode(seed, first_id + seed, **options) for seed in range(count)]
