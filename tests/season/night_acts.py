"""What happens at night: trainers and the daemon are killed, a disk is full, and the next night goes on."""

import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from tcg_assets.assets.jobs import DIGEST_TAG
from tcg_assets.automation.nightly import nightly_schedule
from tcg_core.catalog.promotions import BOOTSTRAP, champion
from tcg_core.catalog.registry import rows_of
from tcg_core.nightly.settings import save_nightly
from tcg_core.nightly.unfinished import lines_of as unfinished_runs
from tcg_core.plan.load import load_plan
from tests.season import faults, pages
from tests.season.deployment import ended, status_of
from tests.season.nights import GAMES_TO_DECIDE, NIGHT, WEAK_DECK, days_of, in_minutes, launch, plan_of, skipped, write_weak_deck
from tests.season.records import AGAIN
from tests.season.season import PATIENCE, Season
from tests.ui.driving import until

FIRST, SECOND, FOURTH, FIFTH, SIXTH = (date(2026, 8, 11), date(2026, 8, 12), *(date(2026, 9, day) for day in (2, 3, 4)))
_ROOT = Path(__file__).resolve().parents[2]
#: Seconds between two signs of life of a daemon, and some.
_SILENCE = 40.0
#: Seconds before the night that the real scheduler starts: enough to start the daemon on a busy machine.
_NOTICE = 60.0


def configure(season: Season) -> None:
    """The recipe of the nights and the deck of weak opponents."""
    save_nightly(season.home, NIGHT)
    write_weak_deck(season.home)


def first_night_loses_its_trainer(season: Season) -> str:
    """kill -9 of the trainer after a checkpoint; returns the plan."""
    run = launch(season, FIRST)
    plan = faults.kill_trainer_after_a_checkpoint(season.home, PATIENCE)
    assert ended(season.instance, run, PATIENCE) == "FAILURE"
    assert rows_of(season.home, "checkpoint") == [], "a run that did not end is no checkpoint"
    [noted] = unfinished_runs(season.home)
    assert noted.startswith(f"unfinished run {plan}, begun in the night of {FIRST}") and "the next night continues it" in noted
    reason = "External execution process failed with code -9"
    season.must_tell("a killed trainer", f"/runs/{run}", reason, lambda: pages.failures_of(season.served, run))
    return plan


def second_night_starts(season: Season) -> str:
    """The next night asks for the same; while it runs no other starts. A person lets it play a panel that it can beat."""
    run = launch(season, SECOND, {"opponents": [BOOTSTRAP], "opponent_deck": WEAK_DECK, "games": GAMES_TO_DECIDE})
    assert skipped(season, SECOND) == f"run {run[:8]} of nightly has not ended"
    until(lambda: plan_of(season, run), PATIENCE, "the plan of the second night")
    return run


def second_night_goes_on(season: Season, run: str, plan: str, days: tuple[str, ...]) -> None:
    """It has the plan of the first, continues from its checkpoint, and its submission becomes champion."""
    assert ended(season.instance, run, PATIENCE) == "SUCCESS", pages.failures_of(season.served, run)
    assert plan_of(season, run) == plan
    assert [row.id for row in rows_of(season.home, "work_plan")] == [plan]
    assert days_of(season.home, plan).keys() == set(days)
    assert f"run {plan}: continues after update" in pages.log_of(season.served, run)
    assert champion(season.home) == rows_of(season.home, "submission")[0].id


def switch_on_at_the_next_minute(season: Season) -> None:
    """`tcg nightly enable`, while nothing runs."""
    command = [sys.executable, "-m", "tcg_assets.cli", "nightly", "enable", "--at", in_minutes(_NOTICE)]
    told = subprocess.run(command, cwd=_ROOT, check=False, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    season.say(told.stdout.splitlines()[-1])


def third_night_is_fired_by_the_daemon(season: Season) -> str:
    """The scheduler's own tick starts it; returns the run, while it trains."""
    name = nightly_schedule.name
    [run] = until(lambda: [run for tick in pages.ticks_of(season.served, name) for run in tick.runs], PATIENCE, "the tick")
    found = season.instance.get_run_by_id(run)
    assert found is not None and found.job_name == "nightly" and found.tags["dagster/schedule_name"] == name
    assert found.tags[DIGEST_TAG]
    faults.trainer_of(season.home, PATIENCE)
    return str(run)


def the_daemon_is_killed(season: Season, run: str) -> None:
    """kill -9 of the daemon alone: the run under way survives, its successor lets it, the UI shows the gap."""
    season.deployment.kill_daemon()
    time.sleep(1.0)
    silent = pages.last_heartbeat(season.served)
    time.sleep(_SILENCE)
    assert pages.last_heartbeat(season.served) == silent, "nobody gives a sign of life"
    season.deployment.start_daemon()
    assert status_of(season.instance, run) in ("STARTED", "SUCCESS"), "the daemon's unit leaves a living run alone"
    until(lambda: pages.last_heartbeat(season.served) > silent + _SILENCE, 120.0, "a sign of life of the new daemon")
    assert ended(season.instance, run, PATIENCE) == "SUCCESS", pages.failures_of(season.served, run)


def third_night_used_the_new_day(season: Season, run: str, before: str) -> None:
    """Its plan holds the day as it was published again; the champion, built from the old one, says so on its page."""
    days = days_of(season.home, plan_of(season, run))
    assert days[AGAIN] == season.validated()[AGAIN].dataset_id != before
    season.must_tell(
        "a day published again",
        "/assets/champion?view=checks",
        f"built from superseded day {AGAIN}",
        lambda: pages.failed_checks(season.served, "champion", "days_current"),
    )


def fourth_night_finds_no_room(season: Season) -> str:
    """A checkpoint finds no room: the step says which file, nothing of it is there; returns the plan."""
    run = launch(season, FOURTH)
    faults.no_room_for_a_checkpoint(season.home, PATIENCE)
    assert ended(season.instance, run, PATIENCE) == "FAILURE"
    plan = plan_of(season, run)
    season.must_tell(
        "a full disk",
        f"/runs/{run}",
        "weights.safetensors could not be written",
        lambda: pages.failures_of(season.served, run),
    )
    told = pages.failures_of(season.served, run)
    assert f"{season.home.checkpoints / plan}" in told and "File too large" in told
    assert [path.name for path in (season.home.checkpoints / plan).rglob("*")] == [], "nothing half-written is left"
    return plan


def fifth_night_has_room(season: Season, plan: str) -> None:
    """The same again, with room."""
    run = launch(season, FIFTH)
    assert ended(season.instance, run, PATIENCE) == "SUCCESS", pages.failures_of(season.served, run)
    assert plan_of(season, run) == plan
    trained = load_plan(season.home, plan)
    assert trained.parent is not None and trained.parent.run == trained.recipe.selection.unseen_by, "it fine-tunes the champion"
    assert unfinished_runs(season.home) == []


def nothing_is_new(season: Season) -> None:
    """The sixth night: the schedule skips and says why."""
    told = skipped(season, SIXTH)
    assert re.fullmatch(r"nothing new: \d+ days, code and recipe are those of run [0-9a-f]{8}", told), told
