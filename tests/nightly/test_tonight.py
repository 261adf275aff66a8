"""Two nights on real recorded days: fresh weights while a baseline reigns, then a fine-tune from the champion's run."""

import json
import shutil
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from tcg_assets.automation.news import news
from tcg_core.base.atomic import publishing
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Manifest, hash_files, read_manifest, write_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.errors import SelectionEmpty
from tcg_core.catalog.promotions import BOOTSTRAP, PROMOTED, champion, record
from tcg_core.convert.artifact import convert
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.days.take import take_archive
from tcg_core.encode.schema import SCHEMA
from tcg_core.lineage.walk import walk_back
from tcg_core.nightly.settings import FineTune, Nightly
from tcg_core.nightly.tonight import of_mode, tonight
from tcg_core.plan.build import build_plan
from tcg_core.plan.champion import other_rows, reigning
from tcg_core.plan.errors import ChampionRefused, ResumeRefused
from tcg_core.plan.load import load_plan
from tcg_core.plan.parent import find_parent, refuse_unfit
from tcg_core.plan.plan import Plan
from tcg_core.recipe import Recipe, Resume, Selection, Split
from tcg_core.replay.record_day import record_day
from tcg_core.submission.pack import pack
from tcg_core.train.run import train
from tcg_core.train.runs.base import horizon_of
from tests.train.toy import DAYS, RECIPE, toy_home

NEW_DAY, EPISODES = "2026-08-03", 12
#: Updates of the horizon that a recipe sets for a run from fresh weights.
FRESH_STEPS = 5_000
MONDAY, TUESDAY, SUNDAY = date(2026, 8, 3), date(2026, 8, 4), date(2026, 8, 2)
NIGHTLY = Nightly(
    recipe=replace(RECIPE, selection=Selection(last_n_days=14), split=Split(val_frac=0.3)),
    finetune=FineTune(replay=0.8, lr=1e-3),
)


@dataclass(frozen=True)
class Nights:
    """The home after night 1 (its submission promoted) and the new day; the runs' plans and what was packed."""

    home: Home
    first: Plan
    first_submission: str
    first_days: dict[str, str]


def made(home: Home, recipe: object) -> tuple[Plan, str]:
    """A run of the recipe as far as its submission; toys need not learn."""
    plan = build_plan(home, recipe)  # type: ignore[arg-type]
    assert plan.passed
    assert {check.name for check in train(home, plan.id, device="cpu").checks if check.blocks} <= {"learned"}
    registry.record_checks(home, "checkpoint", plan.id, [Check("learned", True, "a toy")])
    artifact = convert(home, plan.id)
    assert artifact.passed
    packed = pack(home, artifact.id)
    assert packed.passed
    return load_plan(home, plan.id), packed.id


def build_plan_of(home: Home, recipe: Recipe) -> Plan:
    return load_plan(home, build_plan(home, recipe).id)


def add_recorded(home: Home, day: str, episodes: int = EPISODES) -> None:
    record_day(home, day, episodes)
    take_archive(home, day)
    assert build_day(home, day).passed
    assert promote_day(home, day).passed


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Nights:
    home = toy_home(tmp_path_factory.mktemp("nights") / "home")
    chosen = tonight(home, NIGHTLY, MONDAY)
    assert (chosen.mode, chosen.recipe) == ("fresh", NIGHTLY.recipe)
    assert chosen.line.endswith(f"the last 14 validated days: the champion is the built-in {BOOTSTRAP}, which no run made")
    plan, submission = made(home, chosen.recipe)
    record(home, submission, BOOTSTRAP, "a tournament", PROMOTED, "by hand")
    assert champion(home) == submission
    return Nights(home, plan, submission, {day.day: day.dataset_id for day in plan.days})


@pytest.fixture
def copied(nights: Nights, tmp_path: Path) -> Home:
    shutil.copytree(nights.home.root, tmp_path / "copy")
    return Home(tmp_path / "copy")


