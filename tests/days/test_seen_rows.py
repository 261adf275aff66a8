"""What a run has seen is a day's rows: a real day whose file was written anew, with other bytes under another id, stays seen."""

import pytest

from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.selection import select_days
from tcg_core.days.promote import promote_day
from tcg_core.encode.columns import Columns
from tcg_core.recipe import Selection
from tcg_core.rows.digest import fill_digests, fill_digests_for
from tests.catalog.helpers import planned
from tests.days.conftest import V1
from tests.days.rewritten import forget_digests, rewrite, validated

RUN = "a" * 16


@pytest.fixture
def trained(staged: Home) -> Home:
    """A home as it was before the hash of rows was recorded, with a run over its one day."""
    promote_day(staged, V1)
    forget_digests(staged, V1)
    planned(staged, RUN, (V1,))
    return staged


def unseen(home: Home) -> list[str]:
    fill_digests_for(home, RUN)
    with catalog(home) as connection:
        try:
            return [day.day for day in select_days(connection, Selection(all_days=True, unseen_by=RUN))]
        except SelectionEmpty:
            return []


def test_a_build_records_the_hash_of_its_rows(staged: Home) -> None:
    promote_day(staged, V1)
    before = validated(staged, V1).rows_digest
    forget_digests(staged, V1)
    assert fill_digests(staged, [V1]) == 1 and fill_digests(staged, [V1]) == 0
    assert before and validated(staged, V1).rows_digest == before


def test_other_bytes_of_the_same_rows_are_seen(trained: Home) -> None:
    before = validated(trained, V1)
    assert unseen(trained) == [] and validated(trained, V1).rows_digest is None, "the same file needs no reading"
    after = rewrite(trained, V1, code="other code")
    assert after.sha256 != before.sha256 and after.dataset_id != before.dataset_id
    assert unseen(trained) == []


def test_one_other_value_is_not(trained: Home) -> None:
    def change(columns: Columns) -> None:
        columns["aux_return"][7] += 0.5

    rewrite(trained, V1, change=change)
    assert unseen(trained) == [V1]


def test_a_file_that_is_not_what_was_recorded_gets_no_hash(trained: Home) -> None:
    path = trained.root / validated(trained, V1).path / "rows.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"X")
    assert fill_digests(trained, [V1]) == 0


def test_what_is_superseded_is_read_first(trained: Home) -> None:
    old = validated(trained, V1)
    rewrite(trained, V1)
    promote_day(trained, V1)
    with catalog(trained) as connection:
        query = "SELECT rows_digest FROM datasets WHERE day = ? AND dataset_id = ?"
        [digest] = connection.execute(query, (V1, old.dataset_id)).fetchone()
    assert digest == validated(trained, V1).rows_digest
