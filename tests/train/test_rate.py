"""How fast a network trains here: which finished runs may say so, and which may not."""

from dataclasses import replace
from pathlib import Path

import pytest

from tcg_core.base.atomic import write_bytes
from tcg_core.base.home import Home
from tcg_core.lineage.imported import record
from tcg_core.model.config import ModelConfig
from tcg_core.recipe import AuxWeights, Recipe, Selection, Work
from tcg_core.train.rate import known_rate
from tests.train.finished import finished

RECIPE = Recipe(selection=Selection(all_days=True), epochs=2)


def rate(home: Home, recipe: Recipe = RECIPE) -> float | None:
    found = known_rate(home, recipe)
    return None if found is None else found.rows


def test_only_a_passed_run_of_the_same_network_tells_the_rate(home: Home) -> None:
    finished(home, 100.0, RECIPE)
    finished(home, 200.0, Recipe(selection=Selection(all_days=True), model=ModelConfig(d_model=32, heads=4)), "b" * 16)
    finished(home, 300.0, RECIPE, "c" * 16, passed=False)
    assert rate(home) == 100.0
    finished(home, 400.0, Recipe(selection=Selection(last_n_days=3), epochs=9), "d" * 16)
    assert rate(home) == 400.0, "days and epochs do not change the rate"
    finished(home, 900.0, RECIPE, "e" * 16)
    record(home, "e" * 16, Path("elsewhere"), ())
    assert rate(home) == 400.0, "a run that was brought in tells of another machine"
    found = known_rate(home, RECIPE)
    assert found is not None and found.source == f"of run {'d' * 16} on this machine"


@pytest.mark.parametrize("key", ["device", "chip", "threads", "blas"])
def test_a_run_of_another_device_says_nothing(home: Home, key: str) -> None:
    finished(home, 100.0, RECIPE)
    finished(home, 9000.0, RECIPE, "b" * 16, environment={key: "another"})
    assert rate(home) == 100.0


def test_a_version_of_a_library_is_no_other_device(home: Home) -> None:
    finished(home, 100.0, RECIPE, environment={"mlx": "0.1.0", "platform": "another"})
    assert rate(home) == 100.0


def test_heads_count_and_their_weights_do_not(home: Home) -> None:
    """The cost of a head is that it is built."""
    finished(home, 100.0, RECIPE)
    finished(home, 200.0, replace(RECIPE, aux=AuxWeights(ko=0.0)), "b" * 16)
    assert rate(home) == 100.0, "a network without one of its heads is another network"
    assert rate(home, replace(RECIPE, aux=AuxWeights(ko=0.25, value=0.125))) == 100.0
    assert rate(home, replace(RECIPE, aux=AuxWeights(ko=0.0, prize=2.0))) == 200.0
    assert rate(home, replace(RECIPE, aux=AuxWeights(terminal=0.0))) is None


def test_another_microbatch_is_another_rate(home: Home) -> None:
    finished(home, 100.0, RECIPE)
    assert rate(home, replace(RECIPE, work=Work(batch_size=512))) is None
    assert rate(home, replace(RECIPE, work=Work(mode="stateless"))) is None


def test_an_imported_run_says_nothing_even_if_it_is_the_only_one(home: Home) -> None:
    finished(home, 900.0, RECIPE)
    record(home, "a" * 16, Path("elsewhere"), ())
    assert rate(home) is None


def test_a_damaged_run_is_passed_over_by_name(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    finished(home, 100.0, RECIPE)
    finished(home, 200.0, RECIPE, "b" * 16)
    write_bytes(home.checkpoints / ("b" * 16) / "latest.json", b"{")
    assert rate(home) == 100.0
    assert "b" * 16 in caplog.text and "is not a pointer" in caplog.text


def test_mlx_is_not_asked_where_no_run_could_answer(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    finished(home, 100.0, replace(RECIPE, aux=AuxWeights(ko=0.0)))

    def refuse(device: str) -> None:
        raise AssertionError("MLX was loaded for nothing")

    monkeypatch.setattr("tcg_core.train.rate._here", refuse)
    assert rate(home) is None
