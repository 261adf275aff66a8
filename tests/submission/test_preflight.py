"""Preflight refuses each broken archive, by the name of the rule it breaks."""

import dataclasses
import io
import tarfile

import pytest

from tcg_core.engine.decks import random_legal_deck, sample_deck
from tcg_core.submission.judged import plays_check, time_check
from tcg_core.submission.kaggle import Played, PreflightEpisode, PreflightOutcome
from tcg_core.submission.preflight import CHECKS, preflight


def rules(path, **options) -> dict[str, str]:
    """Names of failed checks with their rules; all checks are always there."""
    checks = preflight(path, **{"generations": ("v1",), "opponents": ("first",)} | options)
    assert [check.name for check in checks] == list(CHECKS)
    return {check.name: str(check.facts.get("rule", "")) for check in checks if not check.passed}


def main(packed, tail: str = "", head: str = "") -> bytes:
    return head.encode() + packed.files()["main.py"] + tail.encode()


def deck_bytes(deck) -> bytes:
    return "".join(f"{card}\n" for card in deck).encode()


def test_untouched_it_passes(packed, tmp_path):
    assert rules(packed.changed(tmp_path / "x.tar.gz")) == {}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("entry_point", lambda p: {"main.py": main(p, "\n\ndef helper(obs):\n    return []\n")}),
        ("file_variable", lambda p: {"main.py": main(p, head="import os\nHERE = os.path.dirname(__file__)\n")}),
        ("foreign_import", lambda p: {"main.py": main(p, head="import mlx.core\n")}),
        ("foreign_import", lambda p: {"tcg_core/encode/__init__.py": b"import msgspec\n"}),
        ("required_member", lambda p: {"weights.safetensors": None}),
        ("required_member", lambda p: {"main.py": None}),
        ("manifest", lambda p: {"deck.csv": deck_bytes(random_legal_deck("v1", 1))}),
        ("contract", lambda p: {"contract.json": b"[]"}),
        ("generation", lambda p: {"contract.json": p.files()["contract.json"].replace(b'"v1"', b'"v9"')}),
        ("forbidden_member", lambda p: {"mlx/__init__.py": b""}),
        ("secret", lambda p: {"kaggle.json": b"{}"}),
    ],
)
def test_refused_before_anything_runs(packed, tmp_path, rule, change):
    found = rules(packed.changed(tmp_path / "x.tar.gz", **change(packed)))
    assert found.pop("extracted") == rule
    assert set(found) == set(CHECKS) - {"extracted", "size"} and set(found.values()) == {"not_run"}


def test_a_swapped_file_differs_from_the_manifest(packed, tmp_path):
    path = packed.changed(tmp_path / "x.tar.gz", honest=False, **{"tcg_core/extra.py": b""})
    assert rules(path)["extracted"] == "manifest"
    path = packed.changed(tmp_path / "y.tar.gz", honest=False, **{"manifest.json": b"{}"})
    assert rules(path)["extracted"] == "manifest"


def test_absolute_member(packed, tmp_path):
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz") as out:
        member = tarfile.TarInfo("/main.py")
        member.size = 1
        out.addfile(member, io.BytesIO(b"\n"))
    assert rules(path)["extracted"] == "absolute_path"


def test_no_archive_at_all(tmp_path):
    path = tmp_path / "x.tar.gz"
    path.write_bytes(b"")
    assert rules(path) == {"extracted": "format", "size": ""} | dict.fromkeys(CHECKS[2:], "not_run")


def test_an_illegal_deck_is_refused_by_the_engine_s_rules(packed, tmp_path):
    from tcg_core.engine.decks import deck_hash

    deck = sample_deck()[:59]
    manifest = packed.files()["manifest.json"].replace(deck_hash(sample_deck()).encode(), deck_hash(deck).encode())
    path = packed.changed(tmp_path / "x.tar.gz", **{"deck.csv": deck_bytes(deck), "manifest.json": manifest})
    assert rules(path)["deck"] == "deck_rules"


def test_a_lambda_after_agent_is_found_by_loading(packed, tmp_path):
    found = rules(packed.changed(tmp_path / "x.tar.gz", **{"main.py": main(packed, "\nhelper = lambda obs: []\n")}))
    assert found["plays"] in ("entry_point", "load")


def test_changed_weights_give_other_logits(packed, tmp_path):
    weights = bytearray(packed.files()["weights.safetensors"])
    for place in range(len(weights) - 4000, len(weights), 4):
        weights[place : place + 4] = b"\x00\x00\x80\x3f"
    found = rules(packed.changed(tmp_path / "x.tar.gz", **{"weights.safetensors": bytes(weights)}))
    assert found["logits"] == "reference"


def test_a_policy_that_does_not_load_plays_defaults_and_is_refused(packed, tmp_path):
    cut = packed.files()["weights.safetensors"][:-8]
    found = rules(packed.changed(tmp_path / "x.tar.gz", **{"weights.safetensors": cut}))
    assert found["plays"] == "fallback" and found["logits"] == "reference"


def test_a_slow_policy_is_refused():
    played = Played("v1", 0, "first", ["DONE", "DONE"], [1, -1], seconds=[0.01] * 50)
    assert time_check(PreflightOutcome(load_seconds=3.0, episodes=[played])).passed
    slow = dataclasses.replace(played, seconds=[0.6] * 50)
    check = time_check(PreflightOutcome(load_seconds=3.0, episodes=[slow]))
    assert not check.passed and check.facts["p50_ms"] == 600.0
    assert not time_check(PreflightOutcome()).passed


def test_a_lane_that_dies_is_an_outcome(packed, monkeypatch):
    monkeypatch.setattr("tcg_core.submission.preflight.sys.executable", "false")
    assert rules(packed.archive)["plays"] == "load"


def test_an_agent_that_raises_is_refused(packed, tmp_path):
    tail = "\n\ndef agent(obs, config=None):\n    if obs['select'] is None:\n        return _PLAYER(obs)\n    raise OSError\n"
    assert rules(packed.changed(tmp_path / "x.tar.gz", **{"main.py": main(packed, tail)}))["plays"] == "error"


def test_cards_that_the_policy_does_not_know_are_said_and_are_no_fallback(tmp_path):
    planned = [PreflightEpisode("v1", seat, "first", 13) for seat in (0, 1)]
    known = {"fallbacks": {"total": 0}, "seconds": [0.01]}
    unknown = {"decisions": 2, "ids": {"card 1500": 2, "attack 1700": 1}}
    episodes = [Played("v1", seat, "first", ["DONE", "DONE"], [1, -1], **known) for seat in (0, 1)]
    outcome = PreflightOutcome(callable_name="agent", episodes=episodes)
    check = plays_check(tmp_path, outcome, planned)
    assert check.passed and check.facts["unknown_card"] == 0 and "tables" not in check.message
    episodes[-1].unknown_card = unknown
    check = plays_check(tmp_path, outcome, planned)
    assert check.passed and check.facts["unknown_card"] == 2
    assert check.message.endswith("2 decisions showed card 1500, attack 1700, which its tables do not have")
