"""Checks of a day: pure functions over what is read back from disk."""
