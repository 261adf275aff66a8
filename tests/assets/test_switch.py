import time

import dagster as dg
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, ScheduleInstigatorData

from tcg_assets.cli.switch import daemon_line, main, switches, table_of
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.switches import nightly_on
from tcg_core.base.home import Home


def test_a_new_home_shows_the_defaults(home: Home) -> None:
    found = switches(home)
    assert found["inbox_sensor"] is True and found["nightly_schedule"] is False
    assert set(found) == {item.name for item in (*defs.sensors, *defs.schedules)}


def test_what_was_switched_is_shown_and_printed(home: Home, capsys) -> None:
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
    assert main(["show"]) == 0
    assert "nightly_schedule on" in capsys.readouterr().out


def test_all_that_runs_by_itself_says_when_and_what(home: Home, capsys) -> None:
    with open_instance(home) as instance:
        for switch in table_of(instance):
            assert switch.does and switch.when.split()[-1] in ("s", "UTC"), switch
        assert not nightly_on(instance)
    assert main(["show"]) == 0
    told = capsys.readouterr().out
    assert "audit_schedule on (0 1 * * * UTC): Reads a share of the validated days" in told
    assert "daemon: it never ran on this home" in told


def test_a_daemon_that_fell_silent_is_told(home: Home, monkeypatch) -> None:
    from dagster._daemon.types import DaemonHeartbeat

    with open_instance(home) as instance:
        for daemon, seconds, told in (("SENSOR", 600, "nothing starts by itself"), ("SCHEDULER", 5, "daemon: alive 5 s ago")):
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - seconds, daemon, "id", []))
            assert told in daemon_line(instance)
