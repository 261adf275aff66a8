"""What running through Dagster costs: starting, a day's run, a thousand days.

`python -m bench.operations [DAYS]` (1,000 if left out) makes throw-away homes and prints one line a figure with the load of
the machine. Under 4 minutes where two cores are free.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.data_version import CachingStaleStatusResolver
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.loader import LoadingContextForTest

from bench import many_days
from tcg_assets.automation.launch import run_day
from tcg_assets.automation.news import news
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.mirror import mirror_days
from tcg_assets.sync.server import environment, serve_command
from tcg_core.base.home import VARIABLE, Home
from tcg_core.days.backfill import backfill
from tcg_core.days.take import take_archive
from tcg_core.replay.record_day import record_day

ROOT = Path(__file__).resolve().parents[1]
EPISODES = 20
#: Seconds of work of a full-size day with two workers (docs/benchmarks.md, Days).
REAL_DAY = 132.0
STEPS = 4
_LOCATION = {"repositoryName": "__repository__", "repositoryLocationName": "tcg_assets"}
_PARTITIONS = (
    '{ assetNodeOrError(assetKey: {path: ["parquet_day"]}) { ... on AssetNode { partitionKeysByDimension { partitionKeys }'
    " assetPartitionStatuses { ... on DefaultPartitionStatuses { materializedPartitions failedPartitions"
    " unmaterializedPartitions materializingPartitions } } } } }"
)
_GRAPH = (
    "{ assetNodes { id assetKey { path } groupName staleStatus staleCauses { reason } dependencyKeys { path }"
    " assetMaterializations(limit: 1) { timestamp runId } partitionStats { numMaterialized numFailed numPartitions }"
    " assetChecksOrError { ... on AssetChecks { checks { name executionForLatestMaterialization { status } } } } } }"
)


def main() -> None:
    """Prints one line a figure: wall seconds, processor seconds where they are ours, load."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    starting()
    with tempfile.TemporaryDirectory() as root:
        a_day(_home(root, "small"))
        thousand(_home(root, "many"), count)


def starting() -> None:
    """Commands that a person or a service waits for; the first warms the files that the others read."""
    _command(["-c", "import tcg_assets.definitions"])
    for what, arguments in (
        ("import tcg_assets.definitions", ["-c", "import tcg_assets.definitions"]),
        ("dagster definitions validate", ["-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"]),
        ("tcg --help", ["-m", "tcg_assets.cli", "--help"]),
        ("tcg status", ["-m", "tcg_assets.cli", "status"]),
    ):
        timed(what, lambda arguments=arguments: _command(arguments))


def a_day(home: Home) -> None:
    """One small day by the core and through Dagster: the difference is what Dagster costs, whatever the day's size."""
    days = [f"2026-08-{number:02d}" for number in range(1, 6)]
    for day in days:
        record_day(home, day, EPISODES, ("random", "random"))
    list(backfill(home, days[0], days[0]))
    core = timed("the core: take, build, promote, compare one small day", lambda: list(backfill(home, days[1], days[1])))
    with open_instance(home) as instance:
        run_day(instance, home, days[2])
        run = timed("the same by an ingest_day run in this process", lambda: run_day(instance, home, days[3]))
    say("Dagster's part of it", run - core)
    say(f"a step of {STEPS}", (run - core) / STEPS)
    print(f"share of a full-size day ({REAL_DAY:.0f} s): {(run - core) / REAL_DAY:.1%}", flush=True)
    # What lies in the inbox the sensor would start too.
    take_archive(home, days[4])
    with served(home) as url:
        queued, ran = launched(url, days[4])
        say("by the daemon: from the button to the first step (queue, process, imports)", queued)
        say("by the daemon: the run itself", ran)
        whole = queued + ran - core
        print(f"by the daemon: Dagster's share of a full-size day: {whole / REAL_DAY:.1%} ({whole:.1f} s)", flush=True)


