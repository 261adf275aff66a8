"""The nightly schedule: what makes it start, and the reason it gives when it does not."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from tcg_assets.assets.jobs import DIGEST_TAG
from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.news import News
from tcg_assets.automation.nightly import night_config, nightly_schedule
from tcg_assets.definitions import defs
from tcg_core.base.errors import ConfigError
from tcg_core.base.home import Home
from tcg_core.catalog.errors import RatingsStale
from tcg_core.nightly import unfinished
from tcg_core.nightly.settings import Nightly, load_nightly, save_nightly
from tcg_core.nightly.tonight import Tonight
from tcg_core.plan.errors import ChampionRefused
from tcg_core.recipe import Recipe, Selection
from tests.catalog.helpers import add_day, episode, planned


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as local:
        yield local


@pytest.fixture
def instance(stored: dg.DagsterInstance) -> dg.DagsterInstance:
    """A schedule opens its instance by reference, so this one is on disk."""
    stored.wipe()
    return stored


@pytest.fixture
def digest(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is new, as a list of one digest that tests change."""
    found = ["one"]
    monkeypatch.setattr("tcg_assets.automation.nightly.news", lambda home, recipe: News(("2026-08-01", "2026-08-02"), found[0]))
    return found


def _night(instance: dg.DagsterInstance, day: int = 3) -> ScheduleExecutionData:
    built = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=datetime(2026, 8, day, 3, tzinfo=UTC), resources={"workspace": Workspace()}
    )
    with built as context:
        return nightly_schedule.evaluate_tick(context)


def _run(instance: dg.DagsterInstance, digest: str, status: dg.DagsterRunStatus) -> dg.DagsterRun:
    return instance.create_run_for_job(defs.resolve_job_def("nightly"), tags={DIGEST_TAG: digest}, status=status)


