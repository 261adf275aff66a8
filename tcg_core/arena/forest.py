"""Scores and ratings with their intervals, drawn once: as SVG in the report, as PNG for places that show no HTML."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tcg_core.arena.plots import BLUE, GREY, WIDTH, svg
from tcg_core.arena.stats.score import Interval

#: Pixels: from the left and right border to the axis, from row to row, from the last row to the lower border.
_LEFT, _RIGHT, _STEP, _BELOW = 180, 30, 28, 44
#: Characters of a name that find room left of the axis.
_LONGEST = 23
_DPI = 100


@dataclass(frozen=True)
class _Line:
    """From (x1, y1) to (x2, y2) in pixels, y downwards."""

    x1: float
    x2: float
    y1: float
    y2: float
    colour: str
    width: int = 1
    dashed: bool = False

    @property
    def svg(self) -> str:
        width = f" stroke-width='{self.width}'" if self.width != 1 else ""
        dash = " stroke-dasharray='2 3'" if self.dashed else ""
        place = f"x1='{self.x1:.1f}' x2='{self.x2:.1f}' y1='{self.y1:g}' y2='{self.y2:g}'"
        return f"<line {place} stroke='{self.colour}'{width}{dash}/>"


@dataclass(frozen=True)
class _Text:
    """Text that ends at x, or has its middle there. whole: what is shown when a pointer rests on it."""

    x: float
    y: float
    text: str
    size: int
    anchor: str
    whole: str = ""

    @property
    def svg(self) -> str:
        title = f"<title>{escape(self.whole)}</title>" if self.whole else ""
        place = f"x='{self.x:.1f}' y='{self.y:g}'"
        return f"<text {place} font-size='{self.size}' text-anchor='{self.anchor}'>{escape(self.text)}{title}</text>"


@dataclass(frozen=True)
class _Dot:
    """A filled circle."""

    x: float
    y: float
    radius: float

    @property
    def svg(self) -> str:
        return f"<circle cx='{self.x:.1f}' cy='{self.y:g}' r='{self.radius}' fill='{BLUE}'/>"


@dataclass(frozen=True)
class Forest:
    """Intervals by name, one row each, on an axis from ``low`` to ``high`` whose ``middle`` is marked.

    An interval that leaves the axis ends at its border, without a bar.
    """

    rows: tuple[tuple[str, Interval], ...]
    label: str
    low: float
    high: float
    middle: float
    ticks: tuple[tuple[float, str], ...]

    @classmethod
    def of_scores(cls, rows: Sequence[tuple[str, Interval]], label: str) -> "Forest":
        """Scores from 0 to 1."""
        return cls(tuple(rows), label, 0.0, 1.0, 0.5, tuple((place, f"{place:.0%}") for place in (0.0, 0.25, 0.5, 0.75, 1.0)))

    @classmethod
    def of_ratings(cls, rows: Sequence[tuple[str, Interval]], label: str) -> "Forest":
        """Ratings in Elo around 0, as far as the finite ends reach, from 100 to 1200."""
        finite = [abs(end) for _, found in rows for end in (found.value, found.low, found.high) if math.isfinite(end)]
        reach = max(100.0, 100.0 * math.ceil(min(1200.0, max(finite, default=100.0)) / 100.0))
        ticks = tuple((reach / 4 * place, f"{reach / 4 * place:+.0f}".replace("-", "−")) for place in range(-4, 5))
        return cls(tuple(rows), label, -reach, reach, 0.0, ticks)

    @property
    def height(self) -> int:
        """Pixels."""
        return _STEP * len(self.rows) + _BELOW

    def svg(self) -> str:
        """A figure of the report, a sentence where there is no row."""
        if not self.rows:
            return "<p class='note'>No game counts.</p>"
        return svg([mark.svg for mark in self._marks()], self.height, self.label)

    def png(self, path: Path) -> None:
        """Writes the picture with its label below; drawn without any global state of the plotting library."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        height, point = self.height + 20, 72 / _DPI
        figure = Figure(figsize=(WIDTH / _DPI, height / _DPI), dpi=_DPI)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0, WIDTH), ylim=(height, 0))
        axes.set_axis_off()
        label = _Text((WIDTH + _LEFT - _RIGHT) / 2, height - 8, self.label, 11, "middle")
        for mark in (*self._marks(), label):
            match mark:
                case _Line():
                    style = (0, (2, 3)) if mark.dashed else "solid"
                    ends = (mark.x1, mark.x2), (mark.y1, mark.y2)
                    axes.plot(*ends, color=mark.colour, linewidth=mark.width * point, linestyle=style)
                case _Text():
                    side = "right" if mark.anchor == "end" else "center"
                    axes.text(mark.x, mark.y, mark.text, fontsize=mark.size * point, ha=side, va="baseline", parse_math=False)
                case _Dot():
                    axes.plot([mark.x], [mark.y], marker="o", markersize=2 * mark.radius * point, color=BLUE)
        figure.savefig(path, metadata={"Software": None})

    def _x(self, value: float) -> float:
        inside = min(self.high, max(self.low, value))
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * (inside - self.low) / (self.high - self.low)

    def _marks(self) -> Iterator[_Line | _Text | _Dot]:
        for place, text in self.ticks:
            x = self._x(place)
            yield _Line(x, x, 8, self.height - 24, GREY, dashed=place != self.middle)
            yield _Text(x, self.height - 8, text, 11, "middle")
        for number, (name, found) in enumerate(self.rows):
            y = 24 + _STEP * number
            yield _Text(_LEFT - 12, y + 4, name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…", 12, "end", name)
            yield _Line(self._x(found.low), self._x(found.high), y, y, BLUE, 2)
            for end in (found.low, found.high):
                if self.low <= end <= self.high:
                    yield _Line(self._x(end), self._x(end), y - 5, y + 5, BLUE)
            yield _Dot(self._x(found.value), y, 4.5)
