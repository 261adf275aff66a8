"""`python -m tcg_assets.switch on|off`: switches the nightly schedule, as the UI's Automation page does."""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from tcg_assets.instance import TEMPLATE
from tcg_assets.serve import environment
from tcg_core.errors import TcgError
from tcg_core.home import Home

#: Of `dagster schedule`.
COMMANDS = {"on": "start", "off": "stop"}
SCHEDULE = "nightly_schedule"


def main(arguments: Sequence[str] | None = None) -> int:
    """Switches the schedule in the Dagster home of `$TCG_DATA`; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tcg_assets.switch", description="Switch the nightly schedule.")
    parser.add_argument("to", choices=sorted(COMMANDS))
    options = parser.parse_args(arguments)
    try:
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