def test_the_second_night_goes_on_from_the_champion_on_the_new_day(nights: Nights, copied: Home) -> None:
    home = copied
    with pytest.raises(SelectionEmpty, match=f"no validated day is unseen by run {nights.first.id}: it was trained on all 2"):
        news(home, tonight(home, NIGHTLY, TUESDAY).recipe)
    add_recorded(home, NEW_DAY)
    chosen = tonight(home, NIGHTLY, TUESDAY)
    assert chosen.mode == "finetune"
    assert f"goes on from run {nights.first.id} (best) of champion {nights.first_submission}" in chosen.line
    plan, submission = made(home, chosen.recipe)

    facts = plan.summary["facts"]
    assert list(facts["new_days"]) == [NEW_DAY]
    assert set(facts["replayed_days"]) <= set(DAYS)
    assert facts["new_rows"] + facts["replayed_rows"] == int(plan.lanes.rows.sum())
    with catalog(home) as connection:
        rows = {
            (row["day"], row["episode_id"]): row["rows"]
            for row in connection.execute("SELECT day, episode_id, rows FROM episodes WHERE status = 'rows'")
        }
    wanted = 0.8 * facts["new_rows"]
    older = [count for (day, _), count in rows.items() if day in DAYS]
    assert min(wanted, sum(older)) - max(older) < facts["replayed_rows"] <= wanted, "as many whole episodes as fit"
    assert facts["new_rows"] == sum(count for (day, _), count in rows.items() if day == NEW_DAY)
    assert facts["left_days"] == []

    assert plan.parent is not None
    best = read_manifest(home.checkpoints / nights.first.id / plan.parent.step)
    assert (plan.parent.run, plan.parent.sha256) == (nights.first.id, best.content)
    assert facts["first_epoch"] == plan.parent.epoch + 1 >= 1
    sides = {plan_.id: _sides(plan_) for plan_ in (nights.first, plan)}
    both = set(sides[nights.first.id]) & set(sides[plan.id])
    assert both
    assert all(sides[nights.first.id][episode] == sides[plan.id][episode] for episode in both), "no episode changes its side"

    chain = {(node.kind, node.id): node.state for node in walk_back(home, home.submissions / submission)}
    days = {*nights.first_days.values(), *(day.dataset_id for day in plan.days)}
    assert len(days) == 3
    wanted_nodes = {("parquet_day", day) for day in days} | {("checkpoint", nights.first.id), ("checkpoint", plan.id)}
    assert {key: chain[key] for key in wanted_nodes} == dict.fromkeys(wanted_nodes, "intact")

    record(home, submission, nights.first_submission, "another tournament", PROMOTED, "by hand")
    with pytest.raises(SelectionEmpty, match="it was trained on all 3 or by the 1 it went on from"):
        news(home, tonight(home, NIGHTLY, TUESDAY).recipe)
    assert len(news(home, tonight(home, NIGHTLY, SUNDAY).recipe).days) == 3, "the full retrain takes all, seen or not"


def test_a_candidate_that_was_not_promoted_leaves_the_digest_as_it_was(nights: Nights, copied: Home) -> None:
    add_recorded(copied, NEW_DAY)
    before = news(copied, tonight(copied, NIGHTLY, TUESDAY).recipe)
    record(copied, "a candidate", nights.first_submission, "a tournament that it lost", "rejected", "weaker")
    assert news(copied, tonight(copied, NIGHTLY, TUESDAY).recipe) == before
    add_recorded(copied, "2026-08-04")
    later = news(copied, tonight(copied, NIGHTLY, TUESDAY).recipe)
    assert later.digest != before.digest
    assert set(later.days) >= {NEW_DAY, "2026-08-04"}


def test_a_champion_that_does_not_fit_the_recipe_is_refused_with_the_remedy(nights: Nights) -> None:
    other = replace(NIGHTLY, recipe=replace(NIGHTLY.recipe, model=replace(NIGHTLY.recipe.model, layers=2)))
    words = (
        rf"champion {nights.first_submission} cannot be gone on from: .*model\.layers is 2, it has 1; .*tcg nightly set mode full"
    )
    with pytest.raises(ChampionRefused, match=words):
        tonight(nights.home, other, MONDAY)
    assert tonight(nights.home, replace(other, mode="full"), MONDAY).mode == "full"
    assert of_mode(nights.home, other, "fresh").recipe == other.recipe


def test_a_champion_of_another_encoder_means_fresh_weights_and_says_so(nights: Nights, copied: Home) -> None:
    """Nobody can set the rows back: a night that refuses would refuse until a person came."""
    of = reigning(copied)
    assert other_rows(copied, of) == "" and tonight(copied, NIGHTLY, TUESDAY).mode == "finetune"
    run = copied.checkpoints / of.run
    state = run / str(json.loads((run / f"{of.checkpoint}.json").read_text())["path"]) / "state.json"
    state.write_text(json.dumps(json.loads(state.read_text()) | {"schema_digest": "1307678355f4" + "0" * 52}))
    chosen = tonight(copied, NIGHTLY, TUESDAY)
    assert (chosen.mode, chosen.recipe) == ("fresh", NIGHTLY.recipe)
    assert chosen.line == (
        f"fresh: fresh weights over the last 14 validated days: champion {nights.first_submission} was trained on rows of "
        f"another encoder (schema 1307678355f4, this code {SCHEMA.digest[:12]}), so no run continues from it"
    )
    asked = replace(NIGHTLY.recipe, resume=Resume(of.run, of.checkpoint))
    words = f"cannot be resumed: encoder schema is {SCHEMA.digest}, it has 1307678355f4"
    with pytest.raises(ResumeRefused, match=words):
        refuse_unfit(asked, json.loads(state.read_text()), f"{of.run}/{of.checkpoint}")
    state.unlink()
    with pytest.raises(ChampionRefused, match="cannot be gone on from"):
        tonight(copied, NIGHTLY, TUESDAY)


