"""What the trainer refuses."""

from tcg_core.errors import TcgError


class TrainError(TcgError):
    """A run that cannot go on as planned."""


class TrainerBusy(TcgError):
    """Another trainer holds the lock of this home."""


class RecoverRefused(TcgError):
    """The checkpoint on disk is of another run than the one asked for; the message names what differs."""


class CurriculumStopped(TcgError):
    """A phase whose plan or run did not pass its checks: the phases after it are not begun."""


class Diverged(TcgError):
    """NaN or infinity in a loss, gradient or parameter; the message names the tensor. The last checkpoint stays."""
