from pathlib import Path

import pytest

from tcg_core.base.errors import HomeError
from tcg_core.base.home import Home, NotADay, parse_day


@pytest.mark.parametrize(
    "text", ["2026-13-01", "2026-02-30", "yesterday", "2026-8-1", "", "2026-08-01 ", "../2026-08-01", "2026-08-01\n"]
)
def test_a_day_name_that_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(NotADay, match="day"):
        parse_day(text)


def test_a_date_is_kept() -> None:
    assert parse_day("2028-02-29") == "2028-02-29"


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a directory")
    with pytest.raises(HomeError, match=r"file.* cannot be written: .*TCG_DATA"):
        Home(blocker / "data").prepare()


def test_the_environment_names_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TCG_DATA", str(tmp_path / "elsewhere"))
    assert Home.resolve().root == tmp_path / "elsewhere"
    monkeypatch.delenv("TCG_DATA")
    assert Home.resolve().root == Path(__file__).resolve().parents[2] / "data"
