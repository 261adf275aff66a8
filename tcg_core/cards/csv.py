"""What only ``EN_Card_Data.csv`` tells of a card: its Category, and whether the damage of a move can grow.

Format: utf-8-sig, one row per move, so several rows a card; ``n/a`` or nothing for a missing value; a damage that can grow ends
in x or +, as in ``30x`` or ``50+``. Card ID is the id of engine generation v1. Columns that are not read here may be absent.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tcg_core.base.digest import sha256_bytes
from tcg_core.cards.errors import CardCsvError

GENERATION = "v1"
CARD_ID, CATEGORY, DAMAGE = "Card ID", "Category", "Damage"
GROWS = "damage_suffix"
_ID = re.compile(r"[0-9]{1,9}")
_SUFFIX = re.compile(r"[0-9]\s*[xX\N{MULTIPLICATION SIGN}+]$")


@dataclass(frozen=True)
class CardRow:
    """One row: its number in the file (the header is row 1), the card, its Category ("" if missing), and whether the
    row's damage ends in x or +."""

    number: int
    card_id: int
    category: str
    grows: bool


@dataclass(frozen=True)
class CardCsv:
    """The rows of one file and the SHA-256 of its bytes; ``where`` names it in refusals."""

    where: str
    sha256: str
    rows: tuple[CardRow, ...]

    @property
    def categories(self) -> tuple[str, ...]:
        """Distinct categories, sorted."""
        return tuple(sorted({row.category for row in self.rows if row.category}))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that :meth:`features` makes."""
        return (*(f"category_{category}" for category in self.categories), GROWS)

    def features(self, index: Mapping[str, npt.NDArray[np.int32]], size: int) -> npt.NDArray[np.float32]:
        """float32 [size, len(names)] of 0 and 1 by vocabulary position; ``index`` as in ``CardTables.card_index``.

        A card of another generation has them by sharing the position; one that the file does not tell of has zeros. Raises
        :class:`CardCsvError` naming the row of an unknown card, or of a second Category of the same card.
        """
        if GENERATION not in index:
            raise CardCsvError(
                f"{self.where}: column {CARD_ID} is of engine generation {GENERATION}, the tables hold {', '.join(sorted(index))}"
            )
        ids, columns = index[GENERATION], {category: column for column, category in enumerate(self.categories)}
        matrix = np.zeros((size, len(self.names)), np.float32)
        told: dict[int, CardRow] = {}
        for row in self.rows:
            position = int(ids[row.card_id]) if 0 < row.card_id < len(ids) else -1
            if position < 0:
                found = f"card {row.card_id} is unknown to engine generation {GENERATION}"
                raise _refusal(self.where, row.number, CARD_ID, found)
            if row.category:
                first = told.setdefault(position, row)
                if first.category != row.category:
                    found = f"card {row.card_id} has {row.category!r:.60}, but {first.category!r:.60} in row {first.number}"
                    raise _refusal(self.where, row.number, CATEGORY, found)
                matrix[position, columns[row.category]] = 1
            if row.grows:
                matrix[position, -1] = 1
        return matrix


def read_card_csv(path: Path) -> CardCsv | None:
    """The file's rows, None if there is no such file; raises :class:`CardCsvError` if it cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CardCsvError(f"{path} cannot be read: {error.strerror or error}") from None
    return parse_card_csv(data, str(path))


def parse_card_csv(data: bytes, where: str) -> CardCsv:
    """The rows from the file's bytes; raises :class:`CardCsvError` naming file, row and column."""
    table = _table(data, where)
    _, header = next(table, (1, []))
    places = {name: _place(header, name, where) for name in (CARD_ID, CATEGORY, DAMAGE)}
    rows = []
    for number, cells in table:
        if len(cells) < len(header):
            raise _refusal(where, number, header[len(cells)], f"missing: {len(cells)} cells, expected {len(header)}")
        if len(cells) > len(header):
            raise _refusal(where, number, str(len(header) + 1), f"not in the header: {len(cells)} cells, expected {len(header)}")
        values = {name: " ".join(cells[place].split()) for name, place in places.items()}
        if not _ID.fullmatch(values[CARD_ID]):
            raise _refusal(where, number, CARD_ID, f"{values[CARD_ID]!r:.40} is no number")
        category = "" if values[CATEGORY].lower() == "n/a" else values[CATEGORY]
        rows.append(CardRow(number, int(values[CARD_ID]), category, bool(_SUFFIX.search(values[DAMAGE]))))
    if not rows:
        raise _refusal(where, 2, CARD_ID, "missing: the file has no cards")
    return CardCsv(where, sha256_bytes(data), tuple(rows))


def _table(data: bytes, where: str) -> Iterator[tuple[int, list[str]]]:
    """(number, cells) of each row that is not blank."""
    number = 0
    try:
        for number, cells in enumerate(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True), 1):
            if cells:
                yield number, cells
    except UnicodeDecodeError as error:
        raise CardCsvError(f"{where} line {error.object[: error.start].count(10) + 1}: not UTF-8 text") from None
    except csv.Error as error:
        raise CardCsvError(f"{where} row {number + 1}: no CSV text: {error}") from None


def _place(header: list[str], name: str, where: str) -> int:
    found = [place for place, heading in enumerate(header) if heading.strip() == name]
    if len(found) != 1:
        raise _refusal(where, 1, name, f"occurs {len(found)} times" if found else "missing")
    return found[0]


def _refusal(where: str, row: int, column: str, found: str) -> CardCsvError:
    return CardCsvError(f"{where} row {row} column {column}: {found}")
