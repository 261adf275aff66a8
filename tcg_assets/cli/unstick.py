"""`python -m tcg_assets.cli.unstick`: closes runs that Dagster still believes alive after a crash; `--dry-run` only tells."""

import argparse
import sys
from collections.abc import Sequence

from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.reconcile import reconcile
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home


def main(arguments: Sequence[str] | None = None) -> int:
    """Puts right what a crash left in the data home; returns 0, or 2 after a refusal of one line."""
    parser = argparse.ArgumentParser(prog="python -m tcg_assets.cli.unstick", description="Close dead runs, free their slots.")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and change nothing")
    options = parser.parse_args(arguments)
    try:
        home = Home.resolve().prepare()
        with open_instance(home) as instance:
            found = reconcile(instance, home, dry_run=options.dry_run)
    except TcgError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for run in found.runs:
        freed = f", {'would free' if options.dry_run else 'freed'} a place of pool {', '.join(run.slots)}" if run.slots else ""
        print(f"run {run.run_id[:8]} of {run.job}: {run.was} -> {run.now}, {run.reason}{freed}")
    would = "would be " if options.dry_run else ""
    for path in found.temporaries:
        print(f"{would}removed: {path}")
    print(f"{len(found.runs)} runs {would}closed, {len(found.temporaries)} temporaries {would}removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
