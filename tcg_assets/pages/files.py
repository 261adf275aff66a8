"""What the page of each asset shows beyond what its stage says: the file to open and the tables whose columns are listed."""

from dataclasses import dataclass

ROWS = "rows.parquet"


@dataclass(frozen=True)
class Page:
    """file: the file a person opens, below the artifact's directory ("": the path itself); table: its Parquet table; catalog:
    the tables of catalog.sqlite that hold it."""

    file: str = ""
    table: str | None = None
    catalog: tuple[str, ...] = ()


#: asset -> its page, in the order in which assets are made.
PAGES: dict[str, Page] = {
    "day_archive": Page(),
    "day_catalog": Page(catalog=("days", "episodes", "games", "participants", "decks", "agents")),
    "staged_day": Page(ROWS, ROWS),
    "parquet_day": Page(ROWS, ROWS),
    "field_drift": Page("field.png"),
    "ratings": Page("ratings.parquet", "ratings.parquet", ("agent_elo_daily", "rating_days")),
    "card_features": Page("tables.safetensors"),
    "work_plan": Page("summary.json", "chunks.parquet"),
    "mlx_checkpoint": Page("best.json"),
    "torch_artifact": Page("weights.safetensors"),
    "submission": Page("submission.tar.gz"),
    "tournament": Page("report.html", "games.parquet"),
    "champion": Page(catalog=("promotions",)),
}
