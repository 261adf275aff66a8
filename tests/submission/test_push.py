"""Nothing is sent without a person, nothing beyond the day's five, and scores are kept with their noise."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from tcg_assets.cli import main as cli
from tcg_core.base.checks import Check
from tcg_core.base.errors import UnknownId
from tcg_core.base.home import NotADay
from tcg_core.catalog import registry
from tcg_core.catalog.connection import now
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.fetch import competition as module
from tcg_core.fetch.competition import KaggleCompetition, ListedSubmission
from tcg_core.fetch.errors import FetchError
from tcg_core.submission.ladder import LadderError, add_score, ladder_path, read_record, take_scores
from tcg_core.submission.push import PushRefused, confirm_and_push, propose, push

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class FakeKaggle:
    """Keeps what it was sent."""

    listed: list[ListedSubmission] = field(default_factory=list)
    got: list[tuple[str, bytes]] = field(default_factory=list)

    def recent(self) -> tuple[ListedSubmission, ...]:
        return tuple(self.listed)

    def send(self, archive: Path, message: str) -> str:
        self.got.append((message, archive.read_bytes()))
        return f"ref{len(self.got)}"


def sent(at: str, ref: str = "1", score: float | None = None) -> ListedSubmission:
    return ListedSubmission(ref, at, "", "COMPLETE", score)


@pytest.fixture(autouse=True)
def _no_records(packed):
    yield
    ladder_path(packed.home, packed.built.id).unlink(missing_ok=True)


def test_it_is_shown_confirmed_sent_and_recorded(packed):
    kaggle, shown = FakeKaggle([sent(now()), sent("2026-06-20T10:00:00Z")]), []

    def person(proposal):
        shown.append(proposal)
        return proposal.typed

    record = confirm_and_push(packed.home, packed.built.id, kaggle, person)
    assert shown[0].left == 4
    assert shown[0].facts["sha256"] == packed.built.facts["archive_sha256"]
    assert "28" in shown[0].facts["note"] and "173" in shown[0].facts["note"]
    assert kaggle.got == [(f"tcg {packed.built.id}", packed.archive.read_bytes())]
    assert [item.ref for item in record.pushes] == ["ref1"]
    assert read_record(packed.home, packed.built.id) == record
    assert "ref1" not in str(packed.built.path), "the submission's own directory is not touched"
    registry.require_passed(packed.home, "submission", packed.built.id)


@pytest.mark.parametrize("typed", ["", "y", "yes", "0" * 8])
def test_anything_else_typed_sends_nothing(packed, typed):
    kaggle = FakeKaggle()
    with pytest.raises(PushRefused, match="not sent"):
        push(packed.home, propose(packed.home, packed.built.id, kaggle), kaggle, typed)
    assert kaggle.got == [] and not ladder_path(packed.home, packed.built.id).exists()


def test_the_sixth_of_a_day_is_refused(packed):
    with pytest.raises(PushRefused, match="5 a day"):
        propose(packed.home, packed.built.id, FakeKaggle([sent(now())] * 5))


def test_a_submission_whose_preflight_failed_is_refused(packed):
    registry.record_checks(packed.home, "submission", packed.built.id, [Check("plays", False, "it fell back")])
    try:
        with pytest.raises(ChecksNotPassed, match="plays"):
            propose(packed.home, packed.built.id, FakeKaggle())
    finally:
        registry.record_checks(packed.home, "submission", packed.built.id, packed.built.checks)


def tcg(monkeypatch, capfd, home, *arguments) -> tuple[int, str]:
    monkeypatch.setenv("TCG_DATA", str(home.root))
    monkeypatch.setattr(sys, "argv", ["tcg", *arguments])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    said = capfd.readouterr()
    return code, said.out + said.err


def test_without_a_terminal_nothing_is_even_asked(packed, monkeypatch, capfd):
    monkeypatch.setattr(module, "_authenticated", lambda: pytest.fail("Kaggle was asked"))
    code, said = tcg(monkeypatch, capfd, packed.home, "submit", "push", packed.built.id)
    assert code == 2 and "needs a person at a terminal" in said


def test_no_asset_or_schedule_can_send():
    for path in (ROOT / "tcg_assets").rglob("*.py"):
        if path.is_relative_to(ROOT / "tcg_assets" / "cli"):
            continue
        text = path.read_text()
        assert "submission.push" not in text and "fetch.competition" not in text, path


def test_the_official_client_is_called_as_it_is_written(monkeypatch, packed):
    """The shapes of kaggle 2.2.5: a list of objects, and an answer whose ref is 0 when the upload broke."""
    calls = []

    class Api:
        ref = 51234

        def competition_submissions(self, competition, page_size):
            from datetime import datetime

            one = SimpleNamespace(
                ref=7,
                date=datetime(2026, 8, 1, 9, 30),
                description="tcg x",
                status=SimpleNamespace(name="COMPLETE"),
                public_score="612.5",
            )
            return [one, None]

        def competition_submit(self, file_name, message, competition, quiet):
            calls.append((file_name, message, competition, quiet))
            return SimpleNamespace(ref=self.ref)

    api = Api()
    monkeypatch.setattr(module, "_authenticated", lambda: api)
    client = KaggleCompetition()
    assert client.recent() == (ListedSubmission("7", "2026-08-01T09:30:00Z", "tcg x", "COMPLETE", 612.5),)
    assert client.send(packed.archive, "m") == "51234"
    assert calls == [(str(packed.archive), "m", "pokemon-tcg-ai-battle", True)]
    api.ref = 0
    with pytest.raises(FetchError, match="nothing was submitted"):
        client.send(packed.archive, "m")
    monkeypatch.setattr(api, "competition_submit", lambda *a, **k: (_ for _ in ()).throw(ValueError("key=secret")))
    with pytest.raises(FetchError) as refused:
        client.send(packed.archive, "m")
    assert "secret" not in str(refused.value)


def test_scores_are_kept_with_their_dates(packed, monkeypatch, capfd):
    code, said = tcg(monkeypatch, capfd, packed.home, "ladder", "add", packed.built.id, "612.5", "--date", "2026-08-03")
    assert code == 0 and "612.5 (2026-08-03, entered)" in said and "28 (standard deviation) to 173 points" in said
    add_score(packed.home, packed.built.id, 600.0, "2026-08-01")
    add_score(packed.home, packed.built.id, 600.0, "2026-08-01")
    assert [item.date for item in read_record(packed.home, packed.built.id).scores] == ["2026-08-01", "2026-08-03"]
    code, said = tcg(monkeypatch, capfd, packed.home, "ladder")
    assert code == 0 and "612.5" in said and "173 points" in said


def test_scores_are_fetched_by_reference(packed):
    kaggle = FakeKaggle()
    confirm_and_push(packed.home, packed.built.id, kaggle, lambda proposal: proposal.typed)
    assert take_scores(packed.home, [sent(now(), "other", 1.0), sent(now(), "ref1", None)]) == []
    [record] = take_scores(packed.home, [sent(now(), "ref1", 655.0)])
    assert (record.scores[0].score, record.scores[0].source) == (655.0, "fetched")


@pytest.mark.parametrize(
    ("id", "score", "date", "error"),
    [
        ("nobody", 1.0, "2026-08-01", UnknownId),
        (None, float("nan"), "2026-08-01", LadderError),
        (None, 1.0, "yesterday", NotADay),
    ],
)
def test_bad_scores_are_refused(packed, id, score, date, error):
    with pytest.raises(error):
        add_score(packed.home, id or packed.built.id, score, date)


def test_a_deck_is_checked_by_the_engines_rules(packed, monkeypatch, capfd, tmp_path):
    from tcg_core.engine.decks import sample_deck, write_deck

    good, bad, none = tmp_path / "good.csv", tmp_path / "bad.csv", tmp_path / "none.csv"
    write_deck(good, sample_deck())
    write_deck(bad, [*sample_deck()[:59], 999999])
    none.write_text("not a card\n")
    code, said = tcg(monkeypatch, capfd, packed.home, "deck", "check", str(good))
    assert code == 0 and said.count("pass") == 2
    code, said = tcg(monkeypatch, capfd, packed.home, "deck", "check", str(bad))
    assert code == 2 and "999999" in said and "FAIL v1" in said
    code, said = tcg(monkeypatch, capfd, packed.home, "deck", "check", str(none))
    assert code == 2 and "line 1" in said
