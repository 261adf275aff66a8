"""Sensors and schedules of a data home: which are on, and the switch of the nightly one."""

import time
from dataclasses import dataclass

import dagster as dg

from tcg_assets.dagster_private import InstigatorStatus
from tcg_assets.sync.remote import remote_schedule

NIGHTLY = "nightly_schedule"
#: Seconds after which a silent daemon is taken for dead; its parts report every 30.
_ALIVE_SECONDS = 120.0


@dataclass(frozen=True)
class Switch:
    """A sensor or schedule. ``when``: the cron line with its zone, or the seconds between two evaluations."""

    name: str
    on: bool
    when: str
    does: str

    @property
    def line(self) -> str:
        """All of it in words."""
        return f"{self.name} {'on' if self.on else 'off'} ({self.when})" + (f": {self.does}" if self.does else "")


def switched(instance: dg.DagsterInstance) -> dict[str, bool]:
    """Sensors and schedules that were switched by hand, and whether they are on; the others follow their default in the code."""
    return {
        state.instigator_name: state.status is InstigatorStatus.RUNNING
        for state in instance.all_instigator_state()
        if state.status is not InstigatorStatus.DECLARED_IN_CODE
    }


def nightly_on(instance: dg.DagsterInstance) -> bool:
    """Whether the nightly schedule is on; it is off until somebody switches it on."""
    return switched(instance).get(NIGHTLY, False)


def switch_nightly(instance: dg.DagsterInstance, definitions: dg.Definitions, on: bool) -> None:
    """Switches the nightly schedule, as the button of the UI does; a schedule that is in that state already stays as it is."""
    schedule = remote_schedule(definitions, NIGHTLY)
    if on:
        instance.start_schedule(schedule)
    else:
        instance.stop_schedule(schedule.get_remote_origin_id(), schedule.selector_id, schedule)


def switches(instance: dg.DagsterInstance, definitions: dg.Definitions) -> list[Switch]:
    """Every sensor and schedule: its state in the instance, else the default in the code."""
    by_hand = switched(instance)
    found = []
    for sensor in definitions.sensors or ():
        on = by_hand.get(sensor.name, sensor.default_status is dg.DefaultSensorStatus.RUNNING)
        found.append(Switch(sensor.name, on, f"every {sensor.minimum_interval_seconds or 30} s", _first(sensor.description)))
    for item in (definitions.resolve_schedule_def(named.name) for named in definitions.schedules or ()):
        on = by_hand.get(item.name, item.default_status is dg.DefaultScheduleStatus.RUNNING)
        when = f"{item.cron_schedule} {item.execution_timezone}"
        found.append(Switch(item.name, on, when, _first(item.description)))
    return found


def daemon_line(instance: dg.DagsterInstance) -> str:
    """Whether something would start what is due: the daemon's last sign of life."""
    beats = [
        status.last_heartbeat.timestamp for status in instance.get_daemon_statuses().values() if status.last_heartbeat is not None
    ]
    if not beats:
        return "daemon: it never ran on this home; start `tcg ui` or the services"
    ago = time.time() - max(beats)
    return f"daemon: alive {ago:.0f} s ago" + ("" if ago < _ALIVE_SECONDS else ": nothing starts by itself until it runs again")


def _first(text: str | None) -> str:
    """The first sentence of a description."""
    return " ".join((text or "").split()).split(". ", 1)[0].rstrip(".")
