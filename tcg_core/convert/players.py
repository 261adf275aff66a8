"""Either framework's network as a :class:`~tcg_core.convert.replay.NetworkPlayer`. Each framework is imported when asked for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tcg_core.convert.replay import NetworkPlayer, Said
from tcg_core.encode.cards import CardTables
from tcg_core.model.architecture import Architecture

if TYPE_CHECKING:
    from tcg_core.model.torch_net import TorchNet

Array = npt.NDArray[Any]


def torch_player(net: "TorchNet") -> NetworkPlayer:
    """A PyTorch network in evaluation."""
    import torch

    from tcg_core.model.torch_net import as_torch

    def step(batch: Mapping[str, Array], memory: Array) -> Said:
        with torch.inference_mode():
            output = net(as_torch(batch), torch.from_numpy(memory))
        aux = {name: values.numpy() for name, values in output.aux.items()}
        return Said(output.logits.numpy(), aux, output.memory.numpy())

    return NetworkPlayer("torch", net.initial_memory().detach().numpy(), step)


def mlx_player(architecture: Architecture, weights: Mapping[str, Array], tables: CardTables, source: str) -> NetworkPlayer:
    """An MLX network on the CPU, whatever the default device: the artifact plays on a CPU. Strict as ``restore_net``."""
    from tcg_core.model.bootstrap import mlx
    from tcg_core.model.mlx_net import as_mx, restore_net

    core = mlx().core
    with core.stream(core.cpu):
        net = restore_net(architecture, weights, source)
        net.set_tables(tables)

    def step(batch: Mapping[str, Array], memory: Array) -> Said:
        with core.stream(core.cpu):
            output = net(as_mx(batch), core.array(memory))
            core.eval(output)
        aux = {name: np.array(values) for name, values in output.aux.items()}
        return Said(np.array(output.logits), aux, np.array(output.memory))

    return NetworkPlayer("mlx", weights["memory_start"], step)
