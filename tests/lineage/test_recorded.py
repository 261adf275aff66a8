"""A manifest that a hand edited shows: by its id, and by the catalog's record, whichever of the two the hand also edited."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import MANIFEST, Input, Manifest, artifact_id, hash_files, manifest_from, write_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.lineage.graph import on_disk
from tcg_core.lineage.recorded import edited
from tcg_core.lineage.walk import Node, walk_back, walk_forward
from tests.lineage.test_walk import change as change_day
from tests.ops.chain import artifact, chain, day

Values = dict[str, Any]


def made(home: Home, kind: str, root: Path, inputs: tuple[Input, ...], config: Values, id: str = "") -> Manifest:
    """An artifact whose id is derived as a stage derives it."""
    id = id or artifact_id(kind, inputs, config, "c0de")
    (root / id).mkdir(parents=True)
    (root / id / "file.bin").write_bytes(id.encode())
    manifest = Manifest(kind, id, inputs, config, "c0de", {"mlx": "1"}, hash_files(root / id), {"rows": 12})
    write_manifest(root / id, manifest)
    registry.register(home, manifest, root / id)
    registry.record_checks(home, kind, id, [Check("fine", True, "fine")])
    return manifest


@pytest.fixture
def built(home: Home) -> dict[str, Manifest]:
    """A chain of derived ids over two days; the keys are the kinds."""
    days = tuple(day(home, name).as_input() for name in ("2026-08-01", "2026-08-02"))
    plan = made(home, "work_plan", home.plans, days, {"recipe": {"seed": 13, "epochs": 4}})
    run = made(home, "checkpoint", home.checkpoints, (plan.as_input(),), {"recipe": {"seed": 13, "epochs": 4}}, plan.id)
    torch = made(home, "torch_artifact", home.artifacts, (run.as_input(),), {"step": "step_1"})
    submission = made(home, "submission", home.submissions, (torch.as_input(),), {"deck": "sample"})
    return {manifest.kind: manifest for manifest in (plan, run, torch, submission)}


def states(nodes: list[Node]) -> dict[str, str]:
    return {node.kind: node.state for node in nodes}


def back(home: Home, built: dict[str, Manifest]) -> dict[str, str]:
    return states(walk_back(home, home.submissions / built["submission"].id))


def rewrite(directory: Path, change: Callable[[Values], object]) -> None:
    values = json.loads((directory / MANIFEST).read_text())
    change(values)
    (directory / MANIFEST).write_text(json.dumps(values))


def lose_an_input(values: Values) -> None:
    del values["inputs"][0]


def other_content_of_an_input(values: Values) -> None:
    values["inputs"][0]["sha256"] = "0" * 64


def swap_inputs(values: Values) -> None:
    values["inputs"].reverse()


def other_seed(values: Values) -> None:
    values["config"]["recipe"]["seed"] = 14


def other_code(values: Values) -> None:
    values["code"] = "f" * 16


EDITS = (lose_an_input, other_content_of_an_input, swap_inputs, other_seed, other_code)


def test_what_nobody_edited_is_intact(home: Home, built: dict[str, Manifest]) -> None:
    assert set(back(home, built).values()) == {"intact"} and len(back(home, built)) == 5


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("catalog_too", [False, True], ids=["manifest", "catalog too"])
def test_an_edited_plan_is_changed_both_ways(
    home: Home, built: dict[str, Manifest], edit: Callable[[Values], None], catalog_too: bool
) -> None:
    path = home.plans / built["work_plan"].id
    rewrite(path, edit)
    if catalog_too:
        registry.register(home, manifest_from(json.loads((path / MANIFEST).read_text())), path)
    for found in (back(home, built)["work_plan"], states(walk_forward(home, "2026-08-02"))["work_plan"]):
        assert found.startswith(f"changed: {path / MANIFEST}: inputs, configuration and code give the id ")


@pytest.mark.parametrize("version", [1, 2])
def test_each_version_of_a_manifest_is_checked(built: dict[str, Manifest], version: int) -> None:
    values = built["work_plan"].to_dict() | {"manifest_version": version}
    assert edited(manifest_from(values), None) == ""
    other_seed(values)
    assert "give the id" in edited(manifest_from(values), None)


def test_what_an_id_does_not_cover_is_compared_with_the_catalog(home: Home, built: dict[str, Manifest]) -> None:
    path = home.checkpoints / built["checkpoint"].id
    rewrite(path, other_seed)
    assert "configuration differs from the catalog's: recipe.seed: expected 13, found 14" in back(home, built)["checkpoint"]
    rewrite(path, lambda values: values["config"]["recipe"].update(seed=13))
    assert back(home, built)["checkpoint"] == "intact"
    rewrite(path, lambda values: values["facts"].update(rows=13))
    assert "facts differ from the catalog's: rows: expected 12, found 13" in back(home, built)["checkpoint"]


def test_a_run_is_named_by_the_plan_that_it_was_made_of(home: Home, built: dict[str, Manifest]) -> None:
    run = built["checkpoint"]
    values = run.to_dict()
    values["inputs"][0]["id"] = "0" * 16
    assert edited(manifest_from(values), None) == f"its inputs name plan {'0' * 16}, its id is {run.id}"
    step = Manifest("checkpoint_step", f"{run.id}/step_1", run.inputs, {}, "c0de", {}, {})
    assert edited(step, None) == ""
    assert "its inputs name plan none" in edited(Manifest("checkpoint_step", f"{run.id}/step_1", (), {}, "c0de", {}, {}), None)


def test_an_id_that_no_stage_gives_is_believed_only_with_the_catalog(home: Home) -> None:
    chain(home, "a", (day(home, "2026-08-01"),))
    path = home.submissions / "submission-a"
    assert {node.state for node in walk_back(home, path)} == {"intact"}
    with catalog(home) as connection:
        connection.execute("DELETE FROM artifacts WHERE id = 'plan-a'")
    assert "no stage gives the id plan-a" in states(walk_back(home, path))["work_plan"]


def test_a_broken_manifest_beside_the_chain_hides_nothing(home: Home, built: dict[str, Manifest]) -> None:
    assert on_disk(home).notes == ()
    artifact(home, "tournament", "other")
    (home.tournaments / "other" / MANIFEST).write_text("{")
    assert set(back(home, built).values()) == {"intact"}
    [line] = on_disk(home).notes
    assert line.startswith(f"{home.tournaments / 'other' / MANIFEST} is not a manifest")


def test_a_broken_manifest_within_the_chain_is_named(home: Home, built: dict[str, Manifest]) -> None:
    path = home.checkpoints / built["checkpoint"].id / MANIFEST
    path.write_text("{")
    assert back(home, built)["checkpoint"].startswith(f"changed: {path} is not a manifest")
    with pytest.raises(IntegrityError, match="is not a manifest"):
        walk_back(home, path.parent)


def test_a_day_s_manifest_is_compared_too(home: Home) -> None:
    built = day(home, "2026-08-01")
    chain(home, "a", (built,))
    [path] = (home.days / "2026-08-01").iterdir()
    rewrite(path, lambda values: values["facts"].update(rows=13))
    change_day(home, built, "excluded", "by hand")
    for nodes in (walk_back(home, home.submissions / "submission-a"), walk_forward(home, "2026-08-01")):
        assert "facts differ from the catalog's: rows: expected null, found 13" in states(nodes)["parquet_day"]
