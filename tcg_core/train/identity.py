"""Whose code makes a training run, said without loading any of it (MLX stays out of processes that only look)."""

from tcg_core.base.manifest import code_identity

CODE, LIBRARIES = ("tcg_core.train.run",), ("mlx", "numpy")


def trainer_code() -> str:
    """Code identity of the checkpoints that this code would write."""
    return code_identity(*CODE, libraries=LIBRARIES)
