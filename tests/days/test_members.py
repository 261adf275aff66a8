"""Members of an archive, mutated: each ends in exactly one way, with all that belongs to it and nothing more."""

import json
import zipfile

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tcg_core.catalog.records import EpisodeRecord
from tcg_core.days import write_day as module
from tcg_core.days.checks.rows import illegal
from tcg_core.days.members import process
from tcg_core.days.write_day import plain_sample
from tcg_core.replay.archive import open_archive
from tests.replay.test_mutations import SMALL, slots, trimmed, values

quiet = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@quiet
@given(
    episode=st.sampled_from(SMALL),
    kind=st.sampled_from(["whole", "cut", "swap", "delete", "value"]),
    where=st.floats(0, 1, exclude_max=True),
    value=values,
    plain=st.booleans(),
)
def test_a_mutated_member_is_rows_or_excluded_or_quarantined_and_never_in_part(tmp_path, episode, kind, where, value, plain):
    data = trimmed(episode)
    if kind == "cut":
        data = data[: int(where * len(data))]
    elif kind != "whole":
        document = json.loads(data)
        places = slots(document, [])
        container, key = places[int(where * len(places))]
        if kind == "value":
            container[key] = value
        elif kind == "delete":
            del container[key]
        else:
            steps = document["steps"]
            first, second = int(where * len(steps)), int(where * 997) % len(steps)
            steps[first], steps[second] = steps[second], steps[first]
        data = json.dumps(document).encode()
    path = tmp_path / "day.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{episode}.json", data)
    with open_archive(path) as archive:
        result = process(archive, archive.members[0], "2026-01-01", plain)
    record = result.record
    assert isinstance(record, EpisodeRecord) and record.episode_id == episode and record.member == f"{episode}.json"
    if kind == "whole":
        assert record.status == "rows"
    if record.status != "rows":
        assert record.status in ("excluded", "quarantined") and record.reason
        assert result.columns is None and not result.expected
        assert record.status == "excluded" or (record.detail and not record.games)
        return
    assert result.columns is not None and result.columns.rows == sum(lane.rows for lane in result.expected) == record.rows
    assert not illegal(result.columns).any()
    if plain:
        assert all((lane.plain_decisions, lane.plain_rows) == (lane.decisions, lane.rows) for lane in result.expected)


def test_the_plain_sample_is_a_hundredth_and_holds_no_giant(tmp_path, monkeypatch):
    path = tmp_path / "day.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(1, 601):
            archive.writestr(f"{number}.json", b"x" * (1 + number % 2))
    with open_archive(path) as archive:
        whole = plain_sample(archive, "2026-01-01")
        assert 1 <= len(whole) <= 20 and whole == plain_sample(archive, "2026-01-01") != plain_sample(archive, "2026-01-02")
        monkeypatch.setattr(module, "PLAIN_BYTES", 1)
        assert plain_sample(archive, "2026-01-01") and all(id % 2 == 0 for id in plain_sample(archive, "2026-01-01"))
        monkeypatch.setattr(module, "PLAIN_BYTES", 0)
        assert not plain_sample(archive, "2026-01-01")
