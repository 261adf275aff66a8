"""What a check says. Checks are pure functions; the same results serve the command line and Dagster."""

from dataclasses import dataclass, field
from typing import Any, Literal

OUTSIDE_IDENTITY = "a check judges what was made"

Severity = Literal["ERROR", "WARN"]


@dataclass(frozen=True)
class Check:
    """The result of one named check. An ERROR that did not pass blocks what comes after; a WARN is shown."""

    name: str
    passed: bool
    message: str
    severity: Severity = "ERROR"
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def blocks(self) -> bool:
        """True if nothing later may use what was checked."""
        return not self.passed and self.severity == "ERROR"
