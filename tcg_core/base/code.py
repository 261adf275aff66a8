"""Code identity of every asset: the source that makes it and the libraries that compute it.

Read from files and package metadata alone; nothing heavy is imported to know it.
"""

from functools import cache

from tcg_core.base.manifest import code_identity

_DAY_LIBRARIES = ("matplotlib", "msgspec", "numpy", "pyarrow")
#: asset -> (modules whose import closure makes it, distributions whose version matters)
PRODUCERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "day_archive": (("tcg_core.days.take",), ()),
    "day_catalog": (("tcg_core.days.write_day",), _DAY_LIBRARIES),
    "staged_day": (("tcg_core.days.write_day",), _DAY_LIBRARIES),
    "parquet_day": (("tcg_core.days.write_day",), _DAY_LIBRARIES),
    "field_drift": (("tcg_core.days.drift",), ("matplotlib",)),
    "ratings": (("tcg_core.ratings.stage",), ("matplotlib", "pyarrow")),
    "card_features": (("tcg_core.cards.features",), ("numpy", "safetensors")),
    "work_plan": (("tcg_core.plan.build", "tcg_core.train.run"), ("numpy", "pyarrow")),
    "mlx_checkpoint": (("tcg_core.train.run",), ("mlx", "numpy")),
    "torch_artifact": (("tcg_core.convert.artifact",), ("mlx", "numpy", "torch")),
    "submission": (
        ("tcg_core.submission.contents", "tcg_core.submission.archive", "tcg_core.submission.runtime.agent"),
        (),
    ),
    "tournament": (("tcg_core.arena.playing", "tcg_core.arena.summary", "tcg_core.arena.report"), ()),
    "champion": (("tcg_core.arena.champion",), ()),
}


def libraries_of(asset: str) -> tuple[str, ...]:
    """Distributions whose versions are recorded in the manifests of the asset."""
    return PRODUCERS[asset][1]


@cache
def code_version(asset: str) -> str:
    """16 hex digits; changes exactly when what makes the asset changes."""
    modules, libraries = PRODUCERS[asset]
    return code_identity(*modules, libraries=libraries)
