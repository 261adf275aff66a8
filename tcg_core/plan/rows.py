"""Identity of the selected rows: all the plan needs to know of the data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class PlanDay:
    """A validated day of the plan. first_row: global number of its first row (days in the plan's order, all rows of a
    file counted, selected or not); first_group: likewise of its first row group; path: of the Parquet file, below the home;
    sha256: of that file; content: content hash of the dataset's manifest; rows_digest: of the logical rows, "" in a plan that was
    made before it was recorded, or where nobody has read the day since."""

    day: str
    dataset_id: str
    path: str
    sha256: str
    content: str
    rows: int
    first_row: int
    row_groups: int
    first_group: int
    rows_digest: str = ""


@dataclass(frozen=True)
class IdentityRows:
    """The selected rows in canonical order. All arrays [rows]; ``row`` is the global row number, ``group`` the global row
    group, ``validation`` the side of the row's episode."""

    row: Array
    group: Array
    day: Array
    episode_id: Array
    game: Array
    side: Array
    step_id: Array
    new_episode: Array
    aux_valid: Array
    generation: Array
    validation: Array

    def __len__(self) -> int:
        return len(self.row)

    def take(self, index: Array) -> "IdentityRows":
        """The rows at ``index``."""
        return IdentityRows(**{name: getattr(self, name)[index] for name in self.__dataclass_fields__})

    @staticmethod
    def concatenate(parts: list["IdentityRows"]) -> "IdentityRows":
        """Rows of all parts in order."""
        names = IdentityRows.__dataclass_fields__
        return IdentityRows(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
