"""The table of text: what stands where, and what is folded."""

import pytest

from tcg_core.base.table import cell, text_table


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (0.123456, "0.1235"), (1234567, "1234567"), (True, "True"), ({"a": 1.0, "b": None}, "a 1, b "), ("x", "x")],
)
def test_a_value_as_text(value: object, text: str) -> None:
    assert cell(value) == text


def test_names_to_the_left_and_numbers_to_the_right() -> None:
    assert text_table(["name", "rows", "share"], [["a", 5, "7.25"], ["longer", 1200, "12.50"]]) == [
        "name    rows  share",
        "a          5   7.25",
        "longer  1200  12.50",
    ]


def test_a_column_that_holds_anything_but_numbers_is_text() -> None:
    assert text_table(["day", "n"], [["2026-08-01", "none"], ["2026-08-02", 12]]) == [
        "day         n",
        "2026-08-01  none",
        "2026-08-02  12",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert text_table(["a", "b"], []) == ["a  b"]
    assert text_table(["", "b"], [["", 1]], width=80) == ["  b", "  1"]


def test_the_widest_column_is_folded_until_the_table_fits_and_nothing_is_lost() -> None:
    rows = [["archive", "every hash is as it was recorded", "x" * 30], ["rows", "", "short"]]
    lines = text_table(["check", "message", "path"], rows, width=40)
    assert max(map(len, lines)) <= 40
    assert lines[0].split() == ["check", "message", "path"]
    assert "".join("".join(lines).split()).count("x") == 30
    assert [word for line in lines for word in line.split() if word in ("every", "hash", "recorded")] == [
        "every",
        "hash",
        "recorded",
    ]
    assert [line.startswith("rows") for line in lines].count(True) == 1


def test_a_table_narrower_than_its_columns_can_be_stays_readable() -> None:
    lines = text_table(["a", "b"], [["x" * 40, "y" * 40]], width=5)
    assert {len(line) for line in lines[1:]} == {18} and len(lines) == 6


def test_a_line_break_within_a_cell_stays_in_its_column() -> None:
    assert text_table(["a", "b"], [["one\ntwo", 3]]) == ["a    b", "one  3", "two"]


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError):
        text_table(["a", "b"], [["one"]])
