"""How the browser tests act and ask: clicks where a person clicks, outcomes by GraphQL."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.ui.conftest import LOCATION, SHOTS, Served

_SECONDS_BETWEEN_QUESTIONS = 1.0


def ask(served: Served, query: str, **variables: Any) -> Any:
    """The data of a GraphQL answer; an answer with errors is a failure."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{served.url}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        told = json.load(answer)
    assert "errors" not in told, told["errors"]
    return told["data"]


def until(question: Callable[[], Any], seconds: float, what: str) -> Any:
    """The first true answer; a failure naming ``what`` when there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = question()
        if answer:
            return answer
        time.sleep(_SECONDS_BETWEEN_QUESTIONS)
    raise AssertionError(f"{what}: not in {seconds:.0f} s")


def answers(url: str) -> bool:
    """Whether a webserver answers there."""
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def launch_days(served: Served, page: Any, days: tuple[str, ...], shot: str = "") -> None:
    """Materializes days by the button of the job `ingest_day` and its dialog."""
    page.goto(f"{served.url}/locations/{LOCATION}/jobs/ingest_day")
    page.get_by_role("button", name="Materialize all").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Select a partition or create one").first.click()
    for day in days:
        page.get_by_role("menuitem").filter(has_text=day).click()
    page.keyboard.press("Escape")
    button = dialog.get_by_role("button", name="Launch")
    if shot:
        shoot(page, shot)
    button.click()


def ended_runs(served: Served, days: tuple[str, ...], after: float = 0.0) -> dict[str, str]:
    """Status of the newest run of each day that was created after ``after`` and has ended."""
    found: dict[str, str] = {}
    told = ask(served, "{ runsOrError(limit: 50) { ... on Runs { results { status creationTime tags { key value } } } } }")[
        "runsOrError"
    ]["results"]
    for run in told:
        day = next((tag["value"] for tag in run["tags"] if tag["key"] == "dagster/partition"), "")
        if day in days and run["creationTime"] > after and run["status"] in ("SUCCESS", "FAILURE"):
            found.setdefault(day, run["status"])
    return found


def shoot(page: Any, name: str) -> None:
    """Keeps a picture of the page."""
    SHOTS.mkdir(exist_ok=True)
    page.screenshot(path=str(SHOTS / f"{name}.png"))
