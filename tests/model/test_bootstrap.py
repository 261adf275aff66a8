"""MLX is imported in one place, after what must be set before; a device that is not there is refused."""

import subprocess
import sys

import pytest

from tcg_core.model import bootstrap
from tcg_core.model.bootstrap import DeviceError, facts, mlx, resolve_device


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_settings_are_made_before_the_import_and_said_once() -> None:
    out = run(
        "import logging, os, sys; logging.basicConfig(stream=sys.stdout, level=logging.INFO)\n"
        "from tcg_core.model.bootstrap import mlx, facts\n"
        "mlx(); mlx(); print(os.environ['MLX_ENABLE_TF32'], os.environ.get('MLX_DISABLE_COMPILE')); print(facts())"
    )
    assert out.count("BLAS") == 1
    assert "0 1" in out or sys.platform == "darwin"


@pytest.mark.skipif(sys.platform != "linux", reason="the BLAS of other systems needs no help")
def test_blas_of_torch_is_used_where_it_is_there_and_its_absence_is_no_error() -> None:
    hooked = run("from tcg_core.model.bootstrap import facts; print(facts()['blas'])")
    assert hooked.startswith("torch ")
    bare = run(
        "import importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'torch' else real(name, *a)\n"
        "from tcg_core.model.bootstrap import facts; print(facts()['blas'])"
    )
    assert bare.strip() == "wheel"
    late = run("import mlx.core; from tcg_core.model.bootstrap import facts; print(facts()['blas'])")
    assert "imported before" in late


def test_facts_name_what_bits_depend_on() -> None:
    assert set(facts()) == {"chip", "platform", "mlx", "device", "blas", "threads"}
    assert facts()["mlx"] == "0.32.4"


def test_gpu_that_is_absent_is_an_error_and_auto_takes_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_gpu_present", lambda core: False)
    with pytest.raises(DeviceError, match="gpu"):
        resolve_device("gpu")
    with pytest.raises(DeviceError, match="'tpu'"):
        resolve_device("tpu")
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    assert facts()["device"] == "cpu"


def test_auto_that_falls_to_the_cpu_of_a_mac_warns(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    mlx()
    monkeypatch.setattr(bootstrap, "_gpu_present", lambda core: False)
    assert resolve_device("auto") == "cpu"
    assert "Metal" not in caplog.text
    monkeypatch.setattr(sys, "platform", "darwin")
    resolve_device("auto")
    assert "no Metal" in caplog.text
