"""The one base of every error a person is meant to read, and the text of one as any output can hold it."""


def encodable(text: str) -> str:
    """``text`` as any file, log or pipe can hold it: lone surrogates, which no encoding has, as their escapes."""
    return text.encode(errors="backslashreplace").decode()


class TcgError(Exception):
    """A refusal with one clear line: what was wrong, where, expected and found.

    The command line prints the message and exits 2; nothing was written in half.
    """


class ConfigError(TcgError):
    """A configuration key or value that is not accepted."""


class HomeError(TcgError):
    """The data home cannot be used as it stands."""


class IntegrityError(TcgError):
    """Bytes on disk are not the bytes that were recorded."""


class UnknownId(TcgError):
    """A named artifact, day, deck or agent does not exist."""