def thousand(home: Home, count: int) -> None:
    """What ``count`` day partitions cost."""
    timed(f"(make a home of {count} days)", lambda: many_days.make(home, count))
    with open_instance(home) as instance:
        timed("mirror them again", lambda: mirror_days(instance, home))
        timed("select the days and their digest, as each tick of the nightly does", lambda: news(home))
    timed(f"tcg sync of {count} days, nothing known", lambda: _command(["-m", "tcg_assets.cli", "sync"]))
    timed("tcg sync again, everything known", lambda: _command(["-m", "tcg_assets.cli", "sync"]))
    with open_instance(home) as instance:
        key = dg.AssetKey("parquet_day")
        timed("partitions of parquet_day that are materialized", lambda: len(instance.get_materialized_partitions(key)))
        timed("load the plan's node and ask whether it is stale", lambda: stale(instance))
    with served(home) as url:
        for what, query in (("the partitions view of parquet_day", _PARTITIONS), ("the asset graph", _GRAPH)):
            for turn in ("first", "again"):
                say(f"webserver, {what}, {turn}", _seconds(lambda query=query: ask(url, query)))


def stale(instance: dg.DagsterInstance) -> str:
    """The status that the UI shows of the plan."""
    instance.report_runless_asset_event(dg.AssetMaterialization("work_plan"))
    with partition_loading_context(dynamic_partitions_store=instance):
        resolver = CachingStaleStatusResolver(instance, defs.resolve_asset_graph(), LoadingContextForTest(instance))
        return str(resolver.get_status(dg.AssetKey("work_plan")).value)


@contextmanager
def served(home: Home) -> Iterator[str]:
    """Webserver and daemon on a home; prints how long they took to answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    log = (home.root / "server.log").open("wb")
    started = time.perf_counter()
    server = subprocess.Popen(serve_command(port), cwd=home.dagster, env=os.environ | environment(home), stdout=log, stderr=log)
    try:
        while not _answers(url):
            if server.poll() is not None:
                raise SystemExit((home.root / "server.log").read_text()[-2000:])
            time.sleep(0.2)
        say("webserver and daemon: until the first page", time.perf_counter() - started)
        yield url
    finally:
        server.terminate()
        server.wait(timeout=60)
        log.close()


def launched(url: str, day: str) -> tuple[float, float]:
    """Launches `ingest_day` of a day as the UI does; returns seconds until its first step and from there to its end."""
    params = {
        "selector": _LOCATION | {"pipelineName": "ingest_day"},
        "runConfigData": {},
        "mode": "default",
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": day}]},
    }
    told = ask(
        url,
        "mutation($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename"
        " ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }",
        params=params,
    )["launchRun"]
    if told["__typename"] != "LaunchRunSuccess":
        raise SystemExit(str(told))
    query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status creationTime endTime stepStats { startTime } } } }"
    while True:
        run = ask(url, query, id=told["run"]["runId"])["runOrError"]
        if run["status"] in ("SUCCESS", "FAILURE"):
            if run["status"] == "FAILURE":
                raise SystemExit(f"the run of {day} failed")
            first = min(step["startTime"] for step in run["stepStats"])
            return first - run["creationTime"], run["endTime"] - first
        time.sleep(0.5)


def ask(url: str, query: str, **variables: Any) -> Any:
    """The data of a GraphQL answer."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{url}/graphql", data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        told = json.load(answer)
    if "errors" in told:
        raise SystemExit(str(told["errors"]))
    return told["data"]


def timed(what: str, work: Callable[[], Any]) -> float:
    """Runs and prints one figure with its processor time, children included; returns the wall seconds."""
    before = os.times()
    wall = _seconds(work)
    after = os.times()
    processor = sum(after[:4]) - sum(before[:4])
    print(f"{what}: {wall:.2f} s, {processor:.2f} s of processor, load {os.getloadavg()[0]:.1f}", flush=True)
    return wall


def say(what: str, seconds: float) -> None:
    """Prints one figure."""
    print(f"{what}: {seconds:.2f} s, load {os.getloadavg()[0]:.1f}", flush=True)


def _seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _command(arguments: list[str]) -> float:
    run = lambda: subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True)  # noqa: E731
    return _seconds(run)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _home(root: str, name: str) -> Home:
    os.environ[VARIABLE] = f"{root}/{name}"
    return Home.resolve().prepare()


if __name__ == "__main__":
    main()
