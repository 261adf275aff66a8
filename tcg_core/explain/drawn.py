"""Small pictures as SVG text: a curve, bars. A page of Dagster shows an image of under 1,000
characters where it stands, so each picture stays below :data:`MOST_BYTES`."""

from collections.abc import Sequence
from html import escape

OUTSIDE_IDENTITY = "pictures of results"
#: Base64 makes four characters of three bytes; the rest is the frame of Markdown around it.
MOST_BYTES = 700
_POINTS, _BARS, _WIDTH = 30, 3, 400


def curve(values: Sequence[float], label: str) -> str:
    """A falling or rising line over at most 30 means of neighbours; "" with fewer than two values."""
    if len(values) < 2:
        return ""
    step = max(1, -(-len(values) // _POINTS))
    shown = [sum(part) / len(part) for part in (values[i : i + step] for i in range(0, len(values), step))]
    low, high = min(shown), max(shown)
    width = _WIDTH / max(1, len(shown) - 1)
    points = " ".join(f"{i * width:.0f},{78 - 60 * (v - low) / ((high - low) or 1):.0f}" for i, v in enumerate(shown))
    text = f"{label} {shown[0]:.3g} to {shown[-1]:.3g}"
    line = f'<polyline points="{points}" fill="none" stroke="#1f4e79" stroke-width="2"/>'
    return _svg(80, f'<text x="60" y="12">{escape(text)}</text>{line}')


def bars(values: Sequence[tuple[str, float]]) -> str:
    """One bar for each of the first three names, as long as its share of the largest; "" if none is above 0."""
    most = max((value for _, value in values), default=0)
    if most <= 0:
        return ""
    parts = [
        f'<rect x="110" y="{i * 20 + 4}" width="{220 * value / most:.0f}" height="12" fill="#9dc3e6"/>'
        f'<text y="{i * 20 + 14}">{escape(name[:16])}</text><text x="340" y="{i * 20 + 14}">{value:,.6g}</text>'
        for i, (name, value) in enumerate(values[:_BARS])
    ]
    return _svg(20 * len(parts), "".join(parts))


def _svg(height: int, inner: str) -> str:
    made = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-size="12">{inner}</svg>'
    return made if len(made.encode()) <= MOST_BYTES else ""
