"""Would-KO inputs from the plan to the artifact: read from the days, set to zero by the ablation alone, refused where there are
none."""

import dataclasses
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.errors import ConfigError, IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.settings import from_dict, to_dict
from tcg_core.catalog import registry
from tcg_core.convert.artifact import convert
from tcg_core.convert.errors import ConvertError
from tcg_core.convert.reference import read_reference
from tcg_core.convert.reload import reload
from tcg_core.days.build import build_day
from tcg_core.days.promote import promote_day
from tcg_core.explain.decision import ExplainError, explain
from tcg_core.model.architecture import Architecture
from tcg_core.model.batch import INPUTS, WOULD_KO
from tcg_core.model.config import ModelConfig, ModelError
from tcg_core.model.init import initial_weights
from tcg_core.model.tensors import read_with_metadata, safetensors_bytes
from tcg_core.model.torch_load import CONTRACT, REFERENCE
from tcg_core.plan.build import build_plan
from tcg_core.plan.errors import PlanError, ResumeRefused
from tcg_core.plan.load import load_plan
from tcg_core.plan.parent import refuse_unfit
from tcg_core.recipe import Recipe, Resume
from tcg_core.submission.pack import NoLookAhead, pack
from tcg_core.submission.runtime.policy import Policy
from tcg_core.train.compiled import loss as compiled
from tcg_core.train.data import open_cards
from tcg_core.train.run import train
from tcg_core.train.runs.checkpoint import Payload, read_step
from tcg_core.train.runs.pointers import require
from tcg_core.train.session import Session, open_session
from tests.lookahead.looked import DAY, LOOKING, PLAIN, SETTINGS, looked_home, recipe
from tests.train.compiling import accumulate, as_if_compiled, farthest

LEAF = "option_would_ko.weight"
NAMES = ("plain", "looking", "zeroed")


@dataclass(frozen=True)
class Runs:
    """A home with three runs of one seed: without the inputs, with them, and with them set to zero."""

    home: Home
    run: dict[str, str]
    payload: dict[str, Payload]

    def history(self, name: str) -> dict[str, Any]:
        """What the only epoch of a run gave, its times left out."""
        [entry] = self.payload[name].state["progress"]["history"]
        return {key: value for key, value in entry.items() if "seconds" not in key and "waited" not in key and "time" not in key}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    home = looked_home(tmp_path_factory.mktemp("looked") / "home")
    recipes = {"plain": recipe(PLAIN), "looking": recipe(), "zeroed": recipe(zero_wouldko=True)}
    run, payload = {}, {}
    for name, wanted in recipes.items():
        run[name] = train(home, build_plan(home, wanted).id, device="cpu").id
        registry.record_checks(home, "checkpoint", run[name], [Check("learned", True, "not asked for here")])
        payload[name] = read_step(require(home.checkpoints / run[name], "latest"))
    assert len(set(run.values())) == 3
    return Runs(home, run, payload)


def session(home: Home, wanted: Recipe) -> Session:
    plan = load_plan(home, build_plan(home, wanted).id)
    return open_session(home, plan, open_cards(home, plan), "cpu", False)


def test_the_ablation_is_the_network_without_the_inputs_bit_for_bit_and_the_looks_make_another(runs: Runs) -> None:
    plain, looking, zeroed = (runs.payload[name].weights for name in NAMES)
    assert set(looking) == set(zeroed) == {*plain, LEAF}
    assert all((zeroed[name] == plain[name]).all() for name in plain)
    assert runs.history("zeroed") == runs.history("plain")
    assert sum(bool((looking[name] != plain[name]).any()) for name in plain) > len(plain) / 2
    assert runs.history("looking")["validation"]["ce"] != runs.history("plain")["validation"]["ce"]


def test_the_projection_is_moved_by_looks_and_without_them_only_decays(runs: Runs) -> None:
    start = initial_weights(Architecture.from_dict(runs.payload["looking"].state["arch_config"]), recipe().seed)[LEAF]
    looking, zeroed = (runs.payload[name].weights[LEAF] for name in ("looking", "zeroed"))
    shrunk = zeroed / start
    assert np.ptp(shrunk) < 1e-5 and 0.9 < shrunk.mean() < 1
    assert np.ptp(looking / start) > 1e-3


def test_both_sides_are_zeroed_and_nothing_else_is(runs: Runs) -> None:
    """Of the same rows, the ablation's batches are those of the whole network but for the one input."""
    both = [session(runs.home, dataclasses.replace(recipe(zero_wouldko=zero), epochs=2)) for zero in (False, True)]
    for side, count in (("train", both[0].plan.count(0)), ("validation", both[0].plan.count(0, "validation"))):
        looked = 0.0
        for index in range(count):
            left, right = (getattr(one, f"prepare_{side}")(index) for one in both)
            for ours, theirs in zip(left.steps, right.steps, strict=True):
                for a, b in zip(ours.groups, theirs.groups, strict=True):
                    assert set(a.inputs) == set(b.inputs) == {*INPUTS, WOULD_KO}
                    assert all(np.array_equal(a.inputs[name], b.inputs[name]) for name in INPUTS)
                    assert not b.inputs[WOULD_KO].any()
                    looked += a.inputs[WOULD_KO][..., 0].sum()
                    known = a.inputs[WOULD_KO].any(axis=-1)
                    assert (a.inputs["option_attack"][known] > 0).all(), "an option that is no attack has a look"
        assert looked > 10, side
    plain = session(runs.home, dataclasses.replace(recipe(PLAIN), epochs=2))
    assert set(plain.prepare_train(0).steps[0].groups[0].inputs) == set(INPUTS)


