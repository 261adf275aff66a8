"""Jobs over assets: for a day, for the chain of a night, for a phase of a curriculum, for the card tables.

Partitioned and unpartitioned assets are never in one job.
"""

import dagster as dg

#: Seconds after which run monitoring ends a run; the trainer leaves `latest` behind and the next run continues from it.
NIGHT_SECONDS = 24 * 3600
DAY_SECONDS = 6 * 3600

DAY_ASSETS = ("day_archive", "day_catalog", "staged_day", "parquet_day", "field_drift")
CHAIN_ASSETS = (
    "ratings",
    "card_features",
    "work_plan",
    "mlx_checkpoint",
    "torch_artifact",
    "submission",
    "tournament",
    "champion",
)
#: Of a phase of a curriculum before the last, whose run goes the whole chain.
PHASE_ASSETS = CHAIN_ASSETS[:4]
#: Tags of a run, which its re-executions keep: the date of the night that asked for it, the digest of the days, code and recipe
#: that it trains, the key of the curriculum that it is a phase of.
NIGHT_TAG, DIGEST_TAG, CURRICULUM_TAG = "tcg/night", "tcg/training_digest", "tcg/curriculum"

ingest_day = dg.define_asset_job(
    "ingest_day",
    selection=dg.AssetSelection.assets(*DAY_ASSETS),
    description="One day: take its archive, build it, check it, promote it, compare its field.",
    # A run whose process is lost is started again by Dagster (run_retries in dagster.yaml).
    tags={"dagster/max_runtime": str(DAY_SECONDS), "dagster/max_retries": "2"},
)
nightly = dg.define_asset_job(
    "nightly",
    selection=dg.AssetSelection.assets(*CHAIN_ASSETS),
    description="From validated days, rated, to a packed submission, its tournament and the champion.",
    tags={"dagster/max_runtime": str(NIGHT_SECONDS)},
)
curriculum_phase = dg.define_asset_job(
    "curriculum_phase",
    selection=dg.AssetSelection.assets(*PHASE_ASSETS),
    description="One phase of a curriculum before the last: its plan and its training. `curriculum_sensor` queues it.",
    tags={"dagster/max_runtime": str(NIGHT_SECONDS)},
)
card_tables = dg.define_asset_job(
    "card_tables",
    selection=dg.AssetSelection.assets("card_features"),
    description="Card and attack tables of the installed engine.",
)
