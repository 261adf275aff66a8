"""Dagster's code version of an asset is the code identity that its stage writes into the manifest."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tcg_core.base.code import PRODUCERS, code_version
from tcg_core.base.manifest import code_identity
from tcg_core.base.stage import Stage


def _day() -> str:
    from tcg_core.days.code import build_code

    return build_code()


def _cards() -> str:
    from tcg_core.cards import features as stage

    return Stage.of("card_features", stage.KIND, Path("cards"), (), {}).code


def _plan() -> str:
    from tcg_core.plan import build as stage

    return code_identity(*stage._CODE, libraries=stage._LIBRARIES)


def _checkpoint() -> str:
    from tcg_core.train.session import CODE, LIBRARIES

    return code_identity(*CODE, libraries=LIBRARIES)


def _artifact() -> str:
    from tcg_core.convert import artifact as stage

    return code_identity(stage.__name__, libraries=stage._LIBRARIES)


def _submission() -> str:
    from tcg_core.submission.contents import CODE

    return code_identity(*CODE)


@pytest.mark.parametrize(
    ("assets", "written"),
    [
        (("day_catalog", "staged_day", "parquet_day"), _day),
        (("card_features",), _cards),
        (("work_plan",), _plan),
        (("mlx_checkpoint",), _checkpoint),
        (("torch_artifact",), _artifact),
        (("submission",), _submission),
    ],
)
def test_the_version_in_the_ui_is_the_one_in_the_manifest(assets: tuple[str, ...], written: Callable[[], str]) -> None:
    for asset in assets:
        code_version.cache_clear()
        assert code_version(asset) == written(), asset


def test_every_producer_is_a_module_whose_edit_changes_the_version() -> None:
    for asset, (modules, libraries) in PRODUCERS.items():
        assert code_version(asset) != code_identity("tcg_core.base.checks", libraries=libraries), asset
        assert modules, asset
