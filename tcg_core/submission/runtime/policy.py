"""The network at play: rows and memories in, logits and memories out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tcg_core.encode.collate import collate
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.model.torch_load import load_artifact
from tcg_core.model.torch_net import as_torch

_FEATURES = tuple(stream.name for stream in SCHEMA.of_role("feature"))


class Policy:
    """The artifact in ``folder``, on one thread (Kaggle gives about two cores to two agents)."""

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)
        self.net, self.tables, self.contract = load_artifact(folder)
        self.generations: tuple[str, ...] = tuple(self.contract["generations"])
        self.rows = 0

    def initial_memory(self) -> Tensor:
        """Memory of a lane's start, [registers, d_model]."""
        return self.net.initial_memory()

    def forward(
        self, rows: Sequence[Mapping[str, Any]], memories: Sequence[Tensor], generations: Sequence[str]
    ) -> tuple[npt.NDArray[np.float32], Tensor]:
        """(logits [B, O + 1], memories [B, registers, d_model]) of B rows, each of its own engine generation."""
        columns = Columns.from_rows([{name: row[name] for name in _FEATURES} for row in rows])
        batch = as_torch(collate(columns, np.array(generations), self.tables))
        with torch.inference_mode():
            output = self.net(batch, torch.stack(list(memories)))
        self.rows += len(rows)
        logits: npt.NDArray[np.float32] = output.logits.numpy()
        return logits, output.memory
