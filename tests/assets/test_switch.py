import os
import subprocess
import sys
import time

import dagster as dg
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, ScheduleInstigatorData
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_assets.definitions import defs
from tcg_assets.sync import switches as module
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.server import WORKSPACE, environment
from tcg_assets.sync.switches import NIGHTLY, daemon_line, nightly_on, switch_nightly
from tcg_core.base.home import Home


def switches(home: Home) -> dict[str, bool]:
    with open_instance(home) as instance:
        return {switch.name: switch.on for switch in module.switches(instance, defs)}


def status() -> str:
    done = CliRunner().invoke(app, ["status"])
    assert done.exit_code == 0, done
    return done.stdout


def test_a_new_home_shows_the_defaults(home: Home) -> None:
    found = switches(home)
    assert found["inbox_sensor"] is True and found["nightly_schedule"] is False
    assert set(found) == {item.name for item in (*defs.sensors, *defs.schedules)}


def test_what_was_switched_is_shown_and_printed(home: Home) -> None:
    with open_instance(home) as instance:
        schedule = defs.resolve_schedule_def("nightly_schedule")
        origin = dg._core.remote_origin.RemoteInstigatorOrigin(
            dg._core.remote_origin.RemoteRepositoryOrigin(
                dg._core.remote_origin.RegisteredCodeLocationOrigin("tcg_assets"), "__repository__"
            ),
            schedule.name,
        )
        data = ScheduleInstigatorData(cron_schedule=schedule.cron_schedule)
        instance.add_instigator_state(
            InstigatorState(origin, dg._core.definitions.run_request.InstigatorType.SCHEDULE, InstigatorStatus.RUNNING, data)
        )
    assert switches(home)["nightly_schedule"] is True
    assert "nightly_schedule on" in status()


def test_all_that_runs_by_itself_says_when_and_what(home: Home) -> None:
    with open_instance(home) as instance:
        for switch in module.switches(instance, defs):
            assert switch.does and switch.when.split()[-1] in ("s", "UTC"), switch
        assert not nightly_on(instance)
    told = status()
    assert "audit_schedule on (0 1 * * * UTC): Reads a share of the validated days" in told
    assert "daemon: it never ran on this home" in told


def test_a_daemon_that_fell_silent_is_told(home: Home, monkeypatch) -> None:
    from dagster._daemon.types import DaemonHeartbeat

    with open_instance(home) as instance:
        for daemon, seconds, told in (("SENSOR", 600, "nothing starts by itself"), ("SCHEDULER", 5, "daemon: alive 5 s ago")):
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - seconds, daemon, "id", []))
            assert told in daemon_line(instance)


def test_the_switch_is_the_one_that_dagsters_own_command_turns(home: Home) -> None:
    with open_instance(home) as instance:
        switch_nightly(instance, defs, True)
        assert nightly_on(instance)
        [state] = instance.all_instigator_state()
        switch_nightly(instance, defs, True)
        assert instance.all_instigator_state() == [state], "on already: since when stays as it is"
    command = [sys.executable, "-m", "dagster", "schedule", "stop", NIGHTLY, "-w", WORKSPACE]
    settings = os.environ | environment(home)
    done = subprocess.run(command, env=settings, cwd=home.dagster, capture_output=True, text=True, check=True)
    assert f"Stopped schedule {NIGHTLY}" in done.stdout
    with open_instance(home) as instance:
        assert not nightly_on(instance)
        assert [(found.instigator_origin_id, found.selector_id) for found in instance.all_instigator_state()] == [
            (state.instigator_origin_id, state.selector_id)
        ]
        switch_nightly(instance, defs, False)
        switch_nightly(instance, defs, True)
        assert nightly_on(instance) and len(instance.all_instigator_state()) == 1


def test_enable_and_disable_switch_it(home: Home) -> None:
    for command, on in (("enable", True), ("disable", False)):
        done = CliRunner().invoke(app, ["nightly", command])
        assert done.exit_code == 0 and f"{'Started' if on else 'Stopped'} schedule {NIGHTLY}\n" in done.stdout
        assert switches(home)[NIGHTLY] is on
