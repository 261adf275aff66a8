"""Each private name of Dagster behaves as the project relies on. An upgrade of Dagster that changes one fails here, by name."""

import contextvars
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from tcg_assets import dagster_private as private
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.switches import switched
from tcg_core.base.home import Home

MADE = dg.AssetKey("made")


@dg.asset(code_version="code-1")
def raw() -> dg.MaterializeResult[Any]:
    return dg.MaterializeResult(data_version=dg.DataVersion("raw-1"))


@dg.asset(deps=[raw], code_version="code-2")
def made() -> dg.MaterializeResult[Any]:
    return dg.MaterializeResult(data_version=dg.DataVersion("made-1"))


@pytest.fixture
def records(instance: dg.DagsterInstance) -> dict[str, dg.EventLogRecord]:
    """The materializations of both assets, by name, after one run."""
    assert dg.materialize([raw, made], instance=instance).success
    return {name: instance.fetch_materializations(dg.AssetKey(name), limit=1).records[0] for name in ("raw", "made")}


def tags(records: dict[str, dg.EventLogRecord], name: str) -> dict[str, str]:
    materialization = records[name].asset_materialization
    assert materialization is not None
    return dict(materialization.tags or {})


def test_every_name_has_its_test_here() -> None:
    source = Path(__file__).read_text()
    assert [name for name in private.__all__ if f"private.{name}" not in source] == []


def test_code_version_tag_is_what_a_step_writes(records: dict[str, dg.EventLogRecord]) -> None:
    assert tags(records, "made")[private.CODE_VERSION_TAG] == "code-2"


def test_data_version_tag_is_what_a_step_writes(records: dict[str, dg.EventLogRecord]) -> None:
    assert tags(records, "made")[private.DATA_VERSION_TAG] == "made-1"


def test_data_version_is_user_provided_tag_is_written_for_a_version_of_the_step_only(instance: dg.DagsterInstance) -> None:
    @dg.asset
    def unversioned() -> None: ...

    assert dg.materialize([unversioned, raw], instance=instance).success
    found = {}
    for asset in (unversioned, raw):
        [record] = instance.fetch_materializations(asset.key, limit=1).records
        assert record.asset_materialization is not None
        found[asset.key.to_user_string()] = (record.asset_materialization.tags or {}).get(
            private.DATA_VERSION_IS_USER_PROVIDED_TAG
        )
    assert found == {"unversioned": None, "raw": "true"}


def test_get_input_data_version_tag_names_the_version_of_the_parent(records: dict[str, dg.EventLogRecord]) -> None:
    assert tags(records, "made")[private.get_input_data_version_tag(raw.key)] == "raw-1"


def test_get_input_event_pointer_tag_names_the_event_of_the_parent(records: dict[str, dg.EventLogRecord]) -> None:
    assert tags(records, "made")[private.get_input_event_pointer_tag(raw.key)] == str(records["raw"].storage_id)


def test_a_check_result_with_its_target_is_that_of_the_latest_materialization(instance: dg.DagsterInstance) -> None:
    instance.report_runless_asset_event(dg.AssetMaterialization(MADE))
    [latest] = instance.fetch_materializations(MADE, limit=1).records
    target = private.AssetCheckEvaluationTargetMaterializationData(
        storage_id=latest.storage_id, run_id=latest.run_id, timestamp=latest.timestamp
    )
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(asset_key=MADE, check_name="sound", passed=False, target_materialization_data=target)
    )
    key = dg.AssetCheckKey(MADE, "sound")
    [told] = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).values()
    event = told.event
    assert event is not None and event.dagster_event is not None
    stored = event.dagster_event.asset_check_evaluation_data.target_materialization_data
    assert stored is not None and stored.storage_id == latest.storage_id


def test_instance_ref_opens_the_storage_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(yaml.safe_dump({"telemetry": {"enabled": False}}))
    for _ in range(2):
        reference = private.InstanceRef.from_dir(str(tmp_path), overrides={})
        with dg.DagsterInstance.from_ref(reference) as instance:
            before = list(instance.get_dynamic_partitions("days"))
            instance.add_dynamic_partitions("days", ["2026-08-01"])
    assert before == ["2026-08-01"], "what one process wrote, the next reads"
    assert list(tmp_path.rglob("*.db")), "and it lies below the directory"


def test_uncaptured_leaves_a_step_its_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    @dg.op
    def speak() -> None:
        print("said by the step")

    @dg.job
    def speaking() -> None:
        speak()

    for overrides in ({}, private.UNCAPTURED):
        reference = private.InstanceRef.from_dir(str(tmp_path), overrides=overrides)
        with dg.DagsterInstance.from_ref(reference) as instance:
            assert speaking.execute_in_process(instance=instance).success
    captured = [path for path in (tmp_path / "storage").rglob("*.out") if "said by the step" in path.read_text()]
    assert len(captured) == 1, "of the first run only"
    assert "said by the step" in capfd.readouterr().out


def test_instigator_status_is_what_a_switch_stores(home: Home) -> None:
    from dagster._core.definitions.run_request import InstigatorType
    from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteInstigatorOrigin, RemoteRepositoryOrigin
    from dagster._core.scheduler.instigation import InstigatorState, SensorInstigatorData

    names = {"RUNNING": "on", "STOPPED": "off", "DECLARED_IN_CODE": "never_switched"}
    # Dagster reads what an older version stored under this name as DECLARED_IN_CODE.
    names["AUTOMATICALLY_RUNNING"] = "never_switched_either"
    assert {status.name for status in private.InstigatorStatus} == set(names)
    place = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("tcg_assets"), "__repository__")
    with open_instance(home) as instance:
        for status in private.InstigatorStatus:
            origin = RemoteInstigatorOrigin(place, names[status.name])
            instance.add_instigator_state(InstigatorState(origin, InstigatorType.SENSOR, status, SensorInstigatorData()))
        assert switched(instance) == {"on": True, "off": False}


def test_a_described_schedule_has_the_cron_line_of_the_code_and_the_origin_of_the_workspace_file(tmp_path: Path) -> None:
    @dg.job
    def nothing() -> None: ...

    schedule = dg.ScheduleDefinition(
        name="each_night", job=nothing, cron_schedule="0 3 * * *", execution_timezone="Europe/Berlin"
    )
    repository = contextvars.Context().run(dg.Definitions(schedules=[schedule]).get_repository_def)
    workspace = tmp_path / "workspace.yaml"
    workspace.write_text(yaml.safe_dump({"load_from": [{"python_module": {"module_name": "some", "location_name": "place"}}]}))
    [location] = private.WorkspaceFileTarget([str(workspace)]).create_origins()
    handle = private.RepositoryHandle(
        repository_name=repository.name, code_location_origin=location, repository_python_origin=None, display_metadata={}
    )
    remote = private.RemoteSchedule(private.ScheduleSnap.from_def(schedule, repository), handle)
    assert (remote.name, remote.cron_schedule, remote.execution_timezone) == ("each_night", "0 3 * * *", "Europe/Berlin")
    assert (remote.selector.location_name, remote.selector.repository_name) == ("place", "__repository__")
