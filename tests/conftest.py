"""Shared by all tests: one thread for every BLAS, a data home of their own, no ambient TCG_DATA."""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("MPLBACKEND", "Agg")

from pathlib import Path  # noqa: E402  # thread counts are read when the libraries load

import pytest  # noqa: E402

from tcg_core.home import VARIABLE, Home  # noqa: E402


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty data home, also named by the environment variable."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    return Home.resolve().prepare()
