"""What a newer code means for a home is said first, then done: days proven, not built again, and a plan is built on them."""

import json
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from typer.testing import CliRunner

from tcg_assets.cli.main import app
from tcg_core.base.atomic import publishing
from tcg_core.base.home import VARIABLE, Home
from tcg_core.base.manifest import Manifest, hash_files, read_manifest, write_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tcg_core.days import prove
from tcg_core.days.states import stale_days
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.model.torch_load import CONTRACT
from tcg_core.nightly.unfinished import why_refused
from tcg_core.ops.upgrade import Upgrade, carry_over, upgrade
from tcg_core.plan.build import build_plan
from tcg_core.replay.episode import PARSER_VERSION
from tests.train.toy import DAYS, RECIPE, toy_home, toy_plan

OTHER = "0123456789abcdef"


@pytest.fixture
def older(tmp_path: Path) -> Home:
    """The toy home as other code built it, in seconds that the catalog tells."""
    home = toy_home(tmp_path / "data")
    with catalog(home) as connection:
        connection.execute("UPDATE datasets SET code = ?", (OTHER,))
        connection.execute("UPDATE days SET taken_at = '2026-08-03T00:00:00.000000Z'")
        connection.execute("UPDATE datasets SET created_at = '2026-08-03T01:00:00.000000Z'")
    return home


def _results(found: Upgrade, what: str) -> dict[str, int]:
    return {line.result.split(":")[0]: line.count for line in found.lines if line.what == what and line.count}


def test_it_says_what_can_be_carried_over_and_the_hours_of_both_ways(older: Home) -> None:
    found = upgrade(older)
    assert (found.prove, found.rebuild) == (DAYS, ()) and _results(found, "day") == {"other code, same versions": 2}
    with catalog(older) as connection:
        rows = [row.rows for row in datasets_of(connection) if row.rows]
    # An hour a day; how many rows the recorded games have is chance.
    hours = sum(rows) * median(1 / count for count in rows)
    assert found.both_hours == pytest.approx(hours, rel=0.01) and found.rebuild_hours == 0.0
    assert found.prove_hours == pytest.approx(found.both_hours, rel=0.01), "so few episodes are drawn whole"
    assert found.verdict.startswith(f"2 days can be carried over (about {found.prove_hours:.1f} h), 0 must be built again")
    with catalog(older) as connection:
        connection.execute("UPDATE days SET taken_at = '2026-01-01T00:00:00.000000Z'")
    assert "nobody knows how long" in upgrade(older).verdict


def test_of_a_day_of_thousands_a_share_is_proven() -> None:
    from tcg_core.ops.upgrade import _prove_seconds

    with_rows = type("Row", (), {"rows": 800_000, "episodes": 5000})
    assert _prove_seconds(with_rows, 1e-3) == pytest.approx(800 * 0.02 + 80)  # type: ignore[arg-type]


def test_proofs_carry_every_day_over_and_a_plan_is_built_on_them(older: Home) -> None:
    with catalog(older) as connection:
        before = [row.dataset_id for row in datasets_of(connection)]
    assert [(day, state) for day, state, _ in carry_over(older, upgrade(older))] == [(day, "equal") for day in DAYS]
    with catalog(older) as connection:
        assert [row.dataset_id for row in datasets_of(connection)] == before, "no day was built again"
    assert upgrade(older).verdict == "every validated day counts as built by this code" and stale_days(older) == []
    assert build_plan(older, RECIPE).passed