def test_it_starts_with_the_digest_in_key_and_tag(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    [request] = _night(instance).run_requests or []
    assert (request.run_key, request.tags[DIGEST_TAG]) == ("one:2026-08-03", "one")


def test_it_skips_when_its_last_success_had_the_same(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    done = _run(instance, "one", dg.DagsterRunStatus.SUCCESS)
    skipped = _night(instance)
    assert skipped.skip_message == f"nothing new: 2 days, code and recipe are those of run {done.run_id[:8]}"
    digest[0] = "two"
    assert len(_night(instance).run_requests or []) == 1


def test_a_failed_night_is_tried_the_next_night(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    [first] = _night(instance, 3).run_requests or []
    _run(instance, "one", dg.DagsterRunStatus.FAILURE)
    [second] = _night(instance, 4).run_requests or []
    assert first.run_key != second.run_key


def test_a_run_that_was_abandoned_is_not_begun_again_until_something_is_new(
    instance: dg.DagsterInstance, home: Home, digest: list[str]
) -> None:
    run, other = "a" * 16, "b" * 16
    unfinished.begin(home, run, "2026-08-01", digest[0])
    unfinished.abandon(home, run, "by hand")
    (home.checkpoints / run).mkdir(parents=True)
    assert _night(instance).skip_message == f"nothing new since run {run} was abandoned: by hand"
    unfinished.begin(home, other, "2026-08-01", "other days")
    unfinished.abandon(home, other, "by hand")
    digest[0] = "three"
    assert _night(instance).run_requests


def test_it_skips_while_a_run_has_not_ended(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    running = _run(instance, "zero", dg.DagsterRunStatus.STARTED)
    skipped = _night(instance)
    assert skipped.skip_message == f"run {running.run_id[:8]} of nightly has not ended"


def test_it_skips_while_a_phase_of_a_curriculum_has_not_ended(
    instance: dg.DagsterInstance, home: Home, digest: list[str]
) -> None:
    job = defs.resolve_job_def("curriculum_phase")
    running = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    assert _night(instance).skip_message == f"run {running.run_id[:8]} of curriculum_phase has not ended"
    instance.report_run_failed(running)
    assert _night(instance).run_requests


def test_without_a_validated_day_it_says_so(instance: dg.DagsterInstance, home: Home) -> None:
    skipped = _night(instance)
    assert (skipped.skip_message or "").startswith("nothing to train on (fresh: ")
    assert "selection: there is no validated day" in (skipped.skip_message or "")


def test_with_no_day_that_the_champion_has_not_seen_it_says_so(
    instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = "a" * 16
    recipe = Recipe(Selection(all_days=True, unseen_by=run, replay=0.5))
    monkeypatch.setattr(
        "tcg_assets.automation.nightly.tonight", lambda *arguments: Tonight("finetune", recipe, "finetune: from the champion")
    )
    monkeypatch.setattr("tcg_core.days.code.require_present_code", lambda connection, days: None)
    add_day(home, "2026-08-01", [episode(1)])
    planned(home, run, ("2026-08-01",))
    words = f"nothing to train on (finetune: from the champion): selection: no validated day is unseen by run {run}: "
    assert _night(instance, 3).skip_message == words + "it was trained on all 1"
    add_day(home, "2026-08-02", [episode(2)])
    [request] = _night(instance, 4).run_requests or []
    asked = request.run_config["ops"]["work_plan"]["config"]
    assert asked["recipe"]["selection"]["unseen_by"] == run
    assert asked["because"] == "finetune: from the champion"


def test_ratings_that_lag_behind_the_days_do_not_hold_the_night_back(
    instance: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stale(*arguments: object) -> News:
        raise RatingsStale("ratings are of 3 days, 4 are validated")

    monkeypatch.setattr("tcg_assets.automation.nightly.news", stale)
    [request] = _night(instance, 3).run_requests or []
    assert (request.run_key, DIGEST_TAG in request.tags) == ("unrated:2026-08-03", False)


def test_after_nights_that_were_missed_one_run_is_asked_for(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    keys = {request.run_key for night in (3, 30) for request in _night(instance, night).run_requests or []}
    assert keys == {"one:2026-08-03", "one:2026-08-30"}
    _run(instance, "one", dg.DagsterRunStatus.SUCCESS)
    assert not _night(instance, 31).run_requests, "one run took all of them"


def test_the_night_is_named_in_its_own_zone(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    save_nightly(home, Nightly(at="03:00", zone="Pacific/Auckland"))
    [request] = _night(instance, 3).run_requests or []
    assert request.run_key == "one:2026-08-03"
    save_nightly(home, Nightly(at="20:00", zone="America/Los_Angeles"))
    [request] = _night(instance, 3).run_requests or []
    assert request.run_key == "one:2026-08-02"


@pytest.mark.parametrize(("day", "nights"), [("2026-03-28", 3), ("2026-10-24", 3)])
def test_a_change_of_the_clock_gives_each_night_one_tick_and_one_key(
    instance: dg.DagsterInstance, home: Home, digest: list[str], day: str, nights: int
) -> None:
    from dagster._utils.schedules import schedule_execution_time_iterator

    configured = Nightly(at="02:30", zone="Europe/Berlin")
    save_nightly(home, configured)
    start = datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(configured.zone))
    ticks = schedule_execution_time_iterator(start.timestamp(), configured.when.cron, configured.zone, ascending=True)
    keys = []
    for _ in range(nights):
        tick = next(ticks)
        with dg.build_schedule_context(
            instance=instance, scheduled_execution_time=tick, resources={"workspace": Workspace()}
        ) as context:
            keys += [request.run_key for request in nightly_schedule.evaluate_tick(context).run_requests or []]
    first = date.fromisoformat(day).toordinal()
    assert keys == [f"one:{date.fromordinal(first + offset).isoformat()}" for offset in range(nights)]


def test_the_run_gets_the_configured_recipe_games_and_budget(instance: dg.DagsterInstance, home: Home, digest: list[str]) -> None:
    save_nightly(home, Nightly(night_budget_hours=2.0, over_budget="refuse", games=10, opponents=("first",), device="cpu"))
    [request] = _night(instance, 4).run_requests or []
    ops = {name: values["config"] for name, values in request.run_config["ops"].items()}
    assert ops["work_plan"]["recipe"]["selection"]["last_n_days"] == 14
    assert ops["work_plan"]["because"].startswith(
        "fresh: fresh weights over the last 14 validated days: the champion is the built-in"
    )
    assert (ops["work_plan"]["night_budget_hours"], ops["work_plan"]["over_budget"]) == (2.0, "refuse")
    assert ops["work_plan"]["device"] == ops["mlx_checkpoint"]["device"] == "cpu"
    assert (ops["tournament"]["games"], ops["tournament"]["opponents"]) == (10, ["first"])
    assert int(request.tags["dagster/max_runtime"]) > 2 * 3600


@pytest.mark.parametrize("chosen", [None, Tonight("full", Nightly().recipe, "a reason")])
def test_the_launchpad_takes_the_configuration_of_a_night(home: Home, chosen: Tonight | None) -> None:
    from dagster._core.execution.api import create_execution_plan

    assert create_execution_plan(defs.resolve_job_def("nightly"), night_config(Nightly(), chosen)).step_keys_to_execute


def test_a_champion_that_cannot_be_gone_on_from_is_a_run_that_fails_in_the_open(
    instance: dg.DagsterInstance, home: Home, digest: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> Tonight:
        raise ChampionRefused("its plan is gone")

    monkeypatch.setattr("tcg_assets.automation.nightly.tonight", refuse)
    [request] = _night(instance, 3).run_requests or []
    assert request.run_config["ops"]["work_plan"]["config"] == {"preset": "nightly"}
    assert request.run_key and request.run_key.startswith("refused:")
    assert DIGEST_TAG not in request.tags, "it must not count as this night's training"
    [next_night] = _night(instance, 4).run_requests or []
    assert next_night.run_key != request.run_key


def test_a_broken_configuration_fails_its_tick_and_names_the_key(instance: dg.DagsterInstance, home: Home) -> None:
    (home.root / "nightly.json").write_text('{"att": "03:00"}')
    with pytest.raises(ConfigError, match="unknown key att"):
        load_nightly(home)
    with pytest.raises(Exception, match="nightly_schedule") as raised:
        _night(instance)
    assert "unknown key att" in str(raised.value.__cause__)


@pytest.mark.parametrize(("key", "value"), [("at", "25:00"), ("zone", "Europe/Atlantis"), ("night_budget_hours", -1.0)])
def test_a_value_that_is_none_is_refused(home: Home, key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=key):
        Nightly(**{key: value})  # type: ignore[arg-type]
