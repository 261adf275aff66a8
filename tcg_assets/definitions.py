"""The code location `tcg_assets`: the graph, and every sensor, schedule and upkeep job, by name."""

import dagster as dg

from tcg_assets import graph
from tcg_assets.automation.again import night_again
from tcg_assets.automation.alerts import failure_alerts, recovery_watch
from tcg_assets.automation.arrivals import inbox_sensor
from tcg_assets.automation.curriculum import curriculum, curriculum_sensor
from tcg_assets.automation.kaggle import fetch, kaggle_sensor
from tcg_assets.automation.maintenance import audit, backup, retention
from tcg_assets.automation.nightly import nightly_schedule
from tcg_assets.automation.upkeep import audit_schedule, backup_schedule, retention_schedule
from tcg_assets.automation.watch import home_watch
from tcg_assets.sync.code_server import serve_code

defs = dg.Definitions.merge(
    # By its module: a code location named without an attribute must have one Definitions object at its top.
    graph.graph,
    dg.Definitions(
        jobs=[fetch, curriculum, audit, backup, retention],
        sensors=[inbox_sensor, kaggle_sensor, curriculum_sensor, failure_alerts, recovery_watch, home_watch, night_again],
        schedules=[nightly_schedule, audit_schedule, retention_schedule, backup_schedule],
    ),
)

serve_code()
