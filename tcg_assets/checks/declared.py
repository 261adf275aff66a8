"""The form in which checks are declared."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Declared:
    """Checks of one asset: name -> what it holds to. ``error`` block, ``warn`` are shown."""

    error: dict[str, str]
    warn: dict[str, str] = field(default_factory=dict)
