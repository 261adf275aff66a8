import json
from dataclasses import replace

import pytest

from tcg_core.base.errors import UnknownId
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import TRANSITIONS, dataset, datasets_of, mark, validate
from tcg_core.catalog.days import check_conflicts, day_row
from tcg_core.catalog.errors import CatalogError, EpisodeConflict
from tcg_core.catalog.records import EpisodeRecord
from tests.catalog.helpers import add_day, episode


def test_a_record_survives_json():
    record = episode(7)
    assert EpisodeRecord.from_plain(json.loads(json.dumps(record.plain()))) == record


def test_a_day_is_registered_again_without_change(home):
    for _ in range(2):
        add_day(home, "2026-08-01", [episode(1), episode(2)])
    with catalog(home) as connection:
        assert connection.execute("SELECT count(*) FROM episodes").fetchone()[0] == 2
        assert connection.execute("SELECT count(*) FROM games").fetchone()[0] == 2
        assert connection.execute("SELECT count(*) FROM participants").fetchone()[0] == 4
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_another_archive_supersedes_what_was_built_of_the_old_one(home):
    add_day(home, "2026-08-01", [episode(1)])
    add_day(home, "2026-08-01", [episode(2), episode(3)], archive="another", validated=False)
    with catalog(home) as connection:
        assert sorted(d.state for d in datasets_of(connection, "2026-08-01")) == ["staged", "superseded"]
        assert [r[0] for r in connection.execute("SELECT episode_id FROM episodes")] == [2, 3]


def test_the_same_id_with_other_content_on_another_day_is_an_error_naming_both(home):
    add_day(home, "2026-08-01", [episode(1)])
    with pytest.raises(EpisodeConflict, match=r"episode 1: day 2026-08-02 .*day 2026-08-01"):
        add_day(home, "2026-08-02", [episode(1, content="other")])
    with catalog(home) as connection:
        assert connection.execute("SELECT count(*) FROM episodes WHERE day = '2026-08-02'").fetchone()[0] == 0


def test_the_same_id_with_the_same_content_is_counted(home):
    add_day(home, "2026-08-01", [episode(1)])
    with catalog(home) as connection:
        assert check_conflicts(connection, "2026-08-02", [episode(1), episode(2)]) == 1


def test_an_unknown_day_is_named(home):
    with catalog(home) as connection, pytest.raises(UnknownId, match="2026-08-09"):
        day_row(connection, "2026-08-09")


@pytest.mark.parametrize("state", TRANSITIONS)
def test_every_state_moves_only_where_it_may(home, state):
    add_day(home, "2026-08-01", [episode(1)], validated=False)
    for target in TRANSITIONS:
        with catalog(home) as connection, transaction(connection):
            found = datasets_of(connection, "2026-08-01")[0]
            connection.execute("UPDATE datasets SET state = ?, reason = 'why'", (state,))
            if target in TRANSITIONS[state]:
                mark(connection, "2026-08-01", found.dataset_id, target, "because")
                assert dataset(connection, "2026-08-01", found.dataset_id).state == target
            else:
                with pytest.raises(CatalogError, match=f"is {state}, which may not become {target}"):
                    mark(connection, "2026-08-01", found.dataset_id, target, "because")


def test_validating_supersedes_the_one_before(home):
    add_day(home, "2026-08-01", [episode(1)])
    with catalog(home) as connection, transaction(connection):
        first = datasets_of(connection, "2026-08-01")[0]
        connection.execute(
            "INSERT INTO datasets SELECT 'bbbbbbbbbbbbbbbb', day, 'staged', NULL, path, sha256, bytes, rows, episodes,"
            " row_groups, generations, schema_digest, code, archive_sha256, created_at, changed_at, NULL FROM datasets"
        )
        validate(connection, "2026-08-01", "b" * 16, "days/2026-08-01/new")
        assert dataset(connection, "2026-08-01", first.dataset_id).state == "superseded"
        assert [d.dataset_id for d in datasets_of(connection, state="validated")] == ["b" * 16]


def test_a_quarantined_episode_needs_a_reason(home):
    broken = replace(episode(1), status="quarantined", games=())
    with pytest.raises(Exception, match="CHECK"):
        add_day(home, "2026-08-01", [broken])
