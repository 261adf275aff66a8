"""Fixtures of the asset tests."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from tcg_assets.definitions import defs
from tcg_assets.trainer.messages import WholeLineReader
from tcg_core.base.home import Home
from tests.assets.fakes import Stages

ROOT = Path(__file__).resolve().parents[2]
CHILD = ROOT / "tests" / "assets" / "child"


@pytest.fixture
def stages(monkeypatch: pytest.MonkeyPatch) -> Stages:
    return Stages(monkeypatch)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as ephemeral:
        yield ephemeral


QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
Run = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def run(instance: dg.DagsterInstance, home: Home) -> Run:
    """Executes a job on the ephemeral instance; the trainer's child finds fake stages on its path."""

    def execute(
        job: str,
        ops: Mapping[str, Mapping[str, Any]] | None = None,
        partition_key: str | None = None,
        child: str = "good",
        **more: Any,
    ) -> dg.ExecuteInProcessResult:
        if partition_key:
            instance.add_dynamic_partitions("days", [partition_key])
        environment = {"PYTHONPATH": str(CHILD), "FAKE_TRAINER": child}
        trainer = dg.PipesSubprocessClient(env=environment, message_reader=WholeLineReader())
        return defs.resolve_job_def(job).execute_in_process(
            run_config={"ops": {name: {"config": dict(values)} for name, values in (ops or {}).items()}} | QUIET,
            instance=instance,
            partition_key=partition_key,
            raise_on_error=False,
            resources={**defs.resources, "trainer": trainer},
            **more,
        )

    return execute


def failure_of(result: dg.ExecuteInProcessResult) -> tuple[str, str]:
    """Step and text of the first failed step."""
    from tcg_assets.automation.launch import _failures

    step, _, line = _failures(result)[0].partition(": ")
    return step, line


def materialized(result: dg.ExecuteInProcessResult) -> set[str]:
    return {event.materialization.asset_key.to_user_string() for event in result.all_events if event.is_step_materialization}