def test_another_version_must_be_built_again_and_is_with_rebuild(older: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(prove, "PARSER_VERSION", PARSER_VERSION + 1)
        found = upgrade(older)
        assert (found.prove, found.rebuild, found.prove_hours) == ((), DAYS, 0)
        [line] = [line for line in found.lines if line.what == "day" and line.count]
        versions = f"parser version {PARSER_VERSION}, this code has {PARSER_VERSION + 1}"
        assert line.result == f"must be built again: {versions}: its rows are meant to change"
        assert list(carry_over(older, found)) == [] and len(stale_days(older)) == 2
    found = replace(found, prove=DAYS[:1], rebuild=DAYS[1:])
    assert [(day, state) for day, state, _ in carry_over(older, found, rebuild=True)] == [(DAYS[0], "equal"), (DAYS[1], "built")]


def test_an_unfinished_run_continues_or_is_refused_by_name_with_the_remedy(older: Home) -> None:
    list(carry_over(older, upgrade(older)))
    run = toy_plan(older).id
    (older.checkpoints / run).mkdir(parents=True)
    assert _results(upgrade(older), "unfinished run") == {"continues": 1}, "it begins again from its plan"
    (older.checkpoints / run / "latest.json").write_text("{}")
    reason = why_refused(older, run)
    assert "latest.json is not a pointer" in reason
    found = upgrade(older)
    assert found.refused == (run,) and "1 unfinished run cannot continue" in found.verdict
    [line] = [line for line in found.lines if line.what == "unfinished run"]
    assert line.result == f"cannot continue: {reason}" and "end it with the code of commit " in line.remedy


def test_what_was_made_by_other_code_stays_usable_and_is_counted(older: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    list(carry_over(older, upgrade(older)))
    toy_plan(older)
    assert _results(upgrade(older), "plan") == {"current": 1}
    monkeypatch.setattr("tcg_core.ops.upgrade.code_version", lambda asset: OTHER)
    assert _results(upgrade(older), "plan") == {"of other code": 1}


def test_what_reads_rows_of_another_schema_is_said_to_be_past_use(older: Home) -> None:
    def published(kind: str, root: Path, file: str, schema: str) -> None:
        manifest = Manifest(kind, f"{kind}-of-{schema[:4]}", (), {}, "code", {}, {})
        with publishing(root / manifest.id) as temporary:
            (temporary / file).parent.mkdir(exist_ok=True)
            (temporary / file).write_text(json.dumps({"schema": schema, "schema_digest": schema}))
            write_manifest(temporary, replace(manifest, files=hash_files(temporary)))
        registry.register(older, read_manifest(root / manifest.id), root / manifest.id)

    for schema in (SCHEMA.digest, "0" * 64):
        published("checkpoint", older.checkpoints, "step_1/state.json", schema)
        published("torch_artifact", older.artifacts, CONTRACT, schema)
    found = upgrade(older)
    for what, cannot in (("finished run", "cannot be resumed or converted"), ("artifact", "cannot be packed again")):
        assert _results(found, what) == {"of another schema": 1, "of other code": 1}, what
        [line] = [line for line in found.lines if line.what == what and line.result == "of another schema"]
        assert line.which.endswith("of-0000") and cannot in line.remedy


def test_the_command_prints_the_verdict_first_and_applies(older: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(older.root))
    told = CliRunner().invoke(app, ["upgrade"])
    assert told.exit_code == 0 and told.stdout.startswith("2 days can be carried over"), told.output
    assert stale_days(older), "it only says"
    done = CliRunner().invoke(app, ["upgrade", "--apply", "--workers", "1", "--no-sync"])
    assert done.exit_code == 0 and "equal" in done.stdout and stale_days(older) == []


def test_a_day_that_is_not_equal_is_named_and_the_command_fails(older: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    from tcg_assets.cli.show import ChecksFailed
    from tests.days.rewritten import rewrite

    def change(columns: Columns) -> None:
        columns["aux_return"][3] += 0.01

    rewrite(older, DAYS[0], code=OTHER, change=change)
    monkeypatch.setenv(VARIABLE, str(older.root))
    done = CliRunner().invoke(app, ["day", "prove", "--all", "--workers", "1", "--no-sync"])
    assert isinstance(done.exception, ChecksFailed) and DAYS[0] in str(done.exception) and "aux_return is " in str(done.exception)
    assert [day.day for day in stale_days(older)] == [DAYS[0]]
