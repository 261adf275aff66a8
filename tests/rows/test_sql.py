"""SQL for people: what it joins, and that it can neither write nor read anything else."""

import csv
import io
import json

import pytest

from tcg_core.days.promote import promote_day
from tcg_core.rows.sql import VIEWS, SqlError, query
from tests.catalog.helpers import add_day, episode
from tests.cli.test_cli import tcg
from tests.days.conftest import V1


def rows(home, sql):
    return query(home, sql).to_pylist()


@pytest.fixture
def day(staged):
    promote_day(staged, V1)
    return staged


def test_rows_of_the_days_are_joined_with_the_catalog(day):
    [total] = rows(day, "SELECT count(*) AS n, count(DISTINCT episode_id) AS episodes FROM rows")
    assert total == {"n": 287, "episodes": 5}
    differing = """SELECT e.episode_id FROM episodes e LEFT JOIN (SELECT episode_id, count(*) AS n FROM rows GROUP BY ALL) r
        USING (episode_id) WHERE e.rows IS DISTINCT FROM r.n"""
    assert rows(day, differing) == []
    agents = rows(day, "SELECT agent, sum(g.outcome * (1 - 2 * p.side)) AS net FROM games g JOIN participants p"
                       " ON p.day = g.day AND p.episode_id = g.episode_id GROUP BY agent ORDER BY agent")  # fmt: skip
    assert {row["agent"] for row in agents} == {"heuristic", "random"} and sum(row["net"] for row in agents) == 0
    assert rows(day, "SELECT state FROM datasets JOIN days USING (day)") == [{"state": "validated"}]


@pytest.mark.parametrize("view", [view for view in VIEWS if view != "would_ko"])
def test_every_view_exists_with_typed_columns(day, view):
    found = query(day, f"SELECT * FROM {view} LIMIT 3")
    assert found.num_columns > 1 and not any(str(field.type) == "null" for field in found.schema)


def test_an_empty_table_keeps_its_types_and_a_lone_explain_is_allowed(home):
    add_day(home, "2026-08-01", [episode(1)])
    assert str(query(home, "SELECT elo FROM ratings").schema.field("elo").type) == "double"
    assert query(home, "EXPLAIN SELECT * FROM days").num_rows


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM days",
        "DROP VIEW rows",
        "COPY (SELECT 1) TO 'out.csv'",
        "SELECT 1; SELECT 2",
        "ATTACH 'catalog.sqlite'",
        "CREATE TABLE t AS SELECT 1",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "",
    ],
)
def test_anything_but_one_select_is_refused(day, tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    before = sorted(p for p in tmp_path.rglob("*") if "catalog.sqlite" not in p.name)
    with pytest.raises(SqlError, match="expected one SELECT"):
        query(day, sql)
    assert sorted(p for p in tmp_path.rglob("*") if "catalog.sqlite" not in p.name) == before


@pytest.mark.parametrize("source", ["read_csv('{0}')", "read_text('{0}')", "'{0}'", "read_parquet('{1}')", "glob('{2}/*')"])
def test_no_other_file_can_be_read(day, tmp_path, source):
    secret = tmp_path / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    other = next(day.days.glob(f"{V1}/*/expected.parquet"))
    with pytest.raises(SqlError, match=r"(?i)permission|disabled|not allowed"):
        query(day, f"SELECT * FROM {source.format(secret, other, tmp_path)}")
    with pytest.raises(SqlError, match=r"(?i)permission|disabled|not allowed"):
        query(day, f"SELECT count(*) FROM rows, {source.format(secret, other, tmp_path)}")


def test_a_mistake_is_one_line_with_duckdbs_words(day):
    with pytest.raises(SqlError, match='"episod"') as caught:
        query(day, "SELECT episod FROM rows")
    assert "\n" not in str(caught.value)


def test_rows_without_a_day_and_a_missing_file_are_named(day, home):
    next(day.days.glob(f"{V1}/*/rows.parquet")).unlink()
    with pytest.raises(SqlError, match=r"rows\.parquet"):
        query(day, "SELECT count(*) FROM rows")


def test_without_a_validated_day_there_are_no_rows(home):
    with pytest.raises(SqlError, match="no validated day"):
        query(home, "SELECT count(*) FROM rows")
    assert rows(home, "SELECT count(*) AS n FROM days") == [{"n": 0}]


def test_the_command_prints_tables_csv_and_json(day):
    sql = "SELECT game, side, count(*) AS n FROM rows GROUP BY ALL ORDER BY side"
    assert "2 rows" in tcg("sql", sql, data=day.root).stdout
    [first, second] = csv.DictReader(io.StringIO(tcg("sql", sql, "--format", "csv", data=day.root).stdout))
    lines = [json.loads(line) for line in tcg("sql", sql, "--format", "json", data=day.root).stdout.splitlines()]
    assert int(first["n"]) + int(second["n"]) == 287 and [line["side"] for line in lines] == [0, 1]
    done = tcg("sql", "DROP TABLE days", data=day.root)
    assert done.returncode == 2 and done.stderr.startswith("tcg: expected one SELECT")
