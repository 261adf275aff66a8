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
from tcg_core.model.config import ModelError
from tcg_core.model.torch_load import load_artifact
from tcg_core.model.torch_net import as_torch
from tcg_core.submission.runtime.groups import groups, shape_of

_FEATURES = tuple(stream.name for stream in SCHEMA.of_role("feature"))


class Policy:
    """The artifact in ``folder``, on one thread (Kaggle gives about two cores to two agents)."""

    def __init__(self, folder: Path) -> None:
        torch.set_num_threads(1)
        self.net, self.tables, self.contract = load_artifact(folder)
        if self.net.architecture.config.would_ko:
            raise ModelError(f"{folder}: the network has would-KO inputs (model.would_ko), which play cannot compute")
        self.generations: tuple[str, ...] = tuple(self.contract["generations"])
        self.rows = 0

    def initial_memory(self) -> Tensor:
        """Memory of a lane's start, [registers, d_model]."""
        return self.net.initial_memory()

    def unknown(self, ids: tuple[Sequence[int], Sequence[int]], generation: str) -> list[str]:
        """Which of (card ids, attack ids) the tables do not have: ``card 1500``."""
        return self.tables.unknown(generation, *ids)

    def forward(
        self, rows: Sequence[Mapping[str, Any]], memories: Sequence[Tensor], generations: Sequence[str]
    ) -> list[tuple[npt.NDArray[np.float32], Tensor]]:
        """For each row, of its own engine generation: logits [O + 1] (STOP last; O options or more, those beyond masked) and
        the memory written [registers, d_model]. Rows of like size are asked together."""
        answers: dict[int, tuple[npt.NDArray[np.float32], Tensor]] = {}
        for group in groups(rows):
            chosen = [rows[place] for place in group]
            columns = Columns.from_rows([{name: row[name] for name in _FEATURES} for row in chosen])
            known = np.array([generations[place] for place in group])
            batch = as_torch(collate(columns, known, self.tables, shape_of(chosen)))
            with torch.inference_mode():
                output = self.net(batch, torch.stack([memories[place] for place in group]))
            answers |= {place: (output.logits[i].numpy(), output.memory[i]) for i, place in enumerate(group)}
        self.rows += len(rows)
        return [answers[place] for place in range(len(rows))]
