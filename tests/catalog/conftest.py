import pytest

from tcg_core.home import Home


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home").prepare()
