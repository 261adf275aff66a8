"""What happens to days: they arrive in waves, break off, are broken, killed in the midst, published again."""

from functools import partial

import dagster as dg

from tcg_assets.automation.attempts import DAY_TAG
from tcg_core.days.take import take_archive
from tests.season import faults, pages
from tests.season.deployment import ended
from tests.season.records import (
    AGAIN,
    BROKEN,
    DAYS,
    EPISODES,
    GAP,
    HALF,
    LARGE,
    broken,
    deliver,
    deliver_half,
    record_again,
    record_season,
)
from tests.season.season import PATIENCE, Season
from tests.ui.driving import until

#: Out of order; LARGE is killed in its midst, 2026-08-06 comes two waves late.
FIRST_WAVE = ("2026-08-08", "2026-08-01", "2026-08-05", LARGE, "2026-08-07", AGAIN, "2026-08-04")
LATE = "2026-08-06"
SECOND_WAVE = ("2026-08-14", "2026-08-11", LATE, "2026-08-16", "2026-08-13", "2026-08-15")
THIRD_WAVE = ("2026-08-22", "2026-08-17", "2026-08-21", "2026-08-18", "2026-08-20", "2026-08-19")
LAST_WAVE = ("2026-08-30", "2026-08-24", "2026-08-23", "2026-08-28", "2026-08-25", "2026-08-27", "2026-08-26", "2026-08-29")
#: Comes by `tcg backfill`, on a disk that is full at first.
BY_BACKFILL = "2026-08-31"
NO_TEST_OF_ITS_OWN = {HALF, BROKEN, BY_BACKFILL}
SENSOR = "inbox_sensor"


def record(season: Season) -> None:
    """Plays the games of all days."""
    waves = {*FIRST_WAVE, *SECOND_WAVE, *THIRD_WAVE, *LAST_WAVE, *NO_TEST_OF_ITS_OWN}
    assert waves == set(DAYS) and len(DAYS) == 30 and GAP not in waves
    season.archives = record_season(season.folder)
    season.archives["again"] = record_again(season.folder)
    season.archives["broken"] = broken(season.archives[BROKEN], season.folder / "broken", EPISODES)


def first_days_arrive(season: Season) -> None:
    """The sensor takes whole archives in any order, leaves the one that broke off, and a broken day stops itself alone."""
    season.arrive(*FIRST_WAVE)
    deliver_half(season.home, season.archives[HALF])
    deliver(season.home, season.archives["broken"])
    season.deployment.start()


def a_step_is_killed(season: Season) -> None:
    """kill -9 of a day's run while it writes rows: the day is not there; Dagster starts it again by itself."""
    faults.kill_in_the_midst_of_rows(season.home, LARGE, PATIENCE)
    [run] = until(lambda: runs_of(season, LARGE), 30.0, "the killed run")
    assert ended(season.instance, run, 120.0) == "FAILURE"
    assert season.states(LARGE) == [], "nothing of it was published"
    season.must_tell("a killed step", f"/runs/{run}", "was terminated by signal 9", lambda: pages.log_of(season.served, run))
    again = until(lambda: next((other for other in runs_of(season, LARGE) if other != run), ""), 120.0, "its second run")
    assert ended(season.instance, again, PATIENCE) == "SUCCESS"


def broken_days_stop_themselves(season: Season) -> None:
    """Everything else of the first wave is validated; both bad files say why they are not."""
    season.await_days(*FIRST_WAVE)
    assert season.validated().keys() == set(FIRST_WAVE)
    not_taken = f"{HALF}.zip is not taken"
    season.must_tell(
        "a corrupt zip",
        pages.sensor_page(SENSOR),
        not_taken,
        lambda: not_taken if pages.told_by(season.served, SENSOR, not_taken) else "",
    )
    assert (season.home.inbox / f"{HALF}.zip").is_file()
    until(lambda: season.states(BROKEN) == ["failed"], PATIENCE, "the end of the broken day")
    season.must_tell(
        "a day of broken episodes",
        "/assets/staged_day?view=checks",
        f"4 broken_json; first {BROKEN.replace('-', '')}00001.json",
        lambda: pages.failed_checks(season.served, "staged_day", "quarantine_fraction"),
    )
    green, red = pages.partitions_of(season.served, "parquet_day")
    assert green == set(FIRST_WAVE) and BROKEN in red


