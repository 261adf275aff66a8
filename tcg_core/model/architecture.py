"""What decides the shape of every weight: model configuration, heads built, table sizes, schema of the rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcg_core.encode.cards import FIRST, CardTables
from tcg_core.encode.schema import SCHEMA
from tcg_core.model.config import ModelConfig, ModelError
from tcg_core.model.heads import HEADS, built_heads

#: Grows whenever the computation of the network changes: a checkpoint of another version is refused.
ARCH_VERSION = 1
#: Logit of an illegal option, and the additive attention mask of a padded key; exact in float32.
MASK_VALUE = -1e9


@dataclass(frozen=True)
class Architecture:
    """The network of one training run.

    heads: auxiliary heads built, in the order of ``HEADS``; cards, attacks: vocabulary positions (rows of the static
    tables, padding, face down and unknown among them); card_width, attack_width: static features a row; schema: digest of the
    row schema the network reads.
    """

    config: ModelConfig
    heads: tuple[str, ...]
    cards: int
    attacks: int
    card_width: int
    attack_width: int
    schema: str = SCHEMA.digest

    def __post_init__(self) -> None:
        if self.schema != SCHEMA.digest:
            raise ModelError(f"schema digest {self.schema[:12]}, this code reads rows of {SCHEMA.digest[:12]}")
        if self.heads != tuple(name for name in HEADS if name in self.heads):
            raise ModelError(f"heads {list(self.heads)}, expected some of {', '.join(HEADS)}, in that order, each once")
        for name, least in (("cards", FIRST), ("attacks", FIRST), ("card_width", 1), ("attack_width", 1)):
            if getattr(self, name) < least:
                raise ModelError(f"architecture.{name} is {getattr(self, name)}, expected at least {least}")

    @classmethod
    def of(cls, config: ModelConfig, aux_weights: Mapping[str, float], tables: CardTables) -> "Architecture":
        """The architecture for a configuration, loss weights by head (``asdict(recipe.aux)``) and card tables."""
        cards, card_width = tables.card_static.shape
        attacks, attack_width = tables.attack_static.shape
        return cls(config, built_heads(aux_weights), cards, attacks, card_width, attack_width)

    @property
    def head_tokens(self) -> int:
        """Leading tokens: policy, value and submit, or one that serves as all three."""
        return 3 if self.config.split_heads else 1

    @property
    def memory_shape(self) -> tuple[int, int]:
        """Shape of one lane's memory, [registers, d_model]."""
        return self.config.registers, self.config.d_model

    def check_tables(self, tables: CardTables) -> None:
        """Raises :class:`ModelError` naming a static table whose shape or dtype is not the architecture's."""
        expected = {"card_static": (self.cards, self.card_width), "attack_static": (self.attacks, self.attack_width)}
        for name, shape in expected.items():
            array = getattr(tables, name)
            if array.shape != shape or array.dtype.name != "float32":
                raise ModelError(f"table {name} is {array.dtype.name} {list(array.shape)}, expected float32 {list(shape)}")

    def to_dict(self) -> dict[str, Any]:
        """``arch_config``: plain JSON values; equal dictionaries mean interchangeable weights."""
        return {
            "arch_version": ARCH_VERSION,
            "model": self.config.to_dict(),
            "heads": list(self.heads),
            "cards": self.cards,
            "attacks": self.attacks,
            "card_width": self.card_width,
            "attack_width": self.attack_width,
            "schema": self.schema,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Architecture":
        """Strict inverse of :meth:`to_dict`; raises :class:`ModelError` naming an unknown, missing or other value."""
        known = {"arch_version", "model", "heads", "cards", "attacks", "card_width", "attack_width", "schema"}
        for name in sorted(set(values) ^ known):
            raise ModelError(f"arch_config key {name!r} is {'unknown' if name in values else 'missing'}")
        if values["arch_version"] != ARCH_VERSION:
            raise ModelError(f"arch_config.arch_version is {values['arch_version']}, this code computes version {ARCH_VERSION}")
        return cls(
            ModelConfig.from_dict(values["model"]),
            tuple(values["heads"]),
            values["cards"],
            values["attacks"],
            values["card_width"],
            values["attack_width"],
            values["schema"],
        )
