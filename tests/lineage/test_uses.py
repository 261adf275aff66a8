"""What a day's and a submission's page say, from a home made by hand."""

import pytest

from tcg_core.arena.champion import champion_checks
from tcg_core.base.atomic import write_bytes
from tcg_core.base.errors import UnknownId
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import mark
from tcg_core.catalog.promotions import record
from tcg_core.lineage.submission import origin, outcome
from tcg_core.lineage.uses import uses
from tests.ops.chain import artifact, chain, day


def days_check(home):
    return next(check for check in champion_checks(home) if check.name == "days_current")


def test_a_day_lists_every_way_from_it_to_play(home):
    first, second = day(home, "2026-08-01"), day(home, "2026-08-02")
    both = chain(home, "both", (first, second))
    chain(home, "second", (second,))
    artifact(home, "tournament", "again-both", (both["submission"].as_input(),))
    record(home, "submission-both", "heuristic", "again-both", "promoted", "stronger")
    found = uses(home)
    assert [(use.work_plan, use.submission, use.tournament, use.champion) for use in found["2026-08-01"]] == [
        ("plan-both", "submission-both", "again-both", "promoted against heuristic, reigns"),
        ("plan-both", "submission-both", "tournament-both", "reigns"),
    ]
    assert {use.work_plan for use in found["2026-08-02"]} == {"plan-both", "plan-second"}
    assert uses(home, ["2026-08-01"]).keys() == {"2026-08-01"}
    day(home, "2026-08-03")
    assert "2026-08-03" not in uses(home), "nothing was built from it"


def test_a_chain_that_went_no_further_is_listed_as_far_as_it_went(home):
    built = day(home, "2026-08-01")
    artifact(home, "work_plan", "plan", (built.as_input(),))
    [use] = uses(home)["2026-08-01"]
    assert (use.work_plan, use.checkpoint, use.champion, use.through) == ("plan", "", "", "")


def test_a_day_behind_the_run_that_is_continued_says_through_which(home):
    old, new = day(home, "2026-08-01"), day(home, "2026-08-02")
    made = chain(home, "old", (old,))
    artifact(home, "work_plan", "plan-new", (new.as_input(), made["checkpoint"].as_input()))
    through = {use.work_plan: use.through for use in uses(home)["2026-08-01"]}
    assert through == {"plan-old": "", "plan-new": "checkpoint-old"}
    assert [use.through for use in uses(home)["2026-08-02"]] == [""]


def test_of_a_tournament_only_the_candidate_is_told_not_who_played_against_it(home):
    one, other = chain(home, "one", (day(home, "2026-08-01"),)), chain(home, "other", (day(home, "2026-08-02"),))
    artifact(home, "tournament", "duel", (one["submission"].as_input(), other["submission"].as_input()))
    assert {use.tournament for use in uses(home)["2026-08-01"]} == {"tournament-one", "duel"}
    assert {use.tournament for use in uses(home)["2026-08-02"]} == {"tournament-other"}


def test_a_submission_leads_back_to_its_days_checks_and_curves(home):
    made = chain(home, "a", (day(home, "2026-08-01"), day(home, "2026-08-02", episodes=3)))
    found = origin(home, made["submission"].id)
    assert [(behind.day, behind.episodes, behind.state) for behind in found.days] == [
        ("2026-08-01", 1, "validated"),
        ("2026-08-02", 3, "validated"),
    ]
    assert (found.plan.id, found.checkpoint.id, found.artifact.id) == ("plan-a", "checkpoint-a", "torch_artifact-a")
    assert found.curves is None and not found.parity.passed, "this chain has neither"
    write_bytes(found.checkpoint.path / "curves.png", b"png")
    assert origin(home, made["submission"].id).curves == found.checkpoint.path / "curves.png"
    with pytest.raises(UnknownId, match="no torch_artifact behind submission nobody"):
        origin(home, "nobody")


def test_a_submission_says_whether_it_reigns_and_why(home):
    one, other = chain(home, "one", (day(home, "2026-08-01"),)), chain(home, "other", (day(home, "2026-08-02"),))
    strong, weak = one["submission"].id, other["submission"].id
    assert outcome(home, strong).champion == "no: nothing was decided about it; heuristic reigns"
    assert list(outcome(home, strong).results) == ["tournament-one"]
    record(home, weak, "heuristic", "tournament-other", "inconclusive", "too few games")
    assert outcome(home, weak).champion == "no, inconclusive: too few games; heuristic reigns"
    record(home, strong, "heuristic", "tournament-one", "promoted", "it won")
    assert outcome(home, strong).champion == "yes, it reigns: it won"
    record(home, weak, strong, "tournament-other", "promoted", "it won too")
    assert outcome(home, strong).champion == f"no longer: it was promoted by tournament tournament-one, now {weak} reigns"
    assert [item.verdict for item in outcome(home, weak).decisions] == ["inconclusive", "promoted"]


@pytest.mark.parametrize(
    ("state", "reason", "passed", "words"),
    [
        (
            "superseded",
            None,
            True,
            "2 days behind it, none published again, excluded or damaged; 1 of them built again by newer code",
        ),
        ("excluded", "bots only", False, "built from superseded day 2026-08-01 (excluded: bots only)"),
        ("damaged", "one byte", False, "built from superseded day 2026-08-01 (damaged: one byte)"),
    ],
)
def test_the_champion_s_check_warns_of_changed_days_and_not_of_newer_code(home, state, reason, passed, words):
    first = day(home, "2026-08-01")
    made = chain(home, "a", (first, day(home, "2026-08-02")))
    record(home, made["submission"].id, "heuristic", "tournament-a", "promoted", "it won")
    assert days_check(home).message == "2 days behind it, none published again, excluded or damaged"
    with catalog(home) as connection, transaction(connection):
        mark(connection, "2026-08-01", first.id, state, reason)
    found = days_check(home)
    assert (found.passed, found.severity) == (passed, "WARN") and words in found.message


def test_the_champion_s_check_warns_of_a_day_with_another_archive(home):
    made = chain(home, "a", (day(home, "2026-08-01"),))
    record(home, made["submission"].id, "heuristic", "tournament-a", "promoted", "it won")
    day(home, "2026-08-01", archive="another", episodes=2)
    found = days_check(home)
    assert not found.passed and "re-published: the day has another archive" in found.message
    [use] = uses(home)["2026-08-01"]
    assert "re-published" in use.note
