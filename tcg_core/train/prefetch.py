"""One item ahead in a thread: the next microbatch is collated while the present one is computed.

The thread hands over numpy only; MLX's streams belong to the thread that made them (`facts/mlx.md` §3).
"""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

OUTSIDE_IDENTITY = "when a batch is made changes nothing of it"

T = TypeVar("T")
U = TypeVar("U")


def ahead(make: Callable[[T], U], items: Sequence[T]) -> Generator[U, None, None]:
    """``make`` of each item, in order; an error comes out where the item would have."""
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    try:
        waiting: Future[U] | None = pool.submit(make, items[0]) if items else None
        for following in [*items[1:], None]:
            if waiting is None:
                return
            made = waiting.result()
            waiting = pool.submit(make, following) if following is not None else None
            yield made
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
