"""What the plan refuses."""

from tcg_core.base.errors import TcgError


class PlanError(TcgError):
    """Rows or a budget from which no work plan can be made; the message names lane, day or setting, and the remedy."""


class ResumeRefused(TcgError):
    """A checkpoint that the new run cannot resume; the message names what differs."""


class ChampionRefused(TcgError):
    """A champion whose run cannot be resumed; the message says what is missing or differs, and the remedy."""


class CurriculumStopped(TcgError):
    """A phase whose plan or run did not pass its checks; the message names phase and check."""
