"""Whether a day needs to be built at all."""

from tcg_core.home import Home


def why_current(home: Home, day: str) -> str:
    """The reason why ``day`` needs no run, "" if it needs one."""
    return ""
