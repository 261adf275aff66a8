"""How a check says what it found."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from tcg_core.base.checks import Check
from tcg_core.base.errors import TcgError

_SHOWN = 5


def verdict(name: str, problems: Sequence[str], fine: str, total: int | None = None, **facts: object) -> Check:
    """Passed if there are no problems; else the first few are named. ``total``: how many there are if not all are listed."""
    count = len(problems) if total is None else total
    shown = "; ".join(problems[:_SHOWN])
    more = f"; {count - min(len(problems), _SHOWN)} more" if count > _SHOWN else ""
    return Check(name, not count, f"{shown}{more}" if count else fine, facts={"problems": count, **facts})


def guarded(name: str, check: Callable[[], Check]) -> Check:
    """A file that cannot be read fails the check by name instead of ending the checks."""
    try:
        return check()
    except (TcgError, OSError, ValueError, pa.ArrowException) as error:
        return Check(name, False, f"could not be checked: {error}")


def lane_name(episode_id: int, game: int, side: int) -> str:
    """The lane in words."""
    return f"lane (episode {episode_id}, game {game}, side {side})"
