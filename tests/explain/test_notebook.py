"""The frames of the notebook, held against what the stages themselves say; its docstring's lines are run as they stand."""

import ast
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tcg_core.base.atomic import write_json
from tcg_core.base.checks import Check
from tcg_core.base.errors import UnknownId
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, hash_files, write_manifest
from tcg_core.catalog import registry
from tcg_core.explain import notebook
from tcg_core.explain.decision import explain
from tcg_core.plan.load import load_plan
from tcg_core.rows.reader import DayReader
from tests.train.toy import DAYS, EPISODES
from tests.train.trained import trained


@pytest.fixture(scope="module")
def home() -> Home:
    found, _ = trained()
    path = found.tournaments / "toy"
    if not path.exists():
        path.mkdir(parents=True)
        pd.DataFrame({"index": [0, 1], "opponent": ["random", "random"], "outcome": ["win", "loss"]}).to_parquet(
            path / "games.parquet"
        )
        write_json(path / "summary.json", {})
        manifest = Manifest("tournament", "toy", (), {}, "code", {}, hash_files(path))
        write_manifest(path, manifest)
        registry.register(found, manifest, path)
        registry.record_checks(found, "tournament", "toy", (Check("all_games", True, "two of two"),))
    return found


def test_days_are_the_catalogs(home: Home) -> None:
    frame = notebook.days(home)
    assert frame.day.tolist() == list(DAYS) and set(frame.state) == {"validated"}
    assert frame.episodes.tolist() == list(EPISODES)


def test_rows_are_the_days_rows_one_a_pick(home: Home) -> None:
    frame = notebook.rows(DAYS[0], home=home)
    (path,) = (home.days / DAYS[0]).glob("*/rows.parquet")
    with DayReader(path) as reader:
        columns = reader.read(("y", "side", "option_type", "globals", "option_attributes"))
        assert len(frame) == reader.rows == notebook.days(home).rows.iloc[0]
    assert np.array_equal(frame.y, columns["y"]) and frame.player_name.notna().all()
    some = notebook.rows(DAYS[0], ["y", "option_type", "globals", "option_attributes"], home)
    assert list(some) == ["y", "option_type", "globals", "option_attributes"]
    assert [len(item) for item in some.option_type] == columns.lengths("option").tolist()
    start, end = columns.offsets["option"][5:7]
    assert some.option_type[5] == columns["option_type"][start:end].tolist()
    assert some.option_attributes[5] == columns["option_attributes"][start:end].tolist()
    assert np.array_equal(np.stack(some.globals), columns["globals"])


def test_a_plan_is_its_slots(home: Home) -> None:
    _, run = trained()
    plan, frame = load_plan(home, run), notebook.plan(run, home=home)
    assert frame.microbatch.max() + 1 == plan.count(0) and frame["rows"].sum() == plan.rows["train"]
    assert frame["rows"].groupby(frame.microbatch).sum().max() <= plan.recipe.work.batch_size
    assert set(frame.day) == {DAYS[0]} and set(notebook.plan(run, side="validation", home=home).day) == {DAYS[1]}
    assert (frame.chunk.eq(0) == frame.resets_memory).all()
    with pytest.raises(UnknownId, match="epochs 0 to 1, not 2"):
        notebook.plan(run, 2, home=home)


def test_a_checkpoint_is_its_history(home: Home) -> None:
    _, run = trained()
    frame = notebook.checkpoint(run, home)
    state = json.loads((next(iter(sorted(home.checkpoints.glob(f"{run}/step_*"), reverse=True))) / "state.json").read_text())
    assert frame.epoch.tolist() == [0, 1]
    assert frame["validation.acc"].tolist() == [entry["validation"]["acc"] for entry in state["progress"]["history"]]


def test_the_lines_of_the_docstring_run(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    _, run = trained()
    monkeypatch.setenv("TCG_DATA", str(home.root))
    # the toy run may fail its own check of having learned; here it is asked for all the same
    registry.record_checks(home, "checkpoint", run, (Check("toy", True, "for this test"),))
    lines = [line.split(">>> ")[1] for line in str(notebook.__doc__).splitlines() if line.startswith(">>> ")]
    names: dict = {}
    shown = []
    for line in lines:
        if isinstance(ast.parse(line).body[0], ast.Expr):
            shown.append(eval(line, names))
        else:
            exec(line, names)
    assert len(shown) == 5 and all(len(frame) for frame in shown)
    assert shown[4].loc["random"].to_dict() == {"win": 1, "loss": 1}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda home: notebook.rows("2026-08-09", home=home), "2026-08-09 has no validated dataset"),
        (lambda home: notebook.rows(DAYS[0], ["colour"], home), "'colour' is not in the schema"),
        (lambda home: notebook.plan("absent", home=home), "absent"),
        (lambda home: notebook.games("absent", home), "there is no tournament absent"),
    ],
)
def test_what_is_not_there_is_named(home: Home, call, expected: str) -> None:
    with pytest.raises(UnknownId, match=expected):
        call(home)


def test_a_run_can_be_asked_for_its_opinion(home: Home) -> None:
    _, run = trained()
    row = notebook.rows(DAYS[1], home=home).iloc[-1]
    shown = explain(home, DAYS[1], int(row.episode_id), int(row.side), int(row.step_id), run)
    assert shown.source.startswith(f"run {run}, step_")
    assert sum(shown.picks[-1].opinion.probabilities) == pytest.approx(1, abs=1e-5)
    assert shown.picks[-1].picked == row.y and shown.targets["value"] == pytest.approx(row.aux_return)


def test_a_home_may_be_given_by_its_path(home: Home) -> None:
    assert notebook.days(str(home.root)).equals(notebook.days(Path(home.root)))
