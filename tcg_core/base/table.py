"""The one table of text: columns two blanks apart, numbers to the right, long cells folded."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

_GAP = "  "
#: No column is folded to fewer characters.
_NARROWEST = 8
_NUMBER = re.compile(r"[-+−]?[\d,]*\.?\d+(e[-+]?\d+)?[%x]?")


def cell(value: Any) -> str:
    """One value in a line: four digits of a float, the items of a table, nothing for None."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(item)}" for key, item in value.items())
    return "" if value is None else str(value)


def text_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int = 0) -> list[str]:
    """The lines of a table, its head first; a column of numbers only is set to the right.

    width: characters that a line may have; 0: as many as it needs. The widest columns are folded until the table fits.
    """
    cells = [[cell(value) for value in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(columns, *cells, strict=True)]
    right = [bool(cells) and all(_NUMBER.fullmatch(row[place]) for row in cells) for place in range(len(columns))]
    while width and sum(widths) + len(_GAP) * (len(widths) - 1) > width and max(widths) > _NARROWEST:
        widths[widths.index(max(widths))] -= 1
    folded = [[_folded(text, most) for text, most in zip(row, widths, strict=True)] for row in (columns, *cells)]
    # Words rarely fill a folded column: it is as wide as its longest line.
    widths = [max(len(line) for lines in column for line in lines) for column in zip(*folded, strict=True)]
    return [line for row in folded for line in _lines(row, widths, right)]


def _lines(row: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    for parts in zip_longest(*row, fillvalue=""):
        padded = [p.rjust(w) if r else p.ljust(w) for p, w, r in zip(parts, widths, right, strict=True)]
        yield _GAP.join(padded).rstrip()


def _width(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


def _folded(text: str, width: int) -> list[str]:
    """The text in lines of ``width``; its own line breaks stay."""
    wrapped = (textwrap.wrap(line, max(1, width), break_on_hyphens=False) for line in text.splitlines())
    return [part for lines in wrapped for part in lines or [""]] or [""]
