"""What decides a would-KO computation; part of the day's identity when it is on."""

from dataclasses import dataclass

from tcg_core.base.errors import ConfigError

VERSION = 1


@dataclass(frozen=True)
class WouldKo:
    """plain_samples: guesses of the hidden cards for an attack without text; text_samples: for one whose text may decide;
    max_steps: answers after the attack until the turn must have ended; seed: of guesses, coins and follow-up answers."""

    plain_samples: int = 1
    text_samples: int = 10
    max_steps: int = 64
    seed: int = 13
    version: int = VERSION

    def __post_init__(self) -> None:
        for name in ("plain_samples", "text_samples", "max_steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"would_ko.{name} {getattr(self, name)}: expected at least 1")
