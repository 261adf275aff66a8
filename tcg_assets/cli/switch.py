"""`python -m tcg_assets.cli.switch on|off|show`: the nightly schedule's switch, or the state of all."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import dagster as dg

from tcg_assets.cli.serve import environment
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import TEMPLATE, open_instance
from tcg_assets.sync.switches import NIGHTLY, switched
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home

#: Of `dagster schedule`.
COMMANDS = {"on": "start", "off": "stop"}
#: Seconds after which a daemon that said nothing is taken for dead; its parts report every 30.
_ALIVE_SECONDS = 120.0


@dataclass(frozen=True)
class Switch:
    """A sensor or schedule. ``when``: the cron line with its zone, or the seconds between two looks."""

    name: str
    on: bool
    when: str
    does: str


def switches(home: Home) -> dict[str, bool]:
    """Every sensor and schedule, and whether it is on."""
    with open_instance(home) as instance:
        return {switch.name: switch.on for switch in table_of(instance)}


def table_of(instance: dg.DagsterInstance) -> list[Switch]:
    """Every sensor and schedule: what the instance says, else the default in the code."""
    said = switched(instance)
    found = []
    for sensor in defs.sensors or ():
        on = said.get(sensor.name, sensor.default_status is dg.DefaultSensorStatus.RUNNING)
        found.append(Switch(sensor.name, on, f"every {sensor.minimum_interval_seconds or 30} s", _first(sensor.description)))
    for item in (defs.resolve_schedule_def(named.name) for named in defs.schedules or ()):
        on = said.get(item.name, item.default_status is dg.DefaultScheduleStatus.RUNNING)
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Switches the schedule in the Dagster home of `$TCG_DATA`; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tcg_assets.cli.switch", description="Switch the nightly schedule.")
    parser.add_argument("to", choices=[*sorted(COMMANDS), "show"])
    options = parser.parse_args(arguments)
    try:
        if options.to == "show":
            with open_instance(Home.resolve().prepare()) as instance:
                for switch in table_of(instance):
                    does = f": {switch.does}" if switch.does else ""
                    print(f"  {switch.name} {'on' if switch.on else 'off'} ({switch.when}){does}")
                print(daemon_line(instance))
            return 0
        set_ = os.environ | environment(Home.resolve().prepare())
    except TcgError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    schedule = ["-m", "dagster", "schedule", COMMANDS[options.to], NIGHTLY, "-w", str(TEMPLATE.parent / "workspace.yaml")]
    # Its notices of other spellings to come say nothing to a user of this one.
    command = [sys.executable, "-W", "ignore::FutureWarning", *schedule]
    told = subprocess.run(command, env=set_, cwd=set_["DAGSTER_HOME"], check=False, capture_output=True, text=True)
    # Beside its one line it prints the log of the code server that it starts.
    lines = [line for line in told.stdout.splitlines() if NIGHTLY in line]
    print("\n".join(lines) if told.returncode == 0 else told.stderr.strip())
    return told.returncode


if __name__ == "__main__":
    sys.exit(main())
