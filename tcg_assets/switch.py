"""`python -m tcg_assets.switch on|off|show`: the nightly schedule's switch, as on the UI's Automation page; or all of them."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

import dagster as dg
from dagster._core.scheduler.instigation import InstigatorStatus

from tcg_assets.instance import TEMPLATE, open_instance
from tcg_assets.serve import environment
from tcg_core.errors import TcgError
from tcg_core.home import Home

#: Of `dagster schedule`.
COMMANDS = {"on": "start", "off": "stop"}
SCHEDULE = "nightly_schedule"


def switches(home: Home) -> dict[str, bool]:
    """Every sensor and schedule, and whether it is on: what the home's instance says, else the default in the code."""
    from tcg_assets.definitions import defs

    found = {
        **{sensor.name: sensor.default_status is dg.DefaultSensorStatus.RUNNING for sensor in defs.sensors or ()},
        **{item.name: item.default_status is dg.DefaultScheduleStatus.RUNNING for item in defs.schedules or ()},
    }
    with open_instance(home) as instance:
        for state in instance.all_instigator_state():
            if state.instigator_name in found and state.status is not InstigatorStatus.DECLARED_IN_CODE:
                found[state.instigator_name] = state.status is InstigatorStatus.RUNNING
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Switches the schedule in the Dagster home of `$TCG_DATA`; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tcg_assets.switch", description="Switch the nightly schedule.")
    parser.add_argument("to", choices=[*sorted(COMMANDS), "show"])
    options = parser.parse_args(arguments)
    try:
        if options.to == "show":
            print(", ".join(f"{name} {'on' if on else 'off'}" for name, on in switches(Home.resolve().prepare()).items()))
            return 0
        set_ = os.environ | environment(Home.resolve().prepare())
    except TcgError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    schedule = ["-m", "dagster", "schedule", COMMANDS[options.to], SCHEDULE, "-w", str(TEMPLATE.parent / "workspace.yaml")]
    # Its notices of other spellings to come say nothing to a user of this one.
    command = [sys.executable, "-W", "ignore::FutureWarning", *schedule]
    told = subprocess.run(command, env=set_, cwd=set_["DAGSTER_HOME"], check=False, capture_output=True, text=True)
    print(told.stdout.strip() if told.returncode == 0 else told.stderr.strip())
    return told.returncode


if __name__ == "__main__":
    sys.exit(main())