def second_wave(season: Season) -> None:
    """More days, a late one among them; a day published again, and whole archives in the place of bad ones."""
    season.arrive(*SECOND_WAVE, HALF, BROKEN)
    deliver(season.home, season.archives["again"])


def second_wave_is_in(season: Season, before: str) -> None:
    """All of it is validated; the day published again has superseded its dataset ``before``."""
    season.await_days(*FIRST_WAVE, *SECOND_WAVE, HALF, BROKEN)
    until(lambda: season.validated()[AGAIN].dataset_id != before, PATIENCE, "the day published again")
    assert season.states(AGAIN) == ["superseded", "validated"]
    assert season.states(BROKEN) == ["superseded", "validated"]
    assert season.states(LATE) == ["validated"]
    versions = pages.versions_of(season.served, "parquet_day", AGAIN)
    assert versions == [season.validated()[AGAIN].dataset_id, before], "both stand in the history of the partition"


def power_fails(season: Season) -> list[str]:
    """kill -9 of everything while days are being built; returns the days whose runs were under way."""
    season.arrive(*THIRD_WAVE)
    until(lambda: any(runs_of(season, day, "STARTED") for day in THIRD_WAVE), PATIENCE, "a run of the third wave")
    season.deployment.kill()
    under_way = [day for day in THIRD_WAVE if runs_of(season, day, *_ALIVE)]
    assert under_way, "Dagster believes runs alive"
    return under_way


def power_is_back(season: Season, under_way: list[str]) -> None:
    """What the daemon's unit runs first has closed the dead runs and says so; they are started again by themselves."""
    dead = [run for day in under_way for run in runs_of(season, day, "FAILURE")]
    assert dead, "runs of the time before are closed when the daemon is back"
    for run in dead:
        season.must_tell("a power cut", f"/runs/{run}", "is gone", partial(pages.failures_of, season.served, run))


def last_wave(season: Season) -> None:
    """The rest of the month."""
    season.arrive(*LAST_WAVE)


def a_disk_is_full(season: Season) -> None:
    """A day's rows find no room: the line names the file, nothing of the day is there; the same command brings it."""
    season.arrive(BY_BACKFILL)
    # At once, before the sensor has looked twice: this day is the command line's.
    take_archive(season.home, BY_BACKFILL)
    full = faults.backfill(BY_BACKFILL, full_disk=True)
    assert full.returncode == 2
    assert f"{season.home.staging / BY_BACKFILL}" in full.stderr
    assert "rows.parquet could not be written: File too large" in full.stderr
    assert season.states(BY_BACKFILL) == []
    assert list((season.home.staging / BY_BACKFILL).iterdir()) == [], "not even a temporary is left"
    assert BY_BACKFILL not in pages.partitions_of(season.served, "parquet_day")[0]
    fine = faults.backfill(BY_BACKFILL, full_disk=False)
    assert fine.returncode == 0, fine.stderr
    assert season.states(BY_BACKFILL) == ["validated"]
    assert BY_BACKFILL in pages.partitions_of(season.served, "parquet_day")[0]


def runs_of(season: Season, day: str, *statuses: str) -> list[str]:
    """Runs that the sensor started for a day, newest first."""
    wanted = [dg.DagsterRunStatus(name) for name in statuses] or None
    return [run.run_id for run in season.instance.get_runs(dg.RunsFilter(tags={DAY_TAG: day}, statuses=wanted))]


_ALIVE = ("STARTING", "STARTED")
