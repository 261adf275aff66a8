"""The asset graph: assets with their checks, and the jobs over them. Sensors and schedules stand above it, in ``definitions``."""

import dagster as dg

from tcg_assets.assets.cards import card_features
from tcg_assets.assets.days import build_day, day_archive, parquet_day
from tcg_assets.assets.evaluation import champion, tournament
from tcg_assets.assets.field import field_drift, ratings
from tcg_assets.assets.jobs import card_tables, curriculum_phase, ingest_day, nightly
from tcg_assets.assets.release import submission, torch_artifact
from tcg_assets.assets.remedies import exclude_day, restore_day
from tcg_assets.assets.resources import Workspace
from tcg_assets.assets.training import mlx_checkpoint, work_plan
from tcg_assets.trainer.messages import WholeLineReader

#: Seconds that a cancelled trainer is given to write its latest checkpoint.
TRAINER_GRACE = 60.0

graph = dg.Definitions(
    assets=[
        day_archive,
        build_day,
        parquet_day,
        field_drift,
        ratings,
        card_features,
        work_plan,
        mlx_checkpoint,
        torch_artifact,
        submission,
        tournament,
        champion,
    ],
    jobs=[ingest_day, nightly, curriculum_phase, card_tables, exclude_day, restore_day],
    resources={
        "workspace": Workspace(),
        "trainer": dg.PipesSubprocessClient(message_reader=WholeLineReader(), termination_timeout_seconds=TRAINER_GRACE),
    },
    # A process of its own costs a step about 3 s of CPU; what must be isolated (training, matches) starts its own children.
    executor=dg.in_process_executor,
)
