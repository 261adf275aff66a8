"""One session of real games shared by the tests that only read it."""

from pathlib import Path

import pytest

from tcg_core.base.home import Home
from tcg_core.train.session import Session
from tests.train.toy import toy_home, toy_session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A fresh session; a test that trains it changes it for those after it in the same file."""
    return toy_session(toy_home(tmp_path_factory.mktemp("toy") / "home"))


@pytest.fixture
def toy(tmp_path: Path) -> Home:
    """A home of this test alone."""
    return toy_home(tmp_path / "home")
