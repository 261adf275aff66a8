"""The shape of a day as one small picture."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tcg_core.catalog.records import EpisodeRecord

OUTSIDE_IDENTITY = "a picture of the day"


def draw_shape(path: Path, day: str, records: Sequence[EpisodeRecord], options: Counter[int]) -> None:
    """Decisions a game beside options a row, under 50 kB; without date or software in the file, so that its bytes repeat."""
    from matplotlib.figure import Figure  # half a second, which every worker and every reader of days would pay

    games = [game.decisions for record in records for game in record.games if game.excluded is None]
    figure = Figure(figsize=(7, 2.6), dpi=80, layout="constrained")
    left, right = figure.subplots(1, 2)
    left.hist(games, bins=30, color="#3b6ea5")
    left.set(title=f"{day}: {len(games)} games", xlabel="decisions a game", ylabel="games")
    wide = {min(count, 30): 0 for count in options}
    for count, rows in options.items():
        wide[min(count, 30)] += rows
    right.bar(list(wide), list(wide.values()), color="#b5651d")
    right.set(title=f"{sum(options.values())} rows", xlabel="options a row (30: more)", ylabel="rows")
    figure.savefig(path, metadata={"Software": None})
