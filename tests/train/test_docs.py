"""The pages on checkpoints and metrics say what is written, no more and no less."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open

from tcg_core.base.settings import from_dict
from tcg_core.plan.curriculum import Curriculum
from tcg_core.train import board, checks
from tcg_core.train.baseline import RankCounts
from tcg_core.train.metrics import Counters
from tcg_core.train.runs.pointers import require
from tcg_core.train.session import Session

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: Payload of `mlx_training_pipeline` (Checkpoints) and what `tbptt_training_contract` says travels inside the payload.
SEED_FIELDS = [
    "model",
    "optimizer",
    "optimizer_contract",
    "optimizer_phase_step",
    "arch_config",
    "static_card_features",
    "static_feature_contract",
    "run_config",
    "run_config.data_days",
    "run_config.data_paths",
    "run_config.zero_wouldko",
    "inference_config",
    "dataset_manifest",
    "dataset_build_fingerprint",
    "phase_id",
    "epoch",
    "gstep",
    "val_acc",
    "best_val_acc",
    "seed",
    "accum_steps",
    "microbatches_per_epoch",
    "optimizer_steps_per_epoch",
    "scheduler_phase_step",
    "scheduler_total_steps",
    "scheduler_contract",
    "scheduler_state",
    "would-KO settings",
    "prospective settings",
    "progress counters",
    "provenance",
]


def table(page: str, heading: str) -> list[list[str]]:
    """Cells of the first table below a heading, without its head."""
    section = f"\n{page}".split(f"\n{heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in lines[0].splitlines()[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def written(session: Session) -> Path:
    session.save(("latest",))
    return require(session.directory, "latest")


def test_every_key_of_a_checkpoint_is_described(session: Session) -> None:
    state = json.loads((written(session) / "state.json").read_text())
    described = [key for cells in table((DOCS / "checkpoint.md").read_text(), "## `state.json`") for key in code(cells[0])]
    assert sorted(described) == sorted(state)


def test_every_field_of_the_seeds_is_mapped_to_what_is_written(session: Session) -> None:
    step = written(session)
    state = json.loads((step / "state.json").read_text())
    rows = table((DOCS / "checkpoint.md").read_text(), "## Fields of the two specifications")
    assert [(code(cells[0]) or [cells[0]])[0] for cells in rows] == SEED_FIELDS
    for field, place in rows:
        for name in code(place):
            if name.endswith((".safetensors", ".json")):
                assert (step / name).is_file(), field
            elif name.endswith(".*"):
                with safe_open(step / code(place)[0], framework="numpy") as tensors:
                    assert any(key.startswith(name[:-1]) for key in tensors.keys()), field  # noqa: SIM118 (not a mapping)
            else:
                found: Any = state
                for part in name.split("."):
                    assert part in found, f"{field}: {name}"
                    found = found[part]
    # The fields whose meaning a reader relies on hold what they say.
    assert state["static_feature_contract"]["sha256"] == session.cards.digest
    assert state["run_config"]["data_days"] == [day["day"] for day in state["dataset_manifest"]]
    assert all((session.home.root / path).is_file() for path in state["run_config"]["data_paths"])
    assert state["scheduler_contract"]["total_steps"] == state["scheduler_total_steps"] == session.plan.horizon
    assert len(state["microbatches_per_epoch"]) == state["local_epochs"] == session.plan.recipe.epochs


def test_every_tag_is_described() -> None:
    rows = table((DOCS / "metrics.md").read_text(), "## TensorBoard")
    described = [tag for cells in rows for tag in code(cells[0])]
    written = [*board.STEP_TAGS, *board.EPOCH_TAGS, "summary/best_val_acc", "summary/final_gstep"]
    assert sorted(described) == sorted(written)


def test_every_metric_is_defined() -> None:
    page = (DOCS / "metrics.md").read_text()
    defined = {name for cells in table(page, "# Metrics") for name in code(cells[0]) if "/" not in name}
    found = Counters(RankCounts((1,), 0))
    heads = {"ko": np.zeros(1), "prize": np.zeros(1), "terminal": np.zeros(1), "value": np.zeros(1)}
    labels = {name: np.zeros(1, np.float32) for name in ("aux_ko", "aux_prize_delta", "aux_terminal", "aux_return")}
    labels |= {"target": np.zeros(1, np.int32), "opt_group": np.zeros((1, 1), np.int32), "aux_valid": np.ones(1, np.float32)}
    labels |= {"forced": np.zeros(1, bool), "is_attack": np.ones(1, bool)}
    inputs = {"legal": np.ones((1, 2), bool), "select_type": np.zeros(1, np.int32)}
    found.add(np.zeros((1, 2), np.float32), {"ce": np.ones(1)} | dict.fromkeys(heads, np.ones(1)), heads, inputs, labels)
    names = {name for name in found.result() if not name.startswith("mean_")} - {"rows", "valid", "attack_rows", "unforced"}
    assert names == defined
    for check in ("learned", "aux_heads", "aux_share", "grad_norm", "cache_hits"):
        assert hasattr(checks, check)
        assert f"`{check}`" in page


def test_the_example_of_a_curriculum_is_one() -> None:
    page = (DOCS / "checkpoint.md").read_text()
    block = re.search(r"(?:^    .*\n)+", page.split("## Curriculum", 1)[1], re.MULTILINE)
    assert block is not None
    assert [phase.phase_id for phase in from_dict(Curriculum, json.loads(block[0])).phases] == ["broad", "elite"]
