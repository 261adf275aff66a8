import pytest

from tcg_core.base.atomic import write_bytes
from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError, UnknownId
from tcg_core.base.manifest import Input, Manifest, hash_files, write_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.ops.rebuild import rebuild
from tests.catalog.helpers import users_of

GOOD, BAD, WARNED = Check("a", True, "fine"), Check("b", False, "it is broken"), Check("c", False, "hm", "WARN")


def artifact(home, id, text="x", inputs=(), kind="work_plan"):
    path = home.plans / id
    write_bytes(path / "file.txt", text.encode())
    manifest = Manifest(kind, id, inputs, {"k": 1}, "code", {}, hash_files(path), {"rows": 3})
    write_manifest(path, manifest)
    registry.register(home, manifest, path)
    return manifest


def test_only_what_passed_is_handed_over(home):
    artifact(home, "one")
    with pytest.raises(ChecksNotPassed, match="never checked"):
        registry.require_passed(home, "work_plan", "one")
    registry.record_checks(home, "work_plan", "one", [GOOD, BAD])
    with pytest.raises(ChecksNotPassed, match="check b failed: it is broken"):
        registry.require_passed(home, "work_plan", "one")
    registry.record_checks(home, "work_plan", "one", [GOOD, WARNED])
    assert registry.require_passed(home, "work_plan", "one") == home.plans / "one"
    with pytest.raises(ChecksNotPassed, match="check z absent"):
        registry.require_passed(home, "work_plan", "one", ["a", "z"])


def test_the_latest_that_passed_is_found_and_not_the_latest(home):
    with pytest.raises(UnknownId, match="no work_plan"):
        registry.latest_passed(home, "work_plan")
    for id, check in (("one", GOOD), ("two", GOOD), ("three", BAD)):
        artifact(home, id)
        registry.record_checks(home, "work_plan", id, [check])
    assert registry.latest_passed(home, "work_plan") == "two"
    artifact(home, "one")
    assert registry.latest_passed(home, "work_plan") == "one"
    assert [row.state for row in registry.rows_of(home, "work_plan")] == ["passed", "failed", "passed"]


def test_another_content_under_an_id_drops_its_checks(home):
    artifact(home, "one")
    registry.record_checks(home, "work_plan", "one", [GOOD])
    artifact(home, "one", text="other")
    assert registry.checks_of(home, "work_plan", "one") == ()


def test_a_missing_directory_is_named(home):
    artifact(home, "one")
    (home.plans / "one").rename(home.plans / "elsewhere")
    with pytest.raises(UnknownId, match="nothing"):
        registry.find(home, "work_plan", "one")


def test_users_are_found_through_others(home):
    plan = artifact(home, "plan", inputs=(Input("parquet_day", "day", "0" * 64),))
    artifact(home, "run", inputs=(plan.as_input(),), kind="checkpoint")
    assert users_of(home, "parquet_day", "day") == [("work_plan", "plan"), ("checkpoint", "run")]


def test_the_registry_is_rebuilt_from_disk(home):
    plan = artifact(home, "plan", inputs=(Input("parquet_day", "day", "0" * 64),))
    registry.record_checks(home, "work_plan", "plan", [GOOD])
    before = registry.rows_of(home)
    home.catalog.unlink()
    (home.plans / "broken").mkdir()
    (home.plans / "broken" / "manifest.json").write_text("{")
    write_manifest(home.plans / ".tmp-1-2-half", plan)
    (home.archives / "2026-08-01").mkdir()
    (home.archives / "2026-08-01" / ".tmp-1-2-half.zip").write_bytes(b"half")
    found = rebuild(home)
    assert found.counts["artifacts"] == 1 and len(found.problems) == 1 and "broken" in found.problems[0]
    assert found.missing == ("parquet_day day is not on disk; work_plan plan was made from it",)
    after = registry.rows_of(home)
    assert [(r.kind, r.id, r.path, r.content, r.state) for r in after] == [
        (r.kind, r.id, r.path, r.content, r.state) for r in before
    ]
    assert users_of(home, "parquet_day", "day") == [("work_plan", plan.id)]


def test_a_path_outside_the_home_is_refused(home, tmp_path):
    with pytest.raises(IntegrityError, match="not below"):
        registry.register(home, Manifest("k", "i", (), {}, "", {}, {}), tmp_path)