def test_static_shapes_carry_the_looks(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.mx, "compile", as_if_compiled)
    eager, static = (session(runs.home, dataclasses.replace(recipe(), epochs=2)) for _ in range(2))
    static.compile()
    ours: dict[int, Any] = {}
    theirs: dict[int, Any] = {}
    for index in range(eager.plan.count(0)):
        found, _ = accumulate(static, index, ours)
        expected, _ = accumulate(eager, index, theirs)
        assert np.abs(expected[LEAF]).max() > 1e-5
        assert farthest(found, expected) < 1e-6


def test_the_cache_of_the_trainer_counts_the_looks(runs: Runs) -> None:
    sizes = []
    for zero in (False, True):
        one = session(runs.home, dataclasses.replace(recipe(zero_wouldko=zero), epochs=2))
        one.prepare_train(0)
        sizes.append(one.train.cache.counters.bytes)
    assert sizes[0] > sizes[1] > 0


def test_a_checkpoint_says_what_it_reads(runs: Runs) -> None:
    states = {name: runs.payload[name].state for name in NAMES}
    assert [states[name]["run_config"]["zero_wouldko"] for name in NAMES] == [False, False, True]
    assert [states[name]["arch_config"]["model"].get("would_ko") for name in NAMES] == [None, True, True]
    assert states["plain"]["inference_config"]["would_ko"] is False
    for name in ("looking", "zeroed"):
        told = states[name]["inference_config"]["would_ko"]
        assert {
            key: told[key] for key in ("plain_samples", "text_samples", "max_steps", "seed", "version")
        } == dataclasses.asdict(SETTINGS)
        assert set(told) > {"code", "engines"}
        assert from_dict(Recipe, load_plan(runs.home, runs.run[name]).summary["recipe"]) == recipe(zero_wouldko=name == "zeroed")


def test_a_plan_names_the_day_without_looks_and_the_remedy(runs: Runs, tmp_path: Path) -> None:
    home = Home(shutil.copytree(runs.home.root, tmp_path / "home"))
    build_day(home, DAY)
    promote_day(home, DAY)
    build_plan(home, recipe(PLAIN))
    for zero in (False, True):
        with pytest.raises(
            PlanError, match=f"model.would_ko is on, but day {DAY} was built without .*: tcg day build {DAY} --would-ko"
        ):
            build_plan(home, recipe(zero_wouldko=zero))
    with pytest.raises(ExplainError, match=f"day {DAY} was built without would-KO.*: tcg day build {DAY} --would-ko"):
        explain(home, DAY, 85000001, 0, 53, runs.run["looking"])
    explain(home, DAY, 85000001, 0, 53, runs.run["zeroed"])


def test_a_switch_that_would_do_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"zero_wouldko is set, but model\.would_ko is off"):
        recipe(PLAIN, zero_wouldko=True)
    with pytest.raises(ConfigError, match="zero_wouldko: expected bool"):
        from_dict(Recipe, to_dict(recipe()) | {"zero_wouldko": 1})


