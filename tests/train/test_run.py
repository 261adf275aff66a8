"""The stage as a whole on recorded games: it learns, it cannot learn noise, and what it says it did it did."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError
from tcg_core.base.home import Home
from tcg_core.base.manifest import hash_files, read_manifest, write_manifest
from tcg_core.base.progress import PlannedMismatch
from tcg_core.catalog import registry
from tcg_core.catalog.errors import ChecksNotPassed
from tcg_core.encode.errors import EncodeError
from tcg_core.model.config import ModelError
from tcg_core.rows.reader import DayReader
from tcg_core.train import __main__ as command_line
from tcg_core.train import board, loop
from tcg_core.train.baseline import count_ranks
from tcg_core.train.board import EPOCH_TAGS, FILE, Board, events
from tcg_core.train.checks import fp32, learned, processed_as_planned, validation_once
from tcg_core.train.data import open_cards
from tcg_core.train.errors import Diverged, TrainerBusy, TrainError
from tcg_core.train.lock import trainer_lock
from tcg_core.train.run import train
from tcg_core.train.runs.checkpoint import load_weights, read_step
from tcg_core.train.runs.pointers import require
from tcg_core.train.session import open_session
from tcg_core.train.validate import check_coverage
from tests.train.toy import LEARNING, RECIPE, ranks_of, shuffled, toy_home, toy_plan, toy_session

#: The seed's scalar tags (`mlx_training_pipeline`, Instrumentation), literally.
SEED_TAGS = [
    "train/loss",
    "train/aux_loss",
    "train/grad_norm",
    "train/lr",
    "train/scheduler_phase_step",
    "train/step_time_ms",
    "train/examples_per_step",
    "sys/mlx_peak_memory_gib",
    "sys/host_memory_percent",
    "cache_train/hit_rate_pct",
    "cache_train/resident_hot",
    "cache_train/resident_transient",
    "cache_train/promotions",
    "cache_train/evictions",
    "cache_train/ssd_hits",
    "cache_train/ssd_spills",
    "cache_train/ssd_resident",
    "cache_val/hit_rate_pct",
    "cache_val/resident_hot",
    "cache_val/resident_transient",
    "cache_val/promotions",
    "cache_val/evictions",
    "cache_val/ssd_hits",
    "cache_val/ssd_spills",
    "cache_val/ssd_resident",
    "train/running_loss",
    "train/running_aux_loss",
    "train/gstep",
    "val/loss",
    "val/acc",
    "val/equiv",
    "val/top3",
    "val/atk",
    "val/ko",
    "val/epoch_time_s",
    "aux/aux_ko_bce",
    "aux/aux_prize_mse",
    "aux/aux_terminal_bce",
    "aux/aux_return_mse",
    "summary/best_val_acc",
    "summary/final_gstep",
]


@dataclasses.dataclass
class Trained:
    """A run that was trained once for this file."""

    home: Home
    plan: Any
    built: Any
    events: list[dict[str, Any]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    home = toy_home(tmp_path_factory.mktemp("trained") / "home")
    plan = toy_plan(home, LEARNING)
    told: list[dict[str, Any]] = []
    return Trained(home, plan, train(home, plan.id, device="cpu", report=told.append), told)


def test_it_learns_from_real_games(trained: Trained) -> None:
    assert [check for check in trained.built.checks if check.blocks] == []
    assert trained.built.facts["val_acc_unforced"] > trained.built.facts["baseline_acc_unforced"]
    assert registry.latest_passed(trained.home, "checkpoint") == trained.plan.id
    assert trained.built.plots["curves"].stat().st_size < 50_000
    losses = [e["train_loss"] for e in trained.events if e["event"] == "epoch"]
    assert len(losses) == LEARNING.epochs
    assert losses[-1] < losses[0]
    assert [e["event"] for e in trained.events][0 :: len(trained.events) - 1] == ["started", "finished"]


def test_shuffled_labels_must_fail(tmp_path: Path) -> None:
    """The same run on labels drawn at random: everything else passes, `learned` does not."""
    session = toy_session(toy_home(tmp_path / "home"), LEARNING)
    session.train, session.validation = shuffled(session.train), shuffled(session.validation)
    session.ranks = ranks_of(session)
    writer = Board(tmp_path / "runs", 0, 0)
    loop.run_epochs(session, writer, lambda event: None, 1000)
    writer.close()
    check = learned(session.progress)
    assert not check.passed
    assert check.facts["acc"] <= check.facts["needed"]
    assert processed_as_planned(session.plan, session.progress).passed


def test_rank_counts_are_those_of_the_training_rows(trained: Trained) -> None:
    plan, readers = trained.plan, tuple(DayReader(trained.home.root / day.path) for day in trained.plan.days)
    counts = count_ranks(plan, readers)
    assert sum(counts.ranks) + counts.stop == plan.rows["train"]
    expected: dict[int, int] = {}
    stop = 0
    for lane in np.flatnonzero(~plan.lanes.validation.astype(bool)):
        day = plan.days[int(plan.lanes.day[lane])]
        columns = readers[int(plan.lanes.day[lane])].read(("y", "opt_group"))
        for row in range(
            int(plan.lanes.first_row[lane]) - day.first_row,
            int(plan.lanes.first_row[lane] + plan.lanes.rows[lane]) - day.first_row,
        ):
            if columns["y"][row] == columns.lengths("option")[row]:
                stop += 1
            else:
                expected[int(columns["y"][row])] = expected.get(int(columns["y"][row]), 0) + 1
    assert counts.stop == stop
    assert {rank: count for rank, count in enumerate(counts.ranks) if count} == expected


def test_every_tag_of_the_seed_once_a_step(trained: Trained) -> None:
    found: dict[str, list[int]] = {}
    texts = []
    for event in events(trained.home.runs / trained.plan.id / FILE):
        for value in event.summary.value:
            (texts if value.HasField("tensor") else found.setdefault(value.tag, [])).append(
                event.step if not value.HasField("tensor") else value
            )
    assert set(SEED_TAGS) <= set(found)
    assert len(SEED_TAGS) == 41
    assert {"train/grad_norm_preclip"} <= set(found)
    updates, epochs = list(range(1, trained.plan.horizon + 1)), list(range(1, LEARNING.epochs + 1))
    for tag, steps in found.items():
        expected = epochs if tag in EPOCH_TAGS else [trained.plan.horizon] if tag.startswith("summary/") else updates
        assert steps == expected, tag
    assert len(texts) == 1
    assert b"Muon=" in texts[0].tensor.string_val[0]


def test_the_board_is_cut_back_to_the_checkpoint(tmp_path: Path) -> None:
    first = Board(tmp_path, 0, 0)
    for update in range(1, 8):
        first.scalars({"train/loss": float(update)}, update)
    first.scalars({"val/acc": 0.5}, 1)
    first.scalars({"val/acc": 0.6}, 2)
    first.close()
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"half a record")
    second = Board(tmp_path, 5, 1)
    second.scalars({"train/loss": 60.0}, 6)
    second.close()
    found = [(v.tag, e.step, v.simple_value) for e in events(tmp_path / FILE) for v in e.summary.value]
    assert [f for f in found if f[0] == "train/loss"] == [("train/loss", s, float(s)) for s in range(1, 6)] + [
        ("train/loss", 6, 60.0)
    ]
    assert [f[1] for f in found if f[0] == "val/acc"] == [1]
    board.keep(tmp_path / FILE, 0, 0)
    assert not (tmp_path / FILE).exists()


def test_a_checkpoint_loads_alone_and_strictly(trained: Trained, tmp_path: Path) -> None:
    import shutil

    step = tmp_path / "step"
    shutil.copytree(require(trained.built.path, "best"), step)
    architecture, weights, tables, state = load_weights(step)
    assert tables.digest == open_cards(trained.home, trained.plan).digest == state["cards_digest"]
    assert state["plan"] == {"id": trained.plan.id, "sha256": trained.plan.sha256}
    assert architecture.to_dict() == state["arch_config"]
    arrays = load_file(step / "weights.safetensors")
    for change, words in (
        ({"model.final_norm.bias": None}, "final_norm.bias"),
        ({"model.extra": np.zeros(1, np.float32)}, "extra"),
        ({"model.final_norm.bias": weights["final_norm.bias"].astype(np.float16)}, "final_norm.bias"),
        ({"model.final_norm.bias": np.zeros(3, np.float32)}, "final_norm.bias"),
    ):
        save_file({k: v for k, v in (arrays | change).items() if v is not None}, step / "weights.safetensors")
        with pytest.raises(ModelError, match=words):
            load_weights(step)
        with pytest.raises(IntegrityError, match=r"weights\.safetensors"):
            read_step(step)
    save_file(arrays | {"tables.card_static": arrays["tables.card_static"] + 1}, step / "weights.safetensors")
    with pytest.raises(IntegrityError, match="card tables"):
        load_weights(step)


def test_checks_fire(trained: Trained, tmp_path: Path) -> None:
    from tcg_core.train.runs.state import Progress

    state = json.loads((require(trained.built.path, "latest") / "state.json").read_text())
    progress = Progress.from_dict(state["progress"])
    assert processed_as_planned(trained.plan, progress).passed
    progress.processed[1][1] -= 1
    assert not processed_as_planned(trained.plan, progress).passed
    assert validation_once(trained.plan, progress).passed
    progress.history[0]["validation_rows"] += 1
    assert not validation_once(trained.plan, progress).passed
    for name in ("weights", "optimizer"):
        save_file({"model.a": np.zeros(2, np.float16 if name == "weights" else np.float32)}, tmp_path / f"{name}.safetensors")
    check = fp32(tmp_path)
    assert not check.passed
    assert "model.a is F16" in check.message


def test_a_row_missing_or_twice_is_named(trained: Trained) -> None:
    lanes = trained.plan.lanes
    side = lanes.validation.astype(bool)
    rows = np.concatenate([np.arange(f, f + n) for f, n in zip(lanes.first_row[side], lanes.rows[side], strict=True)])
    check_coverage(trained.plan, rows[::-1])
    with pytest.raises(TrainError, match=f"row {rows[5]} is missing"):
        check_coverage(trained.plan, np.delete(rows, 5))
    with pytest.raises(TrainError, match=f"row {rows[5]} was scored twice"):
        check_coverage(trained.plan, np.append(rows, rows[5]))


def test_processed_other_than_planned_raises(toy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    session = toy_session(toy)
    writer = Board(toy.runs / "x", 0, 0)
    real = session.plan.rows["train"]
    monkeypatch.setitem(session.plan.rows, "train", real + 1)
    with pytest.raises(TrainError, match=rf"planned \[\d+, \d+, {real + 1}\] microbatches, updates, rows; processed"):
        loop.run_epochs(session, writer, lambda event: None, 1000)
    writer.close()


def test_a_short_epoch_is_noticed_by_the_display_too(toy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    session = toy_session(toy)
    monkeypatch.setattr(loop, "validate", lambda net, plan, make, ranks, advance, compiled: advance(1))
    writer = Board(toy.runs / "x", 0, 0)
    with pytest.raises(PlannedMismatch, match="validation 1/2"):
        loop.run_epochs(session, writer, lambda event: None, 1000)
    writer.close()


def test_divergence_keeps_the_last_good_checkpoint(toy: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = toy_plan(toy)
    from tcg_core.train.step import Stepper

    original = Stepper.apply

    def failing(self: Stepper, window: Any, normalizer: Any, memories: Any, rate: float, step: int) -> Any:
        return original(self, window, normalizer, memories, float("inf") if step == 5 else rate, step)

    monkeypatch.setattr(Stepper, "apply", failing)
    with pytest.raises(Diverged, match=r"loss|parameter|cross-entropy"):
        train(toy, plan.id, device="cpu")
    latest = require(toy.checkpoints / plan.id, "latest")
    assert latest.name == "step_00000003"
    assert all(np.isfinite(value).all() for value in read_step(latest).weights.values())


def test_accumulation_makes_one_update_a_window(toy: Home) -> None:
    one = toy_plan(toy, dataclasses.replace(RECIPE, epochs=1)).count(0)
    accum = next(number for number in (3, 4, 5, 7) if one % number)
    recipe = dataclasses.replace(RECIPE, work=dataclasses.replace(RECIPE.work, accum_steps=accum), epochs=1)
    session = toy_session(toy, recipe)
    assert session.plan.count(0) == one
    writer = Board(toy.runs / "x", 0, 0)
    loop.run_epochs(session, writer, lambda event: None, 1000)
    writer.close()
    assert session.progress.updates == -(-one // accum) == session.horizon.total
    assert session.horizon.rate(session.progress.updates) == pytest.approx(recipe.optimizer.lr * recipe.schedule.lr_min_ratio)


def test_a_plan_whose_checks_failed_is_not_trained(toy: Home) -> None:
    plan = toy_plan(toy)
    registry.record_checks(toy, "work_plan", plan.id, [Check("each_row_once", False, "no")])
    with pytest.raises(ChecksNotPassed, match="each_row_once"):
        train(toy, plan.id)


def test_a_damaged_latest_is_refused_not_replaced(toy: Home) -> None:
    session = toy_session(toy)
    session.save(("latest",))
    step = require(session.directory, "latest")
    (step / "optimizer.safetensors").write_bytes(b"")
    with pytest.raises(IntegrityError, match=r"optimizer\.safetensors"):
        open_session(toy, session.plan, session.cards, "cpu", False)
    write_manifest(step, dataclasses.replace(read_manifest(step), files=hash_files(step)))
    with pytest.raises(IntegrityError, match=r"latest\.json points to"):
        open_session(toy, session.plan, session.cards, "cpu", False)


def test_one_trainer_a_home(tmp_path: Path) -> None:
    home = Home(tmp_path)
    code = (
        "import sys, time, pathlib; from tcg_core.base.home import Home; from tcg_core.train.lock import trainer_lock\n"
        "with trainer_lock(Home(pathlib.Path(sys.argv[1])), 'training'): print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TrainerBusy, match=f"held by process {holder.pid}"), trainer_lock(home, "training"):
            pass
    finally:
        holder.kill()
        holder.wait()
    with trainer_lock(home, "training"):
        pass


def test_a_trainer_dies_with_its_parent() -> None:
    guarded = "from tcg_core.train.guard import die_with_parent; die_with_parent(); print('ready', flush=True)"
    grandchild = f"import time; {guarded}; time.sleep(60)"
    start = f"p = subprocess.Popen([sys.executable, '-c', {grandchild!r}])"
    code = f"import subprocess, sys, time; {start}; print(p.pid, flush=True); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    lines = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
    pid = int((lines - {"ready"}).pop())
    assert "ready" in lines
    parent.kill()
    parent.wait()
    for _ in range(50):
        if not _running(pid):
            return
        time.sleep(0.1)
    os.kill(pid, 9)
    pytest.fail("the trainer outlived its parent")


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.is_file() and status.read_text().split(")")[1].split()[0] == "Z")


def test_the_command_line_trains_and_refuses(toy: Home) -> None:
    command = [sys.executable, "-m", "tcg_core.train", "--home", str(toy.root), "--device", "cpu"]
    refused = subprocess.run([*command, "nothing"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.strip().splitlines() == ["there is no work_plan nothing"]


@pytest.mark.parametrize(
    "error", [ModelError("arch_config key 'x' is unknown"), EncodeError("episode 7 game 0 side 1: no legal answer")]
)
def test_refusals_of_the_packed_packages_are_one_line_too(
    error: Exception, toy: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*arguments: Any, **named: Any) -> None:
        raise error

    monkeypatch.setattr(command_line, "train", refuse)
    monkeypatch.setattr(sys, "argv", ["train", "--home", str(toy.root), "plan"])
    assert command_line.main() == 2
    assert capsys.readouterr().err.strip().splitlines() == [str(error)]
