"""The official client against a local server: resumed, verified, and silent about keys and signed addresses."""

import io
import logging
import os
import sys
import time
import zipfile

import pytest

from tcg_assets.cli import main as cli
from tcg_core.fetch.errors import ClientMissing, FetchError, NoCredentials
from tcg_core.fetch.index import INDEX, INDEX_FILE, PREFIX
from tcg_core.fetch.remote import KaggleRemote
from tests.days.conftest import GOLDEN, V1
from tests.fetch.server import SIGNATURE, serving

KEY = "key-canary-91c4"


def stored() -> bytes:
    """The golden day without compression: larger than the 1 MB pieces in which the client writes."""
    out = io.BytesIO()
    with zipfile.ZipFile(GOLDEN / f"{V1}.zip") as source, zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            target.writestr(zipfile.ZipInfo(info.filename), source.read(info))
    return out.getvalue()


ARCHIVE = stored()
INDEX_TEXT = f"date,daily_dataset_slug,daily_dataset_url,episode_count,total_bytes\n{V1},{PREFIX}-{V1},,5,1\n"


def test_without_the_client_or_credentials_the_remedy_is_told(monkeypatch):
    # A module that is loaded is found by its whole name, whatever its package says.
    for name in ("kaggle", "kaggle.api.kaggle_api_extended"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ClientMissing, match="pip install"):
        KaggleRemote()


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No credentials of the person who runs the tests."""
    pytest.importorskip("kaggle", reason="the optional extra `kaggle` is not installed")
    for name in [name for name in os.environ if name.startswith("KAGGLE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    from kaggle.api.kaggle_api_extended import KaggleApi

    monkeypatch.setattr(KaggleApi, "config", str(tmp_path / "nobody" / "kaggle.json"), raising=False)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)


@pytest.fixture
def kaggle(bare, monkeypatch):
    from kagglesdk import kaggle_env

    monkeypatch.setenv("KAGGLE_USERNAME", "someone")
    monkeypatch.setenv("KAGGLE_KEY", KEY)
    with serving({(f"{PREFIX}-{V1}", None): ARCHIVE, (INDEX, INDEX_FILE): INDEX_TEXT.encode()}) as server:
        monkeypatch.setitem(kaggle_env._env_to_endpoint, kaggle_env.KaggleEnv.PROD, server.address)
        yield server


def tcg(monkeypatch, capfd, *arguments):
    """Exit code and everything that was said."""
    monkeypatch.setattr(sys, "argv", ["tcg", *arguments])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    said = capfd.readouterr()
    return code, said.out + said.err


def test_a_day_is_fetched_by_date_and_by_what_is_missing(home, kaggle, monkeypatch, capfd):
    code, said = tcg(monkeypatch, capfd, "day", "fetch", "--list")
    assert code == 0 and V1 in said and not list(home.inbox.glob("*.zip"))
    code, said = tcg(monkeypatch, capfd, "day", "fetch", "--missing")
    assert code == 0 and "fetched" in said
    assert (home.inbox / f"{V1}.zip").read_bytes() == ARCHIVE
    before = kaggle.sent
    code, said = tcg(monkeypatch, capfd, "day", "fetch", "--date", V1)
    assert code == 0 and "here already, in inbox" in said and kaggle.sent - before == len(INDEX_TEXT)
    code, said = tcg(monkeypatch, capfd, "day", "fetch", "--date", "2026-08-20")
    assert code == 2 and "1 of 1 days could not be fetched" in said and "there is no such dataset" in said
    code, said = tcg(monkeypatch, capfd, "day", "fetch", "--date", V1, "--missing")
    assert code == 2 and "exactly one of" in said


def test_a_download_that_breaks_off_is_continued_at_its_end(home, kaggle, monkeypatch, capfd):
    kaggle.breaks = 1
    code, _ = tcg(monkeypatch, capfd, "day", "fetch", "--date", V1)
    assert code == 0 and (home.inbox / f"{V1}.zip").read_bytes() == ARCHIVE
    starts = [int(asked[6:-1]) for method, _, asked in kaggle.requests if method == "GET" and asked]
    assert len(starts) == 1 and starts[0] >= 2**20, "the download began again from nothing"


def test_a_killed_download_is_continued_by_the_next_command(home, kaggle, monkeypatch, capfd, caplog):
    """Every answer breaks off: the command gives up, what came stays; the next one asks for the rest only."""
    kaggle.breaks = 100
    code, _ = tcg(monkeypatch, capfd, "day", "fetch", "--date", V1)
    assert code == 2 and not list(home.inbox.glob("*.zip"))
    kaggle.breaks = 0
    caplog.set_level(logging.INFO, "tcg")
    code, _ = tcg(monkeypatch, capfd, "day", "fetch", "--date", V1)
    assert code == 0 and "continuing after" in caplog.text
    assert (home.inbox / f"{V1}.zip").read_bytes() == ARCHIVE
    assert int((kaggle.requests[-1][2] or "bytes=0-")[6:-1]) >= 2**22, "what had come was asked for again"


def test_no_secret_is_ever_told_or_written(home, kaggle, monkeypatch, capfd, caplog):
    logging.getLogger().setLevel(logging.DEBUG)
    said = ""
    for refuse, breaks in ((None, 100), (401, 0), (403, 0), (500, 0), (None, 0)):
        kaggle.refuse, kaggle.breaks = refuse, breaks
        said += tcg(monkeypatch, capfd, "day", "fetch", "--date", V1)[1]
    logging.getLogger().setLevel(logging.WARNING)
    assert "the credentials are not accepted" in said and "HTTP 500" in said
    assert [line for _, _, line in kaggle.requests if line and line.startswith("Basic")], "no credential was ever sent"
    kept = b"".join(path.read_bytes() for path in home.root.rglob("*") if path.is_file())
    for secret in (KEY, SIGNATURE, "c29tZW9uZTp"):
        assert secret not in said and secret not in caplog.text and secret.encode() not in kept


def test_without_credentials_nothing_is_asked(home, bare, monkeypatch, capfd):
    with pytest.raises(NoCredentials, match="KAGGLE_USERNAME"):
        KaggleRemote()


def test_a_client_that_would_end_the_process_is_an_error(home, kaggle, monkeypatch):
    remote = KaggleRemote()
    monkeypatch.setattr(type(remote._api), "dataset_download_files", lambda *_, **__: sys.exit(1))
    with pytest.raises(FetchError, match="SystemExit; what was downloaded is kept"):
        remote.archive(f"{PREFIX}-{V1}", home.inbox)


def test_a_client_that_leaves_no_file_is_an_error(home, kaggle, monkeypatch):
    remote = KaggleRemote()
    monkeypatch.setattr(type(remote._api), "dataset_download_files", lambda *_, **__: None)
    with pytest.raises(FetchError, match="left no"):
        remote.archive(f"{PREFIX}-{V1}", home.inbox)
