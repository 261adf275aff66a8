"""From a day forward, and what a day that changed says about what was built from it."""

import pytest

from tcg_core.base.atomic import discard
from tcg_core.base.errors import UnknownId
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import dataset, mark
from tcg_core.lineage.days import marks, warnings
from tcg_core.lineage.walk import walk_back, walk_forward
from tests.ops.chain import chain, day


def keys(nodes):
    return [(node.depth, node.kind, node.id) for node in nodes]


def change(home, manifest, state, reason=None):
    with catalog(home) as connection, transaction(connection):
        row = connection.execute("SELECT day FROM datasets WHERE dataset_id = ?", (manifest.id,)).fetchone()
        mark(connection, row["day"], manifest.id, state, reason)


def promote(home, id):
    with catalog(home) as connection:
        connection.execute("DROP TABLE IF EXISTS promotions")
        connection.execute("CREATE TABLE promotions (challenger TEXT, verdict TEXT)")
        connection.execute("INSERT INTO promotions VALUES (?, 'promoted')", (id,))


def test_everything_built_from_a_day_is_listed_once_and_nothing_else(home):
    first, second = day(home, "2026-08-01"), day(home, "2026-08-02")
    chain(home, "both", (first, second))
    chain(home, "second", (second,))
    promote(home, "submission-both")
    found = keys(walk_forward(home, "2026-08-01"))
    assert found == [
        (0, "parquet_day", first.id),
        (1, "work_plan", "plan-both"),
        (2, "checkpoint", "checkpoint-both"),
        (3, "torch_artifact", "torch_artifact-both"),
        (4, "submission", "submission-both"),
        (5, "champion", "submission-both"),
        (5, "tournament", "tournament-both"),
    ]
    assert len(walk_forward(home, "2026-08-02")) == 12
    assert {node.state for node in walk_forward(home, "2026-08-02")} == {"intact", "as recorded"}
    assert not any(node.note for node in walk_forward(home, "2026-08-02")[1:])
    with pytest.raises(UnknownId, match="2026-08-09"):
        walk_forward(home, "2026-08-09")


def test_a_changed_file_and_a_missing_directory_are_named(home):
    made = chain(home, "a", (day(home, "2026-08-01"),))
    path = home.plans / "plan-a" / "file.bin"
    path.write_bytes(b"other")
    discard(home.artifacts / made["torch_artifact"].id)
    states = {node.kind: node.state for node in walk_forward(home, "2026-08-01")}
    assert "file.bin" in states["work_plan"] and states["torch_artifact"] == "missing" and states["submission"] == "intact"


@pytest.mark.parametrize("state", ["excluded", "damaged"])
def test_a_day_out_of_selection_marks_all_that_was_built_from_it(home, state):
    bad, good = day(home, "2026-08-01"), day(home, "2026-08-02")
    chain(home, "bad", (bad, good))
    chain(home, "good", (good,))
    assert marks(home) == {} and warnings(home) == []
    change(home, bad, state, "the ladder was broken")
    later = ("checkpoint", "torch_artifact", "submission", "tournament")
    assert {id for _, id in marks(home)} == {
        "plan-bad",
        *(f"{kind}-bad" for kind in later),
    }
    notes = {node.note for node in walk_forward(home, "2026-08-01")[1:]}
    assert notes == {f"built from superseded day 2026-08-01 ({state}: the ladder was broken)"}
    promote(home, "submission-bad")
    [line] = warnings(home)
    assert line.startswith("champion submission-bad is built from superseded day 2026-08-01") and state in line


def test_a_day_that_is_published_again_marks_until_nothing_was_built_from_the_old_one(home):
    old = day(home, "2026-08-01")
    chain(home, "old", (old,))
    new = day(home, "2026-08-01", archive="another", episodes=2)
    [line] = warnings(home)
    assert "latest submission submission-old" in line and "re-published" in line
    chain(home, "new", (new,))
    assert warnings(home) == []
    by_depth = [(n.kind, n.note.split(":")[0]) for n in walk_forward(home, "2026-08-01") if n.depth == 0]
    assert by_depth == [("parquet_day", "validated"), ("parquet_day", "superseded")] or by_depth[::-1] == [
        ("parquet_day", "validated"),
        ("parquet_day", "superseded"),
    ]
    back = {node.id: node.note for node in walk_back(home, home.submissions / "submission-old")}
    assert "re-published" in back[old.id]


def test_a_day_built_again_by_other_code_is_told_and_not_warned_of(home):
    built = day(home, "2026-08-01")
    chain(home, "a", (built,))
    change(home, built, "superseded")
    assert warnings(home) == []
    assert {str(m) for held in marks(home).values() for m in held} == {
        "built from an older build of day 2026-08-01 (superseded: built again by other code)"
    }
    with catalog(home) as connection:
        assert dataset(connection, "2026-08-01", built.id).state == "superseded"


def test_the_same_id_with_other_bytes_marks_what_read_the_first(home):
    built = day(home, "2026-08-01")
    chain(home, "a", (built,))
    with catalog(home) as connection:
        connection.execute("UPDATE artifacts SET content = ? WHERE kind = 'parquet_day'", ("0" * 64,))
    [line] = warnings(home)
    assert f"its content is now {'0' * 12}, it was {built.content[:12]}" in line
