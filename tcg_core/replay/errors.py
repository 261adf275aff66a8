"""Refusals of archives and of single episodes."""

from tcg_core.base.errors import IntegrityError, TcgError


class ArchiveError(IntegrityError):
    """A day archive cannot be used as a whole; the message names the file."""


class Quarantine(TcgError):
    """One episode is set aside whole; the rest of its day goes on.

    reason: a short fixed word to count by (``broken_json``, ``malformed``, ``illegal_label`` ...); text: one line naming
    member, place, expected and found.
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text

    def __reduce__(self) -> tuple[type["Quarantine"], tuple[str, str]]:
        return type(self), (self.reason, self.text)
