"""The server's command line and environment; `unstick` as a person calls it."""

import time

import dagster as dg
import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_assets.definitions import defs
from tcg_assets.sync.instance import open_instance
from tcg_assets.sync.server import environment, serve_command
from tcg_core.base.errors import HomeError
from tcg_core.base.home import Home


def unstick(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["unstick", *arguments])
    assert done.exit_code == 0, done
    return done.stdout


def test_the_server_listens_on_the_loopback_interface_only() -> None:
    line = serve_command(3456)
    assert line[line.index("--host") + 1] == "127.0.0.1"
    assert line[line.index("--port") + 1] == "3456"


def test_the_server_gets_the_home_and_a_dagster_home_of_its_own(home: Home) -> None:
    told = environment(home)
    assert told["TCG_DATA"] == str(home.root)
    assert told["DAGSTER_HOME"] == str(home.dagster)
    assert (home.dagster / "dagster.yaml").is_file()


def test_unstick_tells_what_it_did(home: Home) -> None:
    (home.inbox / ".tmp-999999999-deadbeef-2026-08-01.zip").write_bytes(b"half")
    told = unstick("--dry-run")
    assert "would be removed: " in told and "2026-08-01.zip" in told
    assert told.endswith("0 runs would be closed, 1 temporaries would be removed\n")
    assert list(home.inbox.iterdir()), "only told"
    told = unstick()
    assert ".tmp-999999999-deadbeef-2026-08-01.zip" in told
    assert told.endswith("0 runs closed, 1 temporaries removed\n")


def test_unstick_tells_which_pools_it_would_free(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_instance(home) as instance:
        run = instance.create_run_for_job(defs.resolve_job_def("nightly"), status=dg.DagsterRunStatus.STARTED)
        assert instance.event_log_storage.claim_concurrency_slot("trainer", run.run_id, "mlx_checkpoint").is_claimed
    later = time.time() + 3600
    monkeypatch.setattr("tcg_assets.sync.reconcile.time.time", lambda: later)
    assert "STARTED -> FAILURE, it never got a process, would free a place of pool trainer" in unstick("--dry-run")
    assert "freed a place of pool trainer" in unstick()
    assert unstick("--dry-run").startswith("0 runs would be closed")


def test_unstick_refuses_a_home_that_cannot_be_written(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = home.root / "a_file"
    blocked.write_text("")
    monkeypatch.setenv("TCG_DATA", str(blocked / "below"))
    refused = CliRunner().invoke(app, ["unstick"]).exception
    assert isinstance(refused, HomeError) and "cannot be written" in str(refused)
