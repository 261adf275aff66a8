"""What a person finds on the pages of the UI, asked as the pages ask: by GraphQL, of the webserver."""

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.season.deployment import REPOSITORY
from tests.ui.conftest import LOCATION, SHOTS, Served
from tests.ui.driving import ask, shoot

_ERROR = "error { message causes { message } }"
RUN_LOG = (
    "query($run: ID!) { logsForRun(runId: $run, limit: 1000) { __typename ... on EventConnection { events { __typename"
    " ... on MessageEvent { message stepKey }"
    f" ... on ExecutionStepFailureEvent {{ {_ERROR} failureMetadata {{ description }} }}"
    f" ... on RunFailureEvent {{ {_ERROR} }} }} }} }} }}"
)
_TICKS = f"ticks(limit: 100) {{ timestamp status skipReason runIds {_ERROR} }}"
SENSOR = (
    "query($of: SensorSelector!) { found: sensorOrError(sensorSelector: $of) { ... on Sensor {"
    f" state: sensorState {{ {_TICKS} }} }} }} }}"
)
SCHEDULE = (
    "query($of: ScheduleSelector!) { found: scheduleOrError(scheduleSelector: $of) { ... on Schedule {"
    f" state: scheduleState {{ {_TICKS} }} }} }} }}"
)
CHECKS = (
    "query($asset: AssetKeyInput!, $check: String!) { assetCheckExecutions(assetKey: $asset, checkName: $check, limit: 100) {"
    " status runId evaluation { success description } } }"
)
PARTITIONS = (
    "query($asset: AssetKeyInput!) { assetNodeOrError(assetKey: $asset) { ... on AssetNode { assetPartitionStatuses"
    " { ... on DefaultPartitionStatuses { materializedPartitions failedPartitions } } } } }"
)
MATERIALIZATIONS = (
    "query($asset: AssetKeyInput!, $days: [String!]) { assetOrError(assetKey: $asset) { ... on Asset {"
    " assetMaterializations(partitions: $days, limit: 50) { runId metadataEntries { label"
    " ... on TextMetadataEntry { text } } } } } }"
)
HEARTBEATS = "{ instance { daemonHealth { allDaemonStatuses { daemonType required healthy lastHeartbeatTime } } } }"


@dataclass(frozen=True)
class Tick:
    """One look of a sensor or schedule, as its page lists it."""

    at: float
    status: str
    told: str
    runs: tuple[str, ...]


def failures_of(served: Served, run_id: str) -> str:
    """All that the page of a run says in red: of its steps and of itself, with the causes below the text."""
    told = ask(served, RUN_LOG, run=run_id)["logsForRun"]
    lines = []
    for event in told["events"]:
        if event["__typename"] in ("ExecutionStepFailureEvent", "RunFailureEvent"):
            lines += [f"{event['stepKey'] or 'run'}: {event['message']}", *_error_lines(event["error"])]
            lines += [(event.get("failureMetadata") or {}).get("description") or ""]
    return "\n".join(line for line in lines if line)


def log_of(served: Served, run_id: str) -> str:
    """The log of a run's page."""
    return "\n".join(event.get("message", "") for event in ask(served, RUN_LOG, run=run_id)["logsForRun"]["events"])


def ticks_of(served: Served, name: str) -> list[Tick]:
    """The last ticks of a sensor or of a schedule, newest first."""
    schedule = name.endswith("_schedule")
    selector = {**REPOSITORY, "scheduleName" if schedule else "sensorName": name}
    told = ask(served, SCHEDULE if schedule else SENSOR, of=selector)["found"]
    return [
        Tick(
            tick["timestamp"],
            tick["status"],
            "; ".join([tick["skipReason"] or "", *_error_lines(tick["error"])]),
            tuple(tick["runIds"]),
        )
        for tick in told["state"]["ticks"]
    ]


def told_by(served: Served, name: str, text: str) -> bool:
    """True if a tick of the sensor or schedule says ``text``."""
    return any(text in tick.told for tick in ticks_of(served, name))


def failed_checks(served: Served, asset: str, check: str) -> str:
    """The check's failures, newest first, a line each, as the history on the asset's Checks tab lists them."""
    told = ask(served, CHECKS, asset={"path": [asset]}, check=check)["assetCheckExecutions"]
    evaluations = [execution["evaluation"] for execution in told if execution["evaluation"] is not None]
    return "\n".join(str(evaluation["description"]) for evaluation in evaluations if not evaluation["success"])


def partitions_of(served: Served, asset: str) -> tuple[set[str], set[str]]:
    """The green and the red partitions of an asset."""
    told = ask(served, PARTITIONS, asset={"path": [asset]})["assetNodeOrError"]["assetPartitionStatuses"]
    return set(told["materializedPartitions"]), set(told["failedPartitions"])


def versions_of(served: Served, asset: str, day: str) -> list[str]:
    """Ids of what was materialized of a day, newest first, as the partition's history lists them."""
    told = ask(served, MATERIALIZATIONS, asset={"path": [asset]}, days=[day])["assetOrError"]["assetMaterializations"]
    return [entry["text"] for event in told for entry in event["metadataEntries"] if entry["label"] == "id"]


def last_heartbeat(served: Served) -> float:
    """The newest sign of life of the daemon on the page Deployment, Daemons."""
    told = ask(served, HEARTBEATS)["instance"]["daemonHealth"]["allDaemonStatuses"]
    return max((status["lastHeartbeatTime"] or 0.0) for status in told if status["required"])


def photograph(served: Served, profile: Path, pages: dict[str, tuple[str, str]]) -> list[str]:
    """Opens each page (name: path, text that must be on it) in a browser and keeps a picture; [] where there is no browser."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        return []
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(
            str(profile),
            executable_path=chromium,
            headless=True,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
            viewport={"width": 1600, "height": 1000},
        )
        page = browser.new_page()
        page.set_default_timeout(60_000)
        for name, (path, text) in pages.items():
            page.goto(f"{served.url}{path}")
            page.get_by_text(text).first.wait_for()
            shoot(page, name)
        browser.close()
    return [str(SHOTS / f"{name}.png") for name in pages]


def sensor_page(name: str) -> str:
    """Path of a sensor's page."""
    return f"/locations/{LOCATION}/sensors/{name}"


def _error_lines(error: Any) -> list[str]:
    return [] if error is None else [error["message"].strip(), *(cause["message"].strip() for cause in error["causes"])]
