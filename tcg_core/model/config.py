"""The network's configuration: standard dataclass, so that it travels into the sandbox as it is."""

from dataclasses import asdict, dataclass
from typing import Any


class ModelError(ValueError):
    """A configuration, weight or input that the network refuses; the message names it."""


@dataclass(frozen=True)
class ModelConfig:
    """Set/pointer transformer with recurrent scratch registers.

    d_model: width of every token; heads: attention heads (divide d_model); layers: encoder layers; ff: width of the
    feed-forward; registers: recurrent memory tokens, memory is float32 [registers, d_model]; static: project the
    static card and attack features into token space; split_heads: separate policy, submit and value tokens (else
    one token serves all three); structured: each option type adds a query and a bias of its own to the option head;
    would_ko: options are also told what the engine's look-ahead said of them, which a day holds if it was built so and play
    cannot compute.
    """

    d_model: int = 128
    heads: int = 4
    layers: int = 3
    ff: int = 512
    registers: int = 16
    static: bool = True
    split_heads: bool = True
    structured: bool = False
    would_ko: bool = False

    def __post_init__(self) -> None:
        for name in ("d_model", "heads", "layers", "ff", "registers"):
            if getattr(self, name) < 1:
                raise ModelError(f"model.{name} is {getattr(self, name)}, expected at least 1")
        if self.d_model % self.heads:
            raise ModelError(f"model.d_model {self.d_model} is not a multiple of model.heads {self.heads}")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; ``would_ko`` only where it is on, so that other networks are described as they always were."""
        values = asdict(self)
        if not self.would_ko:
            del values["would_ko"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelConfig":
        """Strict inverse of :meth:`to_dict`; raises :class:`ModelError` naming unknown or missing keys."""
        known = set(cls.__dataclass_fields__)
        for name in sorted((set(values) | {"would_ko"}) ^ known):
            raise ModelError(f"model configuration key {name!r} is {'unknown' if name in values else 'missing'}")
        return cls(**values)
