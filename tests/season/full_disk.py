"""`python -m tests.season.full_disk BYTES COMMAND ...`: `tcg COMMAND ...` on a disk that is full for the rows of a day.

Files of this process cannot grow beyond BYTES from the moment at which `rows.parquet` is opened until it is closed. The limit
is the system's own, so the write fails where a real one would; that nothing else is written meanwhile pins it to that file.
"""

import resource
import sys
from types import TracebackType

from tcg_assets.cli.main import main
from tcg_core.days import write_day
from tcg_core.rows.writer import DayWriter


class NoRoom(DayWriter):
    """The writer of a day on a full disk."""

    room = 0

    def __enter__(self) -> "NoRoom":
        self._soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.room, hard))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._soft, hard))


if __name__ == "__main__":
    NoRoom.room = int(sys.argv[1])
    write_day.DayWriter = NoRoom  # type: ignore[attr-defined]
    sys.argv = ["tcg", *sys.argv[2:]]
    main()
