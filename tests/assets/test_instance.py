"""The instance's configuration: what dagster.yaml must say, and that every home gets the same."""

import fcntl
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.instance.ref import InstanceRef

from tcg_assets.sync.instance import TEMPLATE, configuration, open_instance, write_home
from tcg_core.base.errors import HomeError
from tcg_core.base.home import Home


def test_the_template_has_the_keys_that_keep_the_deployment_sane() -> None:
    template = yaml.safe_load(TEMPLATE.read_text())
    assert template["nux"] == {"enabled": False}
    assert template["telemetry"] == {"enabled": False}
    assert template["concurrency"]["runs"]["max_concurrent_runs"] == 2
    assert template["concurrency"]["pools"] == {"granularity": "op", "default_limit": 1}
    assert template["run_monitoring"]["enabled"]
    assert 0 < template["run_monitoring"]["free_slots_after_run_end_seconds"] <= 60
    assert template["run_monitoring"]["max_runtime_seconds"] > 3600
    assert template["run_retries"] == {"enabled": True, "max_retries": 0, "retry_on_asset_or_op_failure": False}


def test_the_template_needs_no_environment_variable() -> None:
    assert "env:" not in TEMPLATE.read_text()


def test_from_the_projects_root_template_and_written_home_are_the_same_files() -> None:
    root = TEMPLATE.parent
    template, written = yaml.safe_load(TEMPLATE.read_text()), configuration(Home(root / "data"))
    pairs = [
        (template["storage"]["sqlite"], written["storage"]["sqlite"]),
        (template["local_artifact_storage"]["config"], written["local_artifact_storage"]["config"]),
        (template["compute_logs"]["config"], written["compute_logs"]["config"]),
    ]
    for relative, absolute in pairs:
        assert root / relative.pop("base_dir") == Path(absolute.pop("base_dir"))
    assert template == written


def test_a_bare_dagster_in_the_root_stores_below_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dagster.yaml").write_text(TEMPLATE.read_text())
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    reference = InstanceRef.from_dir(str(tmp_path / "temporary"), config_dir=str(tmp_path))
    with dg.DagsterInstance.from_ref(reference) as instance:
        instance.add_dynamic_partitions("days", ["2026-08-01"])
    with open_instance(Home(tmp_path / "data")) as instance:
        assert list(instance.get_dynamic_partitions("days")) == ["2026-08-01"]


def test_the_pool_of_the_chain_has_an_explicit_limit_of_one(home: Home) -> None:
    assert write_home(home) == home.dagster
    with open_instance(home) as instance:
        assert instance.event_log_storage.get_concurrency_info("trainer").slot_count == 1
        assert instance.run_monitoring_enabled
        assert not instance.nux_enabled


def test_writing_a_home_again_changes_nothing(home: Home) -> None:
    write_home(home)
    before = (home.dagster / "dagster.yaml").stat().st_mtime_ns
    write_home(home)
    assert (home.dagster / "dagster.yaml").stat().st_mtime_ns == before


def test_a_home_that_cannot_hold_it_is_refused_in_one_line(home: Home) -> None:
    home.dagster.write_text("a file where a directory should be")
    with pytest.raises(HomeError, match="cannot be written"):
        write_home(home)


def test_two_processes_never_make_the_same_new_storage_at_once(home: Home) -> None:
    home.dagster.mkdir()
    code = "from tcg_assets.sync.instance import write_home; from tcg_core.base.home import Home; write_home(Home.resolve())"
    with (home.dagster / "setup.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], cwd=TEMPLATE.parent)
        end = time.monotonic() + 60
        while not (home.dagster / "dagster.yaml").is_file():
            assert time.monotonic() < end
            time.sleep(0.1)
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(timeout=3)
        assert not (home.dagster / "storage").exists()
    assert child.wait(timeout=60) == 0
    with open_instance(home) as instance:
        assert instance.get_runs() == []
