"""`tcg ui`: webserver and daemon on the data home's Dagster history, bound to the loopback interface."""

import argparse
import os
import sys

from tcg_assets.instance import write_home
from tcg_core.home import VARIABLE, Home


def main() -> None:
    """Writes the Dagster home and becomes `dagster dev`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=3000)
    port = parser.parse_args().port
    home = Home.resolve().prepare()
    os.environ["DAGSTER_HOME"] = str(write_home(home))
    os.environ[VARIABLE] = str(home.root)
    print(f"Dagster UI: http://127.0.0.1:{port}  (data home {home.root}; stop with Ctrl-C)", flush=True)
    command = ["-m", "dagster", "dev", "-m", "tcg_assets.definitions", "-h", "127.0.0.1", "-p", str(port)]
    os.execv(sys.executable, [sys.executable, *command])


if __name__ == "__main__":
    main()
