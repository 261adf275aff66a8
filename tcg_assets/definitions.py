"""The code location `tcg_assets`: every asset, check, job, sensor and schedule, by name."""

import dagster as dg

from tcg_assets.alerts import failure_alerts, recovery_watch
from tcg_assets.assets.cards import card_features
from tcg_assets.assets.days import build_day, day_archive, parquet_day
from tcg_assets.assets.evaluation import champion, tournament
from tcg_assets.assets.field import field_drift, ratings
from tcg_assets.assets.release import submission, torch_artifact
from tcg_assets.assets.training import mlx_checkpoint, work_plan
from tcg_assets.automation import inbox_sensor, nightly_schedule
from tcg_assets.jobs import card_tables, ingest_day, nightly
from tcg_assets.kaggle import fetch, kaggle_sensor
from tcg_assets.maintenance import audit, backup, retention
from tcg_assets.messages import WholeLineReader
from tcg_assets.remedies import exclude_day, restore_day
from tcg_assets.resources import Workspace
from tcg_assets.upkeep import audit_schedule, backup_schedule, retention_schedule
from tcg_assets.watch import home_watch

#: Seconds that a cancelled trainer is given to write its latest checkpoint.
TRAINER_GRACE = 60.0

defs = dg.Definitions(
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
    jobs=[ingest_day, nightly, card_tables, fetch, exclude_day, restore_day, audit, backup, retention],
    sensors=[inbox_sensor, kaggle_sensor, failure_alerts, recovery_watch, home_watch],
    schedules=[nightly_schedule, audit_schedule, retention_schedule, backup_schedule],
    resources={
        "workspace": Workspace(),
        "trainer": dg.PipesSubprocessClient(message_reader=WholeLineReader(), termination_timeout_seconds=TRAINER_GRACE),
    },
    # A process of its own costs a step about 3 s of CPU; what must be isolated (training, matches) starts its own children.
    executor=dg.in_process_executor,
)
