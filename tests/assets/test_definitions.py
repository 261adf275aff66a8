"""The code location: what it holds, how it is named, what it must never import."""

import subprocess
import sys
import tomllib

import dagster as dg
import pytest
import yaml

from tcg_assets import definitions
from tcg_assets.automation.nightly import _WHEN
from tcg_assets.checks import DECLARED
from tcg_assets.definitions import defs
from tests.assets.conftest import ROOT

#: asset -> (group, kinds, what it is made from, pools)
GRAPH: dict[str, tuple[str, set[str], set[str], set[str]]] = {
    "day_archive": ("days", {"python", "zip"}, set(), set()),
    "day_catalog": ("days", {"sqlite"}, {"day_archive"}, {"day_builds"}),
    "staged_day": ("days", {"parquet"}, {"day_archive"}, {"day_builds"}),
    "parquet_day": ("days", {"parquet"}, {"day_catalog", "staged_day"}, set()),
    "field_drift": ("days", {"python"}, {"parquet_day"}, set()),
    "ratings": ("days", {"sqlite", "parquet"}, {"parquet_day"}, {"trainer"}),
    "card_features": ("training", {"python"}, set(), set()),
    "work_plan": ("training", {"parquet"}, {"parquet_day", "ratings", "card_features"}, {"trainer"}),
    "mlx_checkpoint": ("training", {"mlx"}, {"work_plan"}, {"trainer"}),
    "torch_artifact": ("release", {"pytorch"}, {"mlx_checkpoint"}, {"trainer"}),
    "submission": ("release", {"python", "pytorch"}, {"torch_artifact"}, {"trainer"}),
    "tournament": ("evaluation", {"python"}, {"submission"}, {"trainer"}),
    "champion": ("evaluation", {"sqlite"}, {"tournament"}, {"trainer"}),
}


def test_the_graph_is_the_designs() -> None:
    graph = defs.resolve_asset_graph()
    found = {
        key.to_user_string(): (
            graph.get(key).group_name,
            graph.get(key).kinds,
            {parent.to_user_string() for parent in graph.get(key).parent_keys},
            graph.get(key).pools,
        )
        for key in graph.get_all_asset_keys()
    }
    assert found == GRAPH


@pytest.mark.parametrize("asset", GRAPH)
def test_every_asset_says_what_it_is(asset: str) -> None:
    node = defs.resolve_asset_graph().get(dg.AssetKey(asset))
    assert len(node.description or "") > 40
    assert node.owners == ["team:tcg"]
    assert node.tags["tcg/artifact"]
    assert len(node.code_version or "") == 16
    assert (node.partitions_def is not None) == (node.group_name == "days" and asset != "ratings")


def test_every_declared_check_is_in_the_graph_and_every_error_blocks() -> None:
    specs = {
        (key.asset_key.to_user_string(), key.name): defs.resolve_asset_graph().get_check_spec(key).blocking
        for key in defs.resolve_asset_graph().asset_check_keys
    }
    error = {(asset, name): True for asset, declared in DECLARED.items() for name in declared.error}
    warn = {(asset, name): False for asset, declared in DECLARED.items() for name in declared.warn}
    assert specs == error | warn
    assert {asset for asset, _ in error} == set(GRAPH) - {"field_drift"}, "an asset without a blocking check"


def test_no_job_mixes_partitioned_and_unpartitioned_assets() -> None:
    graph = defs.resolve_asset_graph()
    for name in ("ingest_day", "nightly", "curriculum_phase", "card_tables"):
        keys = defs.resolve_job_def(name).asset_layer.executable_asset_keys
        assert len({graph.get(key).partitions_def is None for key in keys}) == 1, name


def test_the_jobs_that_may_hang_have_an_end() -> None:
    assert int(defs.resolve_job_def("nightly").tags["dagster/max_runtime"]) > 3600
    assert int(defs.resolve_job_def("curriculum_phase").tags["dagster/max_runtime"]) > 3600
    assert int(defs.resolve_job_def("ingest_day").tags["dagster/max_runtime"]) > 600


def test_arrivals_are_watched_and_the_nightly_waits_to_be_switched_on() -> None:
    assert defs.resolve_sensor_def("inbox_sensor").default_status is dg.DefaultSensorStatus.RUNNING
    schedule = defs.resolve_schedule_def("nightly_schedule")
    assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED
    assert (schedule.cron_schedule, schedule.execution_timezone) == (_WHEN.cron, _WHEN.zone)


def test_all_configuration_files_name_the_same_code_location() -> None:
    [module] = [item["python_module"] for item in yaml.safe_load((ROOT / "workspace.yaml").read_text())["load_from"]]
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    names = {module["location_name"], tool["dagster"]["code_location_name"], tool["dg"]["project"]["code_location_name"]}
    modules = {
        module["module_name"],
        tool["dagster"]["module_name"],
        tool["dg"]["project"]["code_location_target_module"],
    }
    assert names == {"tcg_assets"}
    assert modules == {"tcg_assets.definitions"}


def test_the_module_has_one_code_location_for_whoever_names_no_attribute() -> None:
    """`[tool.dagster]` and a bare `dagster dev` name the module only; Dagster refuses one that holds two."""
    held = [name for name, value in vars(definitions).items() if isinstance(value, dg.Definitions)]
    assert held == ["defs"]


def test_the_code_location_never_imports_mlx_or_torch() -> None:
    code = (
        "import sys, tcg_assets.definitions, tcg_assets.automation.launch, tcg_assets.sync.server\n"
        "tcg_assets.definitions.defs.resolve_asset_graph()\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('mlx', 'torch', 'duckdb', 'pandas', 'matplotlib')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_trainers_process_never_imports_dagster() -> None:
    code = "import sys, tcg_assets.trainer.__main__; print('dagster' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"


@pytest.mark.parametrize("asset", GRAPH)
def test_the_code_version_is_made_of_definitions_that_exist(asset: str) -> None:
    from tcg_core.base.code import closure_of, code_version

    assert all((ROOT / file).is_file() for file in closure_of(asset)) and closure_of(asset)
    nodes = defs.resolve_asset_graph()
    assert nodes.get(dg.AssetKey(asset)).code_version == code_version(asset)


def test_the_newest_day_the_last_clean_tournament_and_the_champion_have_a_deadline() -> None:
    from datetime import timedelta

    graph = defs.resolve_asset_graph()
    policies = {key.to_user_string(): graph.get(key).freshness_policy for key in graph.get_all_asset_keys()}
    windows = {asset: policy.fail_window.to_timedelta() for asset, policy in policies.items() if policy is not None}
    assert windows == {
        "parquet_day": timedelta(hours=36),
        "tournament": timedelta(hours=60),
        "champion": timedelta(hours=60),
    }
