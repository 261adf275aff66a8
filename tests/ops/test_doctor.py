import importlib.metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from tcg_core.base.home import Home
from tcg_core.engine import library
from tcg_core.ops import doctor


def test_a_ready_machine_has_nothing_to_say_before_work() -> None:
    assert doctor.before_work() == []


def test_a_cuda_build_of_torch_that_came_unasked_gets_one_clear_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [SimpleNamespace(name=name) for name in ("torch", "nvidia-cuda-runtime-cu13", "nvidia-cublas")]
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: found)
    [finding] = doctor.before_work()
    assert finding.what == "torch" and finding.state == "warn"
    assert "CUDA" in finding.found and "CPU" in finding.remedy


def test_a_missing_engine_says_exactly_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    library.engine_version.cache_clear()
    findings = {finding.what: finding for finding in doctor.before_work()}
    assert findings["engine v1"].state == "FAIL" and "make engine" in findings["engine v1"].remedy


def test_a_home_that_cannot_be_written_is_a_finding_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    findings = {finding.what: finding for finding in doctor.examine(Home(tmp_path / "file" / "data"))}
    assert findings["data home"].state == "FAIL" and "TCG_DATA" in findings["data home"].remedy


def test_credentials_are_said_to_be_present_and_never_shown(monkeypatch: pytest.MonkeyPatch, home: Home) -> None:
    monkeypatch.setenv("KAGGLE_USERNAME", "somebody")
    monkeypatch.setenv("KAGGLE_KEY", "canary-secret")
    findings = doctor.examine(home)
    assert "canary-secret" not in repr(findings)
    assert next(finding for finding in findings if finding.what == "kaggle credentials").state == "ok"
