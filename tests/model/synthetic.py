"""Padded batches and card tables of random but well-formed content, in the form ``encode.collate`` makes."""

from typing import Any

import numpy as np

from tcg_core.encode.cards import FIRST, CardTables
from tcg_core.encode.schema import (
    ATTACHED_KINDS,
    CARD_FLAGS,
    CARD_ZONES,
    GLOBALS,
    OPTION_ATTRIBUTES,
    UNIT_ATTRIBUTES,
    UNIT_ZONES,
)
from tcg_core.encode.would_ko import VALUE_ENTRIES
from tcg_core.model.architecture import Architecture
from tcg_core.model.config import ModelConfig

ALL_AUX = {"ko": 0.5, "prize": 0.5, "terminal": 0.5, "value": 0.5}
TINY = ModelConfig(d_model=16, heads=2, layers=2, ff=24, registers=3)


def tables(cards: int = 40, attacks: int = 30, card_width: int = 7, attack_width: int = 5, seed: int = 0) -> CardTables:
    """Card tables of one generation whose ids are vocabulary positions less two."""
    rng = np.random.default_rng(seed)
    static = [rng.normal(size=shape).astype(np.float32) for shape in ((cards, card_width), (attacks, attack_width))]
    for array in static:
        array[:FIRST] = 0
    index = [np.concatenate([[0], np.arange(FIRST, n)]).astype(np.int32) for n in (cards, attacks)]
    return CardTables({"v1": index[0]}, {"v1": index[1]}, static[0], static[1])


def architecture(
    config: ModelConfig = TINY, card_tables: CardTables | None = None, aux: dict[str, float] | None = None
) -> Architecture:
    """An architecture over :func:`tables`."""
    return Architecture.of(config, aux or ALL_AUX, card_tables or tables())


def batch(
    rows: int, cards: int, units: int, attached: int, options: int, seed: int = 0, vocabulary: tuple[int, int] = (40, 30)
) -> dict[str, Any]:
    """A padded batch: each row fills a random share of its tokens, at least one option and one legal answer."""
    rng = np.random.default_rng(seed)

    def filled(width: int, least: int) -> Any:
        return np.arange(width)[None, :] < rng.integers(least, width + 1, rows)[:, None]

    def ids(high: int, present: Any, low: int = 1) -> Any:
        return np.where(present, rng.integers(low, high, present.shape), 0).astype(np.int32)

    has_card, has_unit, has_option = filled(cards, 1), filled(units, 1), filled(options, 1)
    has_attached = filled(attached, 0)
    unit_of = rng.integers(0, 10**6, (rows, attached)) % has_unit.sum(1)[:, None]
    tokens = cards + units
    reachable = np.concatenate([has_card, has_unit], 1)
    pointers = []
    for _ in range(2):
        drawn = rng.integers(0, tokens, (rows, options))
        usable = np.take_along_axis(reachable, drawn, 1) & has_option & (rng.random((rows, options)) < 0.8)
        pointers.append(np.where(usable, drawn, tokens).astype(np.int32))
    legal = np.concatenate([has_option & (rng.random((rows, options)) < 0.8), rng.random((rows, 1)) < 0.4], 1)
    legal[:, 0] |= ~legal.any(1)
    target = np.array([rng.choice(np.flatnonzero(row)) for row in legal], np.int32)
    return {
        "globals": rng.normal(size=(rows, len(GLOBALS))).astype(np.float32),
        "select_type": rng.integers(0, 8, rows).astype(np.int32),
        "select_context": rng.integers(0, 40, rows).astype(np.int32),
        "card_zone": ids(len(CARD_ZONES) + 1, has_card),
        "card_index": ids(vocabulary[0], has_card),
        "card_count": np.where(has_card, rng.integers(1, 5, has_card.shape) / 4, 0).astype(np.float32),
        "card_flag": ids(len(CARD_FLAGS), has_card, low=0),
        "unit_zone": ids(len(UNIT_ZONES) + 1, has_unit),
        "unit_index": ids(vocabulary[0], has_unit),
        "unit_attributes": (rng.random((rows, units, len(UNIT_ATTRIBUTES))) * has_unit[..., None]).astype(np.float32),
        "attached_unit": np.where(has_attached, unit_of, units).astype(np.int32),
        "attached_kind": ids(len(ATTACHED_KINDS) + 1, has_attached),
        "attached_index": ids(vocabulary[0], has_attached),
        "option_type": ids(17, has_option),
        "option_source": pointers[0],
        "option_target": pointers[1],
        "option_card": ids(vocabulary[0], has_option & (rng.random(has_option.shape) < 0.5)),
        "option_target_card": ids(vocabulary[0], has_option & (rng.random(has_option.shape) < 0.5)),
        "option_attack": ids(vocabulary[1], has_option & (rng.random(has_option.shape) < 0.3)),
        "option_attributes": (rng.random((rows, options, len(OPTION_ATTRIBUTES))) * has_option[..., None]).astype(np.float32),
        "legal": legal,
        "target": target,
        "opt_group": np.tile(np.arange(options, dtype=np.int32), (rows, 1)),
        "option_would_ko": _looks(rng, has_option),
    }


def _looks(rng: np.random.Generator, has_option: Any) -> Any:
    """About a third of the options were looked at."""
    looked = has_option & (rng.random(has_option.shape) < 0.3)
    values = rng.random((*looked.shape, len(VALUE_ENTRIES)))
    return (np.concatenate([np.ones((*looked.shape, 1)), values], axis=-1) * looked[..., None]).astype(np.float32)
