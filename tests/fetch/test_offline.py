"""Nothing but the fetch ever opens a socket, and nothing else imports what could; a webhook, if one is configured, is told."""

import ast
import socket
from pathlib import Path

import pytest

from tcg_core.cards.features import card_features
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.catalog.verify import verify
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day, verify_day
from tcg_core.days.states import stale_days
from tcg_core.days.take import add_archive, take_archive
from tcg_core.engine.cards import load_attacks, load_cards
from tcg_core.plan.build import build_plan
from tcg_core.recipe import Recipe, Selection, Split
from tests.days.conftest import GOLDEN, V1

#: Sends alerts, and only where TCG_WEBHOOK says so; its own tests are tests/alerts/test_notify.py.
WEBHOOK = "alerts/webhook.py"
CORE = Path(__file__).resolve().parents[2] / "tcg_core"
NETWORK = {
    "aiohttp",
    "ftplib",
    "http",
    "httpx",
    "kaggle",
    "kagglesdk",
    "requests",
    "smtplib",
    "socket",
    "ssl",
    "urllib",
    "urllib3",
}


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("an offline path opened a socket")

    for name in ("socket", "create_connection", "getaddrinfo", "socketpair"):
        monkeypatch.setattr(socket, name, refuse)
    with pytest.raises(AssertionError, match="opened a socket"):
        socket.create_connection(("127.0.0.1", 9))


def test_field_case_a_day_is_taken_built_rebuilt_verified_and_planned_without_a_socket(home, no_network):
    add_archive(home, GOLDEN / f"{V1}.zip")
    take_archive(home, V1)
    assert build_day(home, V1).passed
    path = next(home.staging.glob(f"{V1}/*/rows.parquet"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert not build_day(home, V1).reused, "the damaged build was to be made again"
    assert promote_day(home, V1).passed
    assert all(check.passed for check in verify_day(home, V1)) and stale_days(home) == []
    card_features(home, HomeRegistrar(home), {"v1": load_cards("v1")}, {"v1": load_attacks("v1")})
    assert build_plan(home, Recipe(Selection(all_days=True), split=Split(val_frac=0.5))).passed
    assert all(check.passed for check in verify(home))


def test_only_the_fetch_imports_what_could_reach_a_network():
    found = {}
    for path in sorted(CORE.rglob("*.py")):
        file = path.relative_to(CORE).as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            heads = {name.split(".")[0] for name in names} & NETWORK
            if heads and not file.startswith("fetch/") and file != WEBHOOK:
                found[file] = heads
    # A pair of connected ends between a process and its own child is no network.
    pairs = {name for name, heads in found.items() if name.startswith("submission/host/") and heads == {"socket"}}
    assert set(found) == pairs
    for name in pairs:
        assert "AF_INET" not in (text := (CORE / name).read_text()) and "create_connection" not in text
