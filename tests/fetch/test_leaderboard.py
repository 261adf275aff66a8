"""The leaderboard through the official client against a local server: of the next day, whole or not at all, never replaced."""

import io
import zipfile
from pathlib import Path

import pytest

from tcg_core.catalog.errors import LeaderboardError
from tcg_core.fetch import leaderboard as module
from tcg_core.fetch.competition import COMPETITION
from tcg_core.fetch.errors import FetchError, NoCredentials
from tcg_core.fetch.leaderboard import KaggleLeaderboard, fetch_leaderboard
from tests.fetch.server import SIGNATURE
from tests.fetch.test_kaggle import KEY, bare, kaggle, tcg  # noqa: F401  # fixtures

KEY_OF = (f"leaderboard/{COMPETITION}", None)
HEAD = "Rank,TeamId,TeamName,LastSubmissionDate,Score,SubmissionCount,TeamMemberUserNames\n"
TABLE = HEAD + '1,7,Sun,2026-08-14 10:00:00,1250.5,12,"a,b"\n2,8,Moon,2026-08-14 09:00:00,1100,3,c\n3,9,New,,,0,d\n'


def zipped(*tables: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, text in enumerate(tables):
            archive.writestr(f"{COMPETITION}-publicleaderboard-{number}.csv", text)
    return out.getvalue()


@pytest.fixture
def served(kaggle, monkeypatch):  # noqa: F811  # pytest's way of asking for a fixture
    kaggle.files[KEY_OF] = zipped(TABLE)
    monkeypatch.setattr(module, "now", lambda: "2026-08-14T21:00:00.000000Z")
    return kaggle


def kept(home) -> list[str]:
    return sorted(path.name for path in home.leaderboards.glob("*")) if home.leaderboards.is_dir() else []


def test_it_is_kept_as_the_snapshot_of_the_next_day(home, served, monkeypatch, capfd):
    code, said = tcg(monkeypatch, capfd, "catalog", "ratings", "fetch")
    assert code == 0 and "as of 2026-08-15: 2 teams, 1 without a score" in said
    assert (home.leaderboards / "2026-08-15.csv").read_text() == TABLE
    assert tcg(monkeypatch, capfd, "catalog", "ratings", "fetch")[0] == 0, "the same table again changes nothing"


def test_the_day_is_that_of_the_end_of_the_download(home, served, monkeypatch):
    times = []

    class Slow(KaggleLeaderboard):
        def table(self, folder: Path) -> Path:
            found = super().table(folder)
            times.append("2026-08-15T00:00:01.000000Z")
            return found

    monkeypatch.setattr(module, "now", lambda: times[-1] if times else "2026-08-14T23:59:59.000000Z")
    assert fetch_leaderboard(home, Slow()).as_of == "2026-08-16"


def test_another_table_of_the_same_day_replaces_only_on_demand(home, served, monkeypatch, capfd):
    tcg(monkeypatch, capfd, "catalog", "ratings", "fetch")
    served.files[KEY_OF] = zipped(TABLE.replace("1100", "1101"))
    code, said = tcg(monkeypatch, capfd, "catalog", "ratings", "fetch")
    assert code == 2 and "--replace" in said and "1101" not in (home.leaderboards / "2026-08-15.csv").read_text()
    assert tcg(monkeypatch, capfd, "catalog", "ratings", "fetch", "--replace")[0] == 0
    assert "1101" in (home.leaderboards / "2026-08-15.csv").read_text()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (TABLE.encode(), "no whole zip"),
        (zipped(TABLE)[:-30], "no whole zip"),
        (zipped(TABLE * 50).replace(b"\x50\x4b\x03\x04", b"\x50\x4b\x03\x05", 1), "no whole zip"),
        (zipped(TABLE, TABLE), "holds 2 CSV files"),
        (zipped(HEAD), "no team has a score"),
        (zipped(TABLE.replace("1100", "many")), "Score 'many' is no number"),
        (zipped(TABLE.replace("TeamName", "Team")), "column TeamName is absent"),
    ],
)
def test_a_table_that_is_not_whole_or_not_readable_is_refused_and_nothing_is_kept(home, served, data, said):
    served.files[KEY_OF] = data
    with pytest.raises((FetchError, LeaderboardError), match=said):
        fetch_leaderboard(home, KaggleLeaderboard())
    assert kept(home) == []


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500])
def test_a_refusal_is_one_line_without_secrets_and_keeps_nothing(home, served, monkeypatch, capfd, caplog, status):
    served.refuse = status
    code, said = tcg(monkeypatch, capfd, "catalog", "ratings", "fetch")
    assert code == 2 and f"HTTP {status}" in said and kept(home) == []
    for secret in (KEY, SIGNATURE, "c29tZW9uZTp"):
        assert secret not in said and secret not in caplog.text


def test_a_download_that_breaks_off_is_gone_on_with_or_refused(home, served):
    served.breaks = 1
    assert fetch_leaderboard(home, KaggleLeaderboard()).as_of == "2026-08-15"


def test_a_client_that_leaves_no_file_is_an_error(home, served, monkeypatch):
    source = KaggleLeaderboard()
    monkeypatch.setattr(type(source._api), "competition_leaderboard_download", lambda *_, **__: None)
    with pytest.raises(FetchError, match="left no"):
        fetch_leaderboard(home, source)


def test_without_credentials_nothing_is_asked(home, bare):  # noqa: F811
    with pytest.raises(NoCredentials, match="KAGGLE_USERNAME"):
        KaggleLeaderboard()


def test_what_was_fetched_rates_the_next_day_and_not_its_own(home, served):
    from tcg_core.catalog.connection import catalog
    from tcg_core.ratings.stage import rate_agents
    from tests.catalog.helpers import add_day, episode

    for number, day in enumerate(("2026-08-14", "2026-08-15")):
        add_day(home, day, [episode(number, names=("Sun", "Moon"))])
    fetch_leaderboard(home, KaggleLeaderboard())
    rate_agents(home)
    with catalog(home) as connection:
        rated = {row["day"] for row in connection.execute("SELECT day FROM rating_days WHERE source = 'remote'")}
    assert rated == {"2026-08-15"}
