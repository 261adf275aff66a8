"""The forest plot: one drawing, two formats."""

import math
import re
import struct
from pathlib import Path

import pytest
from matplotlib.axes import Axes

from tcg_core.arena.forest import Forest
from tcg_core.arena.stats.score import Interval

ROWS = [("heuristic", Interval(0.75, 0.5, 0.9)), ("<b> & co", Interval(0.0, -0.1, 0.25))]


def numbers(page: str, tag: str, *names: str) -> list[tuple[float, ...]]:
    """Attributes of each mark of a kind."""
    found = re.findall(f"<{tag} [^>]*>", page)
    return [tuple(float(value[1]) for name in names if (value := re.search(f"{name}='([^']*)'", mark))) for mark in found]


def test_a_score_stands_where_the_axis_says() -> None:
    page = Forest.of_scores(ROWS, "scores").svg()
    assert numbers(page, "circle", "cx", "cy") == [(532.5, 24.0), (180.0, 52.0)]
    thick = [line for line in re.findall("<line [^>]*>", page) if "stroke-width='2'" in line]
    assert numbers("".join(thick), "line", "x1", "x2") == [(415.0, 603.0), (180.0, 297.5)]
    assert "&lt;b&gt; &amp; co" in page and "<b>" not in page


def test_an_end_outside_the_axis_has_no_bar() -> None:
    """Three ends of four lie on the axis."""
    page = Forest.of_scores(ROWS, "scores").svg()
    bars = [line for line in re.findall("<line [^>]*>", page) if "#0550ae" in line and "stroke-width" not in line]
    assert len(bars) == 3


def test_the_axis_of_ratings_reaches_as_far_as_the_finite_ends() -> None:
    page = Forest.of_ratings([("us", Interval(120.0, -math.inf, 250.0)), ("x", Interval(-5000.0, -6000.0, -10.0))], "r").svg()
    assert "−1200" in page and "+1200" in page, "no axis is longer"
    near = Forest.of_ratings([("us", Interval(120.0, -math.inf, 250.0))], "r").svg()
    assert "−300" in near and "+300" in near
    assert "+100" in Forest.of_ratings([("us", Interval(math.inf, math.inf, math.inf))], "r").svg()


def test_without_a_row_the_report_says_so_and_the_picture_is_there(tmp_path: Path) -> None:
    empty = Forest.of_scores([], "scores")
    assert empty.svg() == "<p class='note'>No game counts.</p>"
    empty.png(tmp_path / "scores.png")
    assert (tmp_path / "scores.png").stat().st_size > 0


def test_the_picture_has_every_mark_of_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, written = [], []
    plot, text = Axes.plot, Axes.text
    monkeypatch.setattr(Axes, "plot", lambda axes, x, y, **style: drawn.append((tuple(x), tuple(y))) or plot(axes, x, y, **style))
    monkeypatch.setattr(Axes, "text", lambda axes, x, y, s, **style: written.append(s) or text(axes, x, y, s, **style))
    forest, path = Forest.of_scores(ROWS, "score of $us_1$"), tmp_path / "scores.png"
    forest.png(path)
    page = forest.svg()
    lines, dots = numbers(page, "line", "x1", "x2", "y1", "y2"), numbers(page, "circle", "cx", "cy")
    marks = [[round(value, 1) for value in (*x, *y)] for x, y in drawn]
    assert sorted(marks) == sorted([*map(list, lines), *map(list, dots)])
    assert written == ["0%", "25%", "50%", "75%", "100%", "heuristic", "<b> & co", "score of $us_1$"]
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    assert (width, height) == (680, forest.height + 20)


def test_the_same_scores_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Forest.of_scores(ROWS, "scores").png(tmp_path / f"{name}.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
