"""Code that changes under the services: runs are refused by name, the home says so, and the night is tried again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import dagster as dg
import pytest

from tcg_assets.automation import again
from tcg_assets.automation.again import AGAIN_TAG, night_again
from tcg_assets.pages import outcome
from tcg_assets.sync.code_server import serve_code
from tcg_core.alerts.watch import findings
from tcg_core.base import same_code
from tcg_core.base.code import PRODUCERS
from tcg_core.base.home import Home
from tcg_core.base.same_code import VARIABLE, CodeChanged
from tcg_core.ops import code_servers
from tests.assets.conftest import Run, failure_of
from tests.assets.fakes import Stages


@pytest.fixture
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as local:
        yield local


def tick(instance: dg.DagsterInstance) -> dg.RunRequest | str:
    with dg.build_sensor_context(instance=instance) as context:
        data = night_again.evaluate_tick(context)
    return data.run_requests[0] if data.run_requests else str(data.skip_message)


def test_a_refused_night_is_asked_for_again_once_the_process_is_current(
    run: Run, stages: Stages, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tick(instance) == "the last night was not refused for its code"

    def changed(*assets: str) -> None:
        assert assets and set(assets) <= set(PRODUCERS)
        raise CodeChanged(123)

    with monkeypatch.context() as patch:
        patch.setattr(outcome, "require_same", changed)
        result = run("nightly")
        assert failure_of(result)[1] == "the code changed since PID 123 started: restart `tcg ui`"
    with monkeypatch.context() as patch:
        patch.setattr(again, "changed_on_disk", lambda: ("mlx_checkpoint",))
        assert tick(instance) == "the code on disk is not the code of this process: restart `tcg ui`"
    asked = tick(instance)
    assert isinstance(asked, dg.RunRequest)
    assert (asked.run_key, asked.tags[AGAIN_TAG]) == (f"again-{result.run_id}", result.run_id)
    assert asked.run_config == instance.get_run_by_id(result.run_id).run_config
    assert run("nightly").success
    assert tick(instance) == "the last night was not refused for its code"


def test_a_code_server_of_other_code_is_told_until_it_ends(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> list[str]:
        return [found.what for found in findings(home, nightly=False) if found.subject == "code"]

    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    code_servers.announce(home)
    assert told() == []
    monkeypatch.setattr(code_servers, "versions_on_disk", lambda: {"mlx_checkpoint": "another"})
    assert told() == [f"the code changed since PID {os.getpid()} started: restart `tcg ui`"]
    [note] = (home.dagster / "code_servers").glob("*.json")
    note.rename(note.with_name(f"{server.pid}.json"))
    assert told() == [], "a number that another process has by now is no code server"
    assert not list((home.dagster / "code_servers").glob("*.json"))
    server.kill()
    server.wait()


def test_only_a_code_server_hands_its_code_on(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(sys, "argv", ["tcg", "status"])
    serve_code()
    assert VARIABLE not in os.environ
    monkeypatch.setattr(sys, "argv", ["dagster", "api", "grpc"])
    monkeypatch.setenv(VARIABLE, json.dumps({"pid": 1, "digest": "", "versions": {}}))
    serve_code()
    assert not (home.dagster / "code_servers").exists(), "a run that a server starts is its child"
    monkeypatch.delenv(VARIABLE)
    serve_code()
    assert json.loads(os.environ[VARIABLE])["pid"] == os.getpid() and same_code.is_child()
    assert [note.stem for note in (home.dagster / "code_servers").glob("*.json")] == [str(os.getpid())]
    monkeypatch.delenv(VARIABLE)
