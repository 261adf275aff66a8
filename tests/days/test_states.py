import pytest

from tcg_core.catalog import catalog, registry
from tcg_core.catalog.datasets import datasets_of
from tcg_core.catalog.days import list_days
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.selection import select_days
from tcg_core.days import build, code
from tcg_core.days.build import build_day
from tcg_core.days.code import require_present_code
from tcg_core.days.errors import DayError, DaysOfOtherCode
from tcg_core.days.promote import promote_day
from tcg_core.days.states import exclude_day, listed_days, restore_day, stale_days, stale_line
from tcg_core.days.take import take_archive
from tcg_core.ops.rebuild import rebuild
from tcg_core.recipe import Selection
from tests.days.conftest import V1
from tests.days.replays import members, put


def now(home):
    with catalog(home) as connection:
        return {row.dataset_id: row.state for row in datasets_of(connection, V1)}


def selected(home):
    with catalog(home) as connection:
        return [day.dataset_id for day in select_days(connection, Selection(all_days=True))]


def test_days_and_artifacts_are_listed_for_people(home):
    put(home, V1, members())
    archive = take_archive(home, V1)
    assert [(d["day"], d["state"], d["rows"], d["archive"]) for d in list_days(home)] == [
        (V1, "taken", 0, archive.path.stem[:12])
    ]
    built = build_day(home, V1)
    promote_day(home, V1)
    day = list_days(home)[0]
    assert (day["state"], day["rows"], day["episodes"], day["dataset"], day["generation"]) == (
        "validated",
        287,
        5,
        built.id,
        "v1",
    )
    assert [(a["kind"], a["state"]) for a in registry.list_artifacts(home)] == [
        ("day_archive", "passed"),
        ("staged_day", "passed"),
        ("parquet_day", "passed"),
    ]


def test_an_excluded_day_is_not_selected_and_comes_back(staged):
    id = promote_day(staged, V1).id
    with pytest.raises(DayError, match="say why"):
        exclude_day(staged, V1, " ")
    row = exclude_day(staged, V1, "a bug of the ladder")
    assert (row.state, row.reason) == ("excluded", "a bug of the ladder")
    with pytest.raises(SelectionEmpty):
        selected(staged)
    with pytest.raises(DayError, match="no validated dataset"):
        exclude_day(staged, V1, "again")
    assert restore_day(staged, V1, id).state == "validated" and selected(staged) == [id]


def test_the_former_archive_of_a_day_is_restored(staged):
    old = promote_day(staged, V1)
    put(staged, V1, dict(list(members().items())[:2]))
    take_archive(staged, V1)
    build_day(staged, V1)
    new = promote_day(staged, V1)
    assert restore_day(staged, V1, old.id).state == "validated"
    assert now(staged) == {old.id: "validated", new.id: "superseded"}
    (new.path / "rows.parquet").unlink()
    with pytest.raises(DayError, match=r"cannot be restored: it is superseded; .*rows\.parquet"):
        restore_day(staged, V1, new.id)


def test_days_of_other_code_are_stale_until_they_are_built_again(staged, monkeypatch):
    old = promote_day(staged, V1)
    assert stale_days(staged) == [] and stale_line(staged) == ""
    assert [day["stale"] for day in listed_days(staged)] == [""]
    with monkeypatch.context() as former:
        former.setattr("tcg_core.base.stage.code_version", lambda asset: "other")
        former.setattr(code, "build_code", lambda: "other")
        assert [(day.day, day.unreadable) for day in stale_days(staged)] == [(V1, False)]
        assert [(day["state"], day["stale"]) for day in listed_days(staged)] == [("validated", "other code")]
        assert V1 in stale_line(staged)
        assert now(staged) == {old.id: "validated"}, "stale is a comparison: no row changes"
        with catalog(staged) as connection, pytest.raises(DaysOfOtherCode, match=V1):
            require_present_code(connection, select_days(connection, Selection(all_days=True)))
        new = build_day(staged, V1)
        promote_day(staged, V1)
        assert now(staged) == {old.id: "superseded", new.id: "validated"} and stale_days(staged) == []
    assert [day.dataset_id for day in stale_days(staged)] == [new.id], "the former code is back, and with it the comparison"


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_lost_catalog_is_filled_again_without_another_pass(staged, monkeypatch, rebuilt):
    id = promote_day(staged, V1).id
    for file in staged.root.glob("catalog.sqlite*"):
        file.unlink()
    if rebuilt:
        rebuild(staged)
    monkeypatch.setattr(build, "write_day", lambda *_: pytest.fail("another pass"))
    assert take_archive(staged, V1).passed
    assert build_day(staged, V1).reused
    assert promote_day(staged, V1).passed and now(staged) == {id: "validated"} and selected(staged) == [id]
