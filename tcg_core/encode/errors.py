"""Errors of the packed part of the project: it runs on Kaggle without the rest, so they derive from ValueError."""


class EncodeError(ValueError):
    """An observation, row or table that does not keep the schema; the message names the stream or field."""