@pytest.mark.parametrize("missing", ["step", "checkpoint", "artifact", "submission", "plan"])
def test_a_champion_whose_chain_is_not_on_disk_is_refused(nights: Nights, copied: Home, missing: str) -> None:
    run = nights.first.id
    pointer = copied.checkpoints / run / f"{reigning(copied).checkpoint}.json"
    directory = {
        "step": copied.checkpoints / run / str(json.loads(pointer.read_text())["path"]),
        "checkpoint": copied.checkpoints / run,
        "artifact": next(copied.artifacts.iterdir()),
        "submission": copied.submissions / nights.first_submission,
        "plan": copied.plans / run,
    }[missing]
    shutil.rmtree(directory)
    with pytest.raises(
        ChampionRefused, match=f"champion {nights.first_submission} cannot be gone on from: .*tcg nightly set mode"
    ):
        tonight(copied, NIGHTLY, TUESDAY)


def test_a_champion_that_no_run_made_means_fresh_weights_and_says_so(nights: Nights, copied: Home) -> None:
    source = Manifest("torch_artifact", "elsewhere", (), {}, "code", {}, {})
    for root, manifest in (
        (copied.artifacts, source),
        (copied.submissions, Manifest("submission", "foreign", (Input(source.kind, source.id, "0" * 64),), {}, "code", {}, {})),
    ):
        with publishing(root / manifest.id) as temporary:
            write_manifest(temporary, replace(manifest, files=hash_files(temporary)))
        registry.register(copied, read_manifest(root / manifest.id), root / manifest.id)
    record(copied, "foreign", nights.first_submission, "a tournament", PROMOTED, "by hand")
    chosen = tonight(copied, NIGHTLY, TUESDAY)
    assert (chosen.mode, chosen.recipe) == ("fresh", NIGHTLY.recipe)
    assert chosen.line.endswith("champion foreign: torch_artifact elsewhere was made from no checkpoint")


def test_the_finetune_settings_reach_the_recipe(nights: Nights) -> None:
    settings = FineTune(epochs=4, lr=2e-3, replay=0.1, optimizer_state="resume")
    recipe = tonight(nights.home, replace(NIGHTLY, finetune=settings), MONDAY).recipe
    assert (recipe.epochs, recipe.optimizer.lr, recipe.selection.replay) == (4, 2e-3, 0.1)
    assert (recipe.resume.optimizer_state, recipe.resume.scheduler_state) == ("resume", "reset")
    assert recipe.selection == Selection(all_days=True, unseen_by=nights.first.id, replay=0.1)
    resumed = replace(settings, scheduler_state="resume", lr=NIGHTLY.recipe.optimizer.lr)
    assert tonight(nights.home, replace(NIGHTLY, finetune=resumed), MONDAY).recipe.resume.scheduler_state == "resume"


def test_a_finetune_has_the_horizon_of_its_own_run(nights: Nights, copied: Home) -> None:
    """The nightly recipe sets that of a fresh run; kept, the rate of a fine-tune would never come down."""
    add_recorded(copied, NEW_DAY)
    long = replace(NIGHTLY, recipe=replace(NIGHTLY.recipe, schedule=replace(NIGHTLY.recipe.schedule, total_steps=FRESH_STEPS)))
    assert horizon_of(build_plan_of(copied, of_mode(copied, long, "fresh").recipe)).total == FRESH_STEPS
    plan = build_plan_of(copied, tonight(copied, long, TUESDAY).recipe)
    parent = plan.parent
    assert parent is not None and len({FRESH_STEPS, plan.horizon, parent.scheduler_total_steps}) == 3
    horizon = horizon_of(plan)
    assert horizon.total == plan.horizon
    assert horizon.rate(plan.horizon) == pytest.approx(long.finetune.lr * long.recipe.schedule.lr_min_ratio)


def test_a_finetune_that_resumes_the_schedule_has_the_horizon_of_its_parent(nights: Nights) -> None:
    """Whatever the nightly recipe sets: the plan would be refused for another one than the parent's."""
    settings = FineTune(scheduler_state="resume", lr=NIGHTLY.recipe.optimizer.lr)
    schedule = replace(NIGHTLY.recipe.schedule, total_steps=FRESH_STEPS)
    night = replace(NIGHTLY, recipe=replace(NIGHTLY.recipe, schedule=schedule), finetune=settings)
    plan = replace(nights.first, recipe=tonight(nights.home, night, MONDAY).recipe)
    found = find_parent(nights.home, plan.recipe)
    assert found is not None
    assert horizon_of(replace(plan, parent=found[0])).total == nights.first.horizon != FRESH_STEPS


def _sides(plan: Plan) -> dict[int, bool]:
    return {
        int(episode): bool(side) for episode, side in zip(plan.lanes.episode_id, np.asarray(plan.lanes.validation), strict=True)
    }
