"""Plots of the report as inline SVG, for screen and paper."""

import math
from collections.abc import Sequence
from html import escape

BLUE, GREY = "#0550ae", "#8c959f"
#: Pixels of a figure on a screen.
WIDTH = 680


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
    bar = (WIDTH - 60) / len(counts)
    marks = []
    for place, count in enumerate(counts):
        tall = 80.0 * count / tallest
        left = 40 + bar * place
        marks.append(
            f"<rect x='{left:.1f}' y='{base - tall:.1f}' width='{max(1.0, bar - 1):.1f}' height='{tall:.1f}' fill='{BLUE}'>"
            f"<title>{low + place * width} {escape(unit)}: {count} games</title></rect>"
        )
    for place in sorted({0, len(counts) // 2, len(counts) - 1}):
        x = 40 + bar * (place + 0.5)
        marks.append(f"<text x='{x:.1f}' y='{height}' font-size='11' text-anchor='middle'>{low + place * width}</text>")
    marks.append(f"<text x='34' y='22' font-size='11' text-anchor='end'>{tallest}</text>")
    marks.append(f"<text x='34' y='{base}' font-size='11' text-anchor='end'>0</text>")
    marks.append(f"<line x1='40' x2='{WIDTH - 20}' y1='{base}' y2='{base}' stroke='{GREY}'/>")
    return svg(marks, height + 6, label)


def svg(marks: Sequence[str], height: float, label: str) -> str:
    """A figure of marks in pixels, ``WIDTH`` wide at most; the label is its caption."""
    return (
        f"<figure><svg role='img' aria-label='{escape(label, quote=True)}' viewBox='0 0 {WIDTH} {height:.0f}' "
        f"style='max-width:{WIDTH}px;width:100%;display:block'>{''.join(marks)}</svg>"
        f"<figcaption>{escape(label)}</figcaption></figure>"
    )
