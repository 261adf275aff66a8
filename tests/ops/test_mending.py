"""Whatever damages a derived thing, the command that makes it makes it again; and whoever only reads it names that command."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tcg_core.base.built import Built
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.makers import checked_by, mended_by
from tcg_core.base.manifest import MANIFEST, verify_files
from tcg_core.cards.features import card_features, load_cards
from tcg_core.catalog.registry import HomeRegistrar
from tcg_core.days.build import build_day
from tcg_core.days.drift import field_drift
from tcg_core.days.promote import promote_day, verify_day
from tcg_core.engine import cards as engine
from tcg_core.lineage.graph import on_disk
from tcg_core.ops import leftovers, orphans
from tcg_core.ops.listing import list_home
from tcg_core.plan.build import build_plan
from tcg_core.plan.load import load_plan
from tcg_core.ratings.stage import rate_agents
from tcg_core.recipe import Recipe, Selection, Split
from tcg_core.submission.pack import pack
from tests.conftest import DAY
from tests.submission.random_artifact import random_artifact


@dataclass(frozen=True)
class Kind:
    """make: what the command calls; command: how a refusal names it; kept: whether a damaged one stays beside the new one."""

    make: Callable[[Home], Built]
    command: str
    kept: bool = False


def cards(home: Home) -> Built:
    return card_features(home, HomeRegistrar(home), {"v1": engine.load_cards("v1")}, {"v1": engine.load_attacks("v1")})


def plan(home: Home) -> Built:
    return build_plan(home, Recipe(Selection(days=(DAY,)), split=Split(val_frac=0.5)))


def submission(home: Home) -> Built:
    return pack(home, next(path.name for path in home.artifacts.iterdir() if not path.name.startswith(".")))


KINDS = {
    "card_features": Kind(cards, "tcg cards build"),
    "ratings": Kind(rate_agents, "tcg catalog ratings"),
    "field_drift": Kind(lambda home: field_drift(home, DAY), f"tcg backfill {DAY} {DAY}"),
    "work_plan": Kind(plan, "tcg plan build --recipe RECIPE.json"),
    "submission": Kind(submission, "tcg submit pack", kept=True),
}


@pytest.fixture(scope="module")
def whole_once(staged_once: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("whole") / "data")
    shutil.copytree(staged_once.root, home.root)
    assert promote_day(home, DAY).passed
    cards(home)
    random_artifact(home)
    for kind in KINDS.values():
        kind.make(home)
    return home


@pytest.fixture
def whole(whole_once: Home, home: Home) -> Home:
    shutil.rmtree(home.root)
    shutil.copytree(whole_once.root, home.root)
    return home


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def edit(path: Path) -> None:
    """The manifest names other code: no hash of a file shows it."""
    (path / MANIFEST).write_text((path / MANIFEST).read_text().replace('"code": "', '"code": "0'))


def damages(directory: Path) -> dict[str, Callable[[Path], None]]:
    """Each file with a byte changed, and what else happens to a directory."""
    found: dict[str, Callable[[Path], None]] = {}
    for file in sorted(directory.rglob("*")):
        name = file.relative_to(directory).as_posix()
        if file.is_file() and name not in (MANIFEST, "recorded.json"):
            found[f"a byte of {name}"] = lambda path, name=name: flip(path / name)  # type: ignore[misc]
    found["manifest edited"] = edit
    found["manifest cut"] = lambda path: (path / MANIFEST).write_text((path / MANIFEST).read_text()[:-40])  # type: ignore[assignment]
    found["manifest lost"] = lambda path: (path / MANIFEST).unlink()
    found["lost"] = shutil.rmtree
    return found


@pytest.mark.parametrize("name", KINDS)
def test_the_command_that_made_it_makes_it_again(whole: Home, name: str) -> None:
    kind = KINDS[name]
    first = kind.make(whole)
    assert first.reused, "the same command reuses what is whole"
    content = verify_files(first.path).content
    for what, damage in damages(first.path).items():
        damage(first.path)
        if first.path.exists() and damage is not edit:
            with pytest.raises(IntegrityError) as refused:
                verify_files(first.path)
            assert kind.command in str(refused.value), what
        again = kind.make(whole)
        assert (again.id, again.reused, again.path) == (first.id, False, first.path), what
        assert verify_files(again.path).content == content, what
        assert kind.make(whole).reused, what
        aside = [path.name for path in first.path.parent.glob(".damaged-*")]
        assert bool(aside) == (kind.kept and what != "lost"), what
        for path in first.path.parent.glob(".damaged-*"):
            shutil.rmtree(path)
        assert not list(whole.root.rglob(".tmp-*")), what


def test_a_damaged_day_is_made_again(whole: Home) -> None:
    [path] = [path for path in (whole.days / DAY).iterdir() if not path.name.startswith(".")]
    for what in ("rows.parquet", MANIFEST, "lost"):
        if what == "lost":
            shutil.rmtree(path)
        else:
            flip(path / what)
            with pytest.raises(IntegrityError, match=f"tcg day build {DAY}"):
                verify_files(path)
        assert not verify_day(whole, DAY)[0].passed
        assert build_day(whole, DAY).passed and promote_day(whole, DAY).passed, what
        assert all(check.passed for check in verify_day(whole, DAY)) and verify_files(path), what


def test_who_only_reads_names_the_command(whole: Home) -> None:
    made, tables = plan(whole), cards(whole)
    flip(made.path / "chunks.parquet")
    with pytest.raises(IntegrityError, match=r"chunks\.parquet: .*`tcg plan build --recipe RECIPE\.json` makes it again"):
        load_plan(whole, made.id)
    flip(tables.path / "tables.safetensors")
    with pytest.raises(IntegrityError, match="`tcg cards build` makes it again"):
        load_cards(tables.path)


def test_every_place_of_an_artifact_names_a_command() -> None:
    home = Home(Path("/data"))
    for root in (home.cards, home.ratings, home.plans, home.artifacts, home.submissions, home.tournaments, home.checkpoints):
        assert "`tcg " in mended_by(root / "id"), root
    for root in (home.days, home.staging, home.drift):
        assert DAY in mended_by(root / DAY / "sha"), root
    assert "tcg train run --again" in mended_by(home.checkpoints / "run" / "step_1")
    assert mended_by(home.artifacts / "id", "run") == "; `tcg convert run` makes it again"
    assert mended_by(Path("/tmp/extracted")) == checked_by(Path("/tmp/extracted")) == ""
    assert checked_by(home.checkpoints / "run") == "; `tcg train run` checks it", "a whole run is not trained anew"


def test_what_was_set_aside_is_read_by_nobody_and_goes_after_a_while(whole: Home) -> None:
    made = submission(whole)
    (made.path / MANIFEST).write_text("{")
    again = submission(whole)
    [aside] = made.path.parent.glob(".damaged-*")
    assert on_disk(whole).unreadable == {} and on_disk(whole).artifacts[("submission", again.id)].path == again.path
    assert not any(".damaged-" in name for name in list_home(whole).files)
    assert aside not in [orphan.path for orphan in orphans.find(whole, [], [])]
    assert dict(leftovers.set_aside(whole, 1.0)) == {} and list(dict(leftovers.set_aside(whole, 0.0))) == [aside]
