"""Plots of the report as inline SVG, for screen and paper."""

import math
from collections.abc import Sequence
from html import escape

from tcg_core.arena.stats.score import Interval

_BLUE, _GREY = "#0550ae", "#8c959f"
_WIDTH, _LEFT, _RIGHT, _STEP = 680, 180, 30, 28
_LONGEST = 23


def forest(rows: Sequence[tuple[str, Interval]], label: str) -> str:
    """Scores from 0 to 1 with their intervals, one row each, the middle marked."""
    ticks = [(place, f"{place:.0%}") for place in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return _intervals(rows, label, 0.0, 1.0, ticks, 0.5)


def rating_forest(rows: Sequence[tuple[str, Interval]], label: str) -> str:
    """Ratings in Elo with their intervals around 0; an interval that leaves the axis ends at its border."""
    finite = [abs(end) for _, found in rows for end in (found.value, found.low, found.high) if math.isfinite(end)]
    reach = max(100.0, 100.0 * math.ceil(min(1200.0, max(finite, default=100.0)) / 100.0))
    step = reach / 4
    ticks = [(step * place, f"{step * place:+.0f}".replace("-", "−")) for place in range(-4, 5)]
    return _intervals(rows, label, -reach, reach, ticks, 0.0)


def histogram(values: Sequence[int], label: str, unit: str) -> str:
    """Counts of whole numbers in at most 30 equal bins."""
    if not values:
        return "<p class='note'>No games.</p>"
    low, high = min(values), max(values)
    width = max(1, math.ceil((high - low + 1) / 30))
    counts = [0] * ((high - low) // width + 1)
    for value in values:
        counts[(value - low) // width] += 1
    tallest, height, base = max(counts), 110, 95
    bar = (_WIDTH - 60) / len(counts)
    marks = []
    for place, count in enumerate(counts):
        tall = 80.0 * count / tallest
        left = 40 + bar * place
        marks.append(
            f"<rect x='{left:.1f}' y='{base - tall:.1f}' width='{max(1.0, bar - 1):.1f}' height='{tall:.1f}' fill='{_BLUE}'>"
            f"<title>{low + place * width} {escape(unit)}: {count} games</title></rect>"
        )
    for place in sorted({0, len(counts) // 2, len(counts) - 1}):
        x = 40 + bar * (place + 0.5)
        marks.append(f"<text x='{x:.1f}' y='{height}' font-size='11' text-anchor='middle'>{low + place * width}</text>")
    marks.append(f"<text x='34' y='22' font-size='11' text-anchor='end'>{tallest}</text>")
    marks.append(f"<text x='34' y='{base}' font-size='11' text-anchor='end'>0</text>")
    marks.append(f"<line x1='40' x2='{_WIDTH - 20}' y1='{base}' y2='{base}' stroke='{_GREY}'/>")
    return _svg(marks, height + 6, label)


def _intervals(
    rows: Sequence[tuple[str, Interval]],
    label: str,
    low: float,
    high: float,
    ticks: Sequence[tuple[float, str]],
    middle: float,
) -> str:
    if not rows:
        return "<p class='note'>No game counts.</p>"
    height = _STEP * len(rows) + 44

    def x(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (min(high, max(low, value)) - low) / (high - low)

    marks = []
    for place, text in ticks:
        dash = "" if place == middle else " stroke-dasharray='2 3'"
        marks.append(f"<line x1='{x(place):.1f}' x2='{x(place):.1f}' y1='8' y2='{height - 24}' stroke='{_GREY}'{dash}/>")
        marks.append(f"<text x='{x(place):.1f}' y='{height - 8}' font-size='11' text-anchor='middle'>{escape(text)}</text>")
    for number, (name, found) in enumerate(rows):
        y = 24 + _STEP * number
        shown = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
        title = f"<title>{escape(name)}</title>"
        marks.append(f"<text x='{_LEFT - 12}' y='{y + 4}' font-size='12' text-anchor='end'>{escape(shown)}{title}</text>")
        line = f"y1='{y}' y2='{y}' stroke='{_BLUE}' stroke-width='2'"
        marks.append(f"<line x1='{x(found.low):.1f}' x2='{x(found.high):.1f}' {line}/>")
        for end in (found.low, found.high):
            if low <= end <= high:
                marks.append(f"<line x1='{x(end):.1f}' x2='{x(end):.1f}' y1='{y - 5}' y2='{y + 5}' stroke='{_BLUE}'/>")
        marks.append(f"<circle cx='{x(found.value):.1f}' cy='{y}' r='4.5' fill='{_BLUE}'/>")
    return _svg(marks, height, label)


def _svg(marks: Sequence[str], height: float, label: str) -> str:
    return (
        f"<figure><svg role='img' aria-label='{escape(label, quote=True)}' viewBox='0 0 {_WIDTH} {height:.0f}' "
        f"style='max-width:{_WIDTH}px;width:100%;display:block'>{''.join(marks)}</svg>"
        f"<figcaption>{escape(label)}</figcaption></figure>"
    )
