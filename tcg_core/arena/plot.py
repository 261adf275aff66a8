"""Scores with their intervals as a small PNG, for places that show no HTML."""

from collections.abc import Sequence
from pathlib import Path

from tcg_core.arena.summary import Summary


def plot_scores(path: Path, candidate: str, summaries: Sequence[Summary]) -> None:
    """Writes the forest plot; drawn without any global state of the plotting library."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [(summary, summary.score) for summary in summaries if summary.score is not None]
    figure = Figure(figsize=(6.4, 1.2 + 0.45 * max(1, len(shown))), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.axvline(0.5, color="#57606a", linewidth=1)
    for place, (_, score) in enumerate(shown):
        errors = [[max(0.0, score.value - score.low)], [max(0.0, score.high - score.value)]]
        axes.errorbar([score.value], [place], xerr=errors, fmt="o", color="#0550ae", capsize=3, clip_on=False)
    axes.set_yticks(range(len(shown)), [f"{summary.opponent} (n = {summary.clean})" for summary, _ in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel(f"score of {candidate}, 95 % Wilson interval")
    figure.savefig(path, metadata={"Software": None})
