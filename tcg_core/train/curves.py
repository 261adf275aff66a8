"""The picture of a run: loss over updates and accuracy over epochs, well under 50 kB."""

from pathlib import Path

from tcg_core.base.atomic import replacing
from tcg_core.train.runs.state import Progress

OUTSIDE_IDENTITY = "a picture of the run"


def draw(path: Path, progress: Progress) -> None:
    """Writes ``curves.png``."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 2.8), layout="constrained")
    loss, accuracy = figure.subplots(1, 2)
    loss.plot([p[0] for p in progress.curve], [p[1] for p in progress.curve], color="#9dc3e6", linewidth=0.8, label="training")
    ends = [entry["updates"] for entry in progress.history]
    loss.plot(
        ends,
        [entry["validation"]["ce"] for entry in progress.history],
        color="#1f4e79",
        marker="o",
        markersize=3,
        label="validation",
    )
    loss.set(xlabel="update", ylabel="cross-entropy")
    epochs = [entry["epoch"] + 1 for entry in progress.history]
    for name, color, label in (("acc", "#1f4e79", "accuracy"), ("rank_baseline", "#a6a6a6", "most frequent rank")):
        values = [entry["validation"]["unforced"][name] for entry in progress.history]
        accuracy.plot(epochs, values, color=color, marker="o", markersize=3, label=label)
    accuracy.set(xlabel="epoch", ylabel="unforced validation rows", ylim=(0, 1))
    for axes in (loss, accuracy):
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=80, format="png")
