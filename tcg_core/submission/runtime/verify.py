"""Replays the artifact's reference decisions here, in whatever process and machine this is, and says how far off it is."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from tcg_core.model.batch import INPUTS
from tcg_core.model.tensors import read_safetensors
from tcg_core.model.torch_load import REFERENCE
from tcg_core.model.torch_net import as_torch
from tcg_core.submission.runtime.policy import Policy


def verify(policy: Policy, folder: Path) -> dict[str, Any]:
    """Largest differences over all recorded steps, memory carried from step to step as at play.

    Keys: rows, logits (legal ones), memory, choices (rows whose best answer differs), tolerance (the artifact's own).
    Raises what reading the file raises, and ValueError when it holds no step.
    """
    arrays = read_safetensors(folder / REFERENCE)
    steps = sorted({name.split(".", 1)[0] for name in arrays})
    if not steps:
        raise ValueError(f"{REFERENCE} holds no step")
    lanes = 1 + max(int(arrays[f"{step}.lane"].max()) for step in steps)
    memory = policy.initial_memory().detach().expand(lanes, -1, -1).clone()
    rows = choices = 0
    logits_off = memory_off = 0.0
    for step in steps:
        batch = {name: arrays[f"{step}.in.{name}"] for name in INPUTS}
        lane, commits = arrays[f"{step}.lane"], arrays[f"{step}.commits"]
        with torch.inference_mode():
            output = policy.net(as_torch(batch), memory[torch.from_numpy(lane).long()])
        found, expected, legal = output.logits.numpy(), arrays[f"{step}.logits"], batch["legal"]
        logits_off = max(logits_off, _largest(found[legal], expected[legal]))
        memory_off = max(memory_off, _largest(output.memory.numpy(), arrays[f"{step}.memory"]))
        choices += int((found.argmax(axis=1) != expected.argmax(axis=1)).sum())
        rows += len(lane)
        memory[torch.from_numpy(lane[commits]).long()] = output.memory[torch.from_numpy(commits)]
    return {
        "rows": rows,
        "logits": logits_off,
        "memory": memory_off,
        "choices": choices,
        "tolerance": float(policy.contract["tolerance"]),
    }


def _largest(found: Any, expected: Any) -> float:
    if found.shape != expected.shape or not np.isfinite(found).all():
        return 1e30  # JSON has no infinity
    return float(np.abs(found.astype(np.float64) - expected).max(initial=0.0))
