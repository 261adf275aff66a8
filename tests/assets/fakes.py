"""Stages that build next to nothing but do register, so that the wiring is tested alone and with the real registry."""

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcg_assets.checks import severity_of
from tcg_core.base.atomic import publishing
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import PRODUCERS, code_version
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Manifest, hash_files, read_manifest, write_manifest
from tcg_core.catalog import registry

#: Smallest PNG: one transparent pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


#: Kind -> kind that it is made from.
_MADE_FROM = {
    "work_plan": "parquet_day",
    "checkpoint": "work_plan",
    "torch_artifact": "checkpoint",
    "submission": "torch_artifact",
    "tournament": "submission",
}


def _inputs(home: Home, kind: str) -> tuple[Input, ...]:
    """The latest of what it is made from; of days all."""
    rows = registry.rows_of(home, _MADE_FROM[kind]) if kind in _MADE_FROM else []
    return tuple(Input(row.kind, row.id, row.content) for row in (rows if kind == "work_plan" else rows[:1]))


def fake_built(home: Home, kind: str, id: str, root: Path, checks: tuple[Check, ...], **facts: Any) -> Built:
    """Publishes a directory with a file, a plot and a manifest, registers it with its checks."""
    directory = root / id
    reused = directory.exists()
    if not reused:
        import pyarrow as pa
        import pyarrow.parquet as parquet

        with publishing(directory) as temporary:
            table = pa.table({"episode_id": pa.array([1, 2], pa.int64()), "y": pa.array([0, 1], pa.int16())})
            for name in ("rows.parquet", "chunks.parquet", "games.parquet", "ratings.parquet"):
                parquet.write_table(table, temporary / name)
            (temporary / "plot.png").write_bytes(PNG)
            asset = "mlx_checkpoint" if kind == "checkpoint" else kind
            code = code_version(asset) if asset in PRODUCERS else "code"
            write_manifest(temporary, Manifest(kind, id, _inputs(home, kind), {}, code, {}, hash_files(temporary), facts))
    registry.register(home, read_manifest(directory), directory)
    registry.record_checks(home, kind, id, checks)
    return Built(kind, id, directory, reused, checks, facts, {"curve": directory / "plot.png"})


def checks_for(*assets: str, failing: str = "") -> tuple[Check, ...]:
    """The declared checks of ``assets``, all passed but ``failing``."""
    return tuple(
        Check(name, name != failing, f"{name} was looked at", severity)  # type: ignore[arg-type]  # declared severities
        for asset in assets
        for name, severity in severity_of(asset).items()
    )


class Stages:
    """Fake stage modules; ``failing`` names a check that fails, ``calls`` lists what was called with what."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self.failing = ""
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self._day("tcg_core.days.take", "take_archive", "day_archive", ("day_archive",), "archives")
        self._day("tcg_core.days.build", "build_day", "staged_day", ("day_catalog", "staged_day"), "staging")
        self._day("tcg_core.days.promote", "promote_day", "parquet_day", ("parquet_day",), "days")
        self._day("tcg_core.days.drift", "field_drift", "field_drift", ("field_drift",), "drift")
        self._stage("tcg_core.ratings.stage", "rate_agents", "ratings", "ratings", "ratings")
        self.install("tcg_core.engine.cards", load_cards=lambda generation: (), load_attacks=lambda generation: ())
        self._stage("tcg_core.cards.features", "card_features", "card_features", "card_features", "cards")
        self._stage("tcg_core.plan.build", "build_plan", "work_plan", "work_plan", "plans")
        self._stage("tcg_core.train.run", "train", "mlx_checkpoint", "checkpoint", "checkpoints")
        self._stage("tcg_core.convert.artifact", "convert", "torch_artifact", "torch_artifact", "artifacts")
        self._stage("tcg_core.submission.pack", "pack", "submission", "submission", "submissions")
        self._stage("tcg_core.arena.tournament", "tournament", "tournament", "tournament", "tournaments")
        self._stage("tcg_core.arena.champion", "crown", "champion", "champion", "promotions")

    def install(self, module: str, **members: Any) -> None:
        """Puts a module in the place of a real one."""
        fake = types.ModuleType(module)
        fake.__dict__.update(members)
        self._patch.setitem(sys.modules, module, fake)
        package, _, name = module.rpartition(".")
        self._patch.setattr(__import__(package, fromlist=["_"]), name, fake, raising=False)

    def called(self, name: str) -> list[tuple[Any, ...]]:
        """Arguments of the calls of one stage, the home left out."""
        return [(*arguments[1:], *keywords.values()) for called, arguments, keywords in self.calls if called == name]

    def _day(self, module: str, function: str, kind: str, assets: tuple[str, ...], root: str) -> None:
        def stage(home: Home, day: str, **settings: Any) -> Built:
            self.calls.append((function, (home, day), {name: value for name, value in settings.items() if value is not None}))
            checks = checks_for(*assets, failing=self.failing)
            return fake_built(home, kind, f"{kind}-{day}", home.root / root / day, checks, rows=2)

        self.install(module, **{function: stage})

    def _stage(self, module: str, function: str, asset: str, kind: str, root: str) -> None:
        stage: Callable[..., Built]

        def stage(home: Home, *arguments: Any, **keywords: Any) -> Built:
            self.calls.append((function, (home, *arguments), keywords))
            return fake_built(home, kind, f"{kind}-1", home.root / root, checks_for(asset, failing=self.failing), accuracy=0.5)

        self.install(module, **{function: stage})