def test_training_refuses_looks_that_are_not_those_of_the_plan(runs: Runs, tmp_path: Path) -> None:
    home = Home(shutil.copytree(runs.home.root, tmp_path / "home"))
    wanted = dataclasses.replace(recipe(), epochs=2)
    plan = build_plan(home, wanted).id
    [table] = home.days.glob(f"{DAY}/*/would_ko.parquet")
    data = bytearray(table.read_bytes())
    data[len(data) // 2] ^= 1
    table.write_bytes(data)
    with pytest.raises(IntegrityError, match=r"would_ko\.parquet: expected SHA-256"):
        train(home, plan, device="cpu")


@pytest.mark.parametrize(
    ("parent", "model", "zero", "message"),
    [
        ("looking", PLAIN, False, r"model\.would_ko is False, it has True"),
        ("plain", LOOKING, False, r"model\.would_ko is True, it has False"),
        ("looking", LOOKING, True, "zero_wouldko is True, it has False"),
        ("zeroed", LOOKING, False, "zero_wouldko is False, it has True"),
    ],
)
def test_a_resumed_run_reads_what_its_parent_read(runs: Runs, parent: str, model: ModelConfig, zero: bool, message: str) -> None:
    wanted = dataclasses.replace(recipe(model, zero), resume=Resume(run=runs.run[parent]))
    with pytest.raises(ResumeRefused, match=message):
        build_plan(runs.home, wanted)


def test_a_run_from_before_the_inputs_existed_is_resumed_as_one_without_them(runs: Runs) -> None:
    state = json.loads(json.dumps(runs.payload["plain"].state))
    del state["run_config"]["zero_wouldko"], state["run_config"]["model"]["would_ko"]
    refuse_unfit(recipe(PLAIN), state, "old")
    with pytest.raises(ResumeRefused, match=r"model\.would_ko is True, it has False"):
        refuse_unfit(recipe(), state, "old")


@pytest.fixture(scope="module")
def converted(runs: Runs) -> dict[str, Built]:
    return {name: convert(runs.home, runs.run[name], "latest") for name in NAMES}


def test_conversion_proves_itself_with_the_looks_it_was_trained_with(converted: dict[str, Built]) -> None:
    seen = {}
    for name, built in converted.items():
        assert built.passed, [check.message for check in built.checks]
        reference, _ = read_reference(built.path / REFERENCE)
        found = [step.batch.get(WOULD_KO) for step in reference.steps]
        seen[name] = None if found[0] is None else sum(float(array.sum()) for array in found)
    assert seen["plain"] is None and seen["zeroed"] == 0 and seen["looking"] > 10


def test_parity_and_reload_notice_looks_that_are_lost(converted: dict[str, Built], tmp_path: Path) -> None:
    alone = Path(shutil.copytree(converted["looking"].path, tmp_path / "artifact"))
    assert reload(alone)["passed"]
    arrays, metadata = read_with_metadata(alone / REFERENCE)
    blank = {name: array * 0 if name.endswith(WOULD_KO) else array for name, array in arrays.items()}
    (alone / REFERENCE).write_bytes(safetensors_bytes(blank, metadata))
    assert not reload(alone)["passed"]
    less = {name: array for name, array in arrays.items() if not name.endswith(WOULD_KO)}
    (alone / REFERENCE).write_bytes(safetensors_bytes(less, metadata))
    with pytest.raises(ConvertError, match="input 'option_would_ko' is missing"):
        reload(alone)
    less = {name: array for name, array in arrays.items() if name != f"002.in.{WOULD_KO}"}
    (alone / REFERENCE).write_bytes(safetensors_bytes(less, metadata))
    with pytest.raises(ConvertError, match=f"step 2 lacks in.{WOULD_KO}"):
        reload(alone)


@pytest.mark.parametrize("name", ["looking", "zeroed"])
def test_play_refuses_a_network_whose_inputs_it_cannot_compute(runs: Runs, converted: dict[str, Built], name: str) -> None:
    built = converted[name]
    message = rf"artifact {built.id} of run {runs.run[name]} has would-KO inputs \(model\.would_ko\), and play has no engine"
    with pytest.raises(NoLookAhead, match=message):
        pack(runs.home, built.id)
    assert not list(runs.home.submissions.glob("*"))
    with pytest.raises(ModelError, match=r"the network has would-KO inputs \(model\.would_ko\), which play cannot compute"):
        Policy(built.path)
    assert json.loads((built.path / CONTRACT).read_text())["origin"]["zero_wouldko"] is (name == "zeroed")


def test_play_takes_the_network_without_them(converted: dict[str, Built]) -> None:
    assert "zero_wouldko" not in json.loads((converted["plain"].path / CONTRACT).read_text())["origin"]
    Policy(converted["plain"].path)


def test_explain_gives_the_policy_the_looks_of_the_day(runs: Runs, converted: dict[str, Built]) -> None:
    """The reference of the artifact was read from the day, the explanation from the archive: they say the same."""
    built = converted["looking"]
    reference, answers = read_reference(built.path / REFERENCE)
    lane = next(n for n, name in enumerate(reference.lanes) if f"{DAY} " in name)
    plan = load_plan(runs.home, runs.run["looking"])
    of_lane = next(n for n in range(len(plan.lanes)) if f"{DAY} {plan.lanes.name(n)}" == reference.lanes[lane])
    episode, side = int(plan.lanes.episode_id[of_lane]), int(plan.lanes.side[of_lane])
    place = next(n for n, step in enumerate(reference.steps) if step.batch[WOULD_KO][step.lane == lane].any())
    steps = steps_of(runs.home, episode, side)
    for source in (built.id, runs.run["looking"]):
        told = explain(runs.home, DAY, episode, side, steps[place], source)
        expected = answers[place].probabilities[reference.steps[place].lane == lane]
        found = [pick.opinion.probabilities for pick in told.picks if pick.opinion]
        assert found and len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert np.abs(np.array(ours[:-1]) - theirs[: len(ours) - 1]).max() <= 1e-4


def steps_of(home: Home, episode: int, side: int) -> list[int]:
    from tcg_core.rows.reader import DayReader

    [path] = home.days.glob(f"{DAY}/*/rows.parquet")
    with DayReader(path) as reader:
        columns = reader.read(("episode_id", "side", "step_id"))
    return np.unique(columns["step_id"][(columns["episode_id"] == episode) & (columns["side"] == side)]).tolist()
