import dagster as dg
from dagster._core.scheduler.instigation import InstigatorState, InstigatorStatus, ScheduleInstigatorData

from tcg_assets.definitions import defs
from tcg_assets.instance import open_instance
from tcg_assets.switch import main, switches
from tcg_core.home import Home


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
