"""What the trainer refuses."""

from tcg_core.base.errors import TcgError

#: The first word of an unfinished run's line.
UNFINISHED = "unfinished"


class TrainError(TcgError):
    """A run that cannot continue as planned."""


class TrainerBusy(TcgError):
    """Another trainer holds the lock of this home."""


class RecoverRefused(TcgError):
    """The checkpoint on disk belongs to a different run than the one asked for; the message names what differs."""


class BringRefused(TcgError):
    """A run of another data home that cannot be imported; the message names what is missing, failed or differs."""


class Unfinished(TcgError):
    """A run that was asked to end early; started again, it continues. The message is one line for a person.

    progress: epoch (from 1), microbatch of the epoch's microbatches, update of updates; reason: why it ended.
    """

    def __init__(self, reason: str, progress: dict[str, int]) -> None:
        self.reason, self.progress = reason, progress
        where = "epoch {epoch}, microbatch {microbatch} of {microbatches}, update {update} of {updates}".format(**progress)
        super().__init__(f"{UNFINISHED}: {where} ({reason}); started again it goes on")


class Diverged(TcgError):
    """NaN or infinity in a loss, gradient or parameter; the message names the tensor. The last checkpoint stays."""
