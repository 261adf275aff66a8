"""Code identity of every asset, from the definitions that decide its result.

Dagster's code version of an asset, the ``code`` of its manifest and what makes it stale are this one value. It is computed
from the source as it was when this process started; nothing of what it covers is imported to know it.
"""

import contextlib
import importlib.metadata
import json
import sys
from dataclasses import dataclass
from functools import cache

from tcg_core.base.atomic import NotWritten, write_json
from tcg_core.base.digest import sha256_json
from tcg_core.base.identity import Index
from tcg_core.base.source import PACKAGES, ROOT, at_start

OUTSIDE_IDENTITY = "it names what identities are made of"


@dataclass(frozen=True)
class Producer:
    """What decides an asset's result. ``roots``: ``module:definition``, followed to all they use; ``libraries``: distributions
    that can change a value (one that only draws or stores never does); ``packed``: the module whose import closure is packed
    byte for byte."""

    roots: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    packed: str = ""


#: Archive to rows. How processes share the members, what the checks say and how the day looks is not part of it.
_DAY = Producer(("tcg_core.days.write_day:write_day", "tcg_core.days.members:process"), ("msgspec",))
PRODUCERS: dict[str, Producer] = {
    "day_archive": Producer(("tcg_core.replay.archive:open_archive",)),
    "day_catalog": _DAY,
    "staged_day": _DAY,
    "parquet_day": _DAY,
    "field_drift": Producer(("tcg_core.days.drift:field_of", "tcg_core.days.drift:_facts")),
    "ratings": Producer(
        ("tcg_core.ratings.rate:rate_replays", "tcg_core.ratings.rate:rate_remote", "tcg_core.ratings.table:write_ratings")
    ),
    "card_features": Producer(("tcg_core.cards.features:build_tables",)),
    # Which days and episodes were selected is among a plan's inputs; here is how they become lanes and microbatches.
    "work_plan": Producer(
        (
            "tcg_core.plan.assemble:assemble",
            "tcg_core.plan.facts:summarize",
            "tcg_core.plan.source:_day_rows",
            "tcg_core.plan.split:validation_episodes",
            "tcg_core.plan.tables:write_tables",
        ),
        ("numpy",),
    ),
    "mlx_checkpoint": Producer(("tcg_core.train.loop:run_epochs", "tcg_core.train.session:open_session"), ("mlx", "numpy")),
    "torch_artifact": Producer(
        (
            "tcg_core.convert.decisions:plan_reference",
            "tcg_core.convert.players:mlx_player",
            "tcg_core.convert.players:torch_player",
            "tcg_core.convert.reference:write_reference",
            "tcg_core.convert.replay:replay",
            "tcg_core.convert.replay:compare",
            "tcg_core.model.names:join_arrays",
            "tcg_core.model.tensors:safetensors_bytes",
            "tcg_core.model.torch_load:load_artifact",
            "tcg_core.train.runs.checkpoint:load_weights",
        ),
        ("mlx", "numpy", "torch"),
    ),
    "submission": Producer(("tcg_core.submission.main_source:MAIN",), packed="tcg_core.submission.runtime.agent"),
    "tournament": Producer(
        ("tcg_core.arena.playing:play_games", "tcg_core.arena.schedule:make_schedule", "tcg_core.arena.summary:summarise")
    ),
    "champion": Producer(("tcg_core.arena.verdict:judge",)),
    "would_ko": Producer(("tcg_core.lookahead.worker:serve",)),
    "baseline": Producer(("tcg_core.engine.agents:make_agent",)),
}


@cache
def code_version(asset: str) -> str:
    """16 hex digits for the code that makes an asset, as this process runs it."""
    return _version(_made(), asset)


def version_in(index: Index, asset: str) -> str:
    """:func:`code_version` of another source tree."""
    return _version({asset: _definitions(index, PRODUCERS[asset])}, asset)


def _version(made: dict[str, str], asset: str) -> str:
    return sha256_json([made[asset], versions_of(asset)])[:16]


def _definitions(index: Index, producer: Producer) -> str:
    """Hash of what decides a result, libraries left out."""
    packed = {file: index.source.sha256(file) for file in index.source.packed(producer.packed)} if producer.packed else {}
    return sha256_json([index.identity(producer.roots), packed])


@cache
def _made() -> dict[str, str]:
    """:func:`_definitions` of every asset. Reading the syntax trees costs a second, so the result is kept beside Python's own
    compiled files, under the hash of all source files; where nothing can be written it is computed each time."""
    kept = ROOT / PACKAGES[0] / "__pycache__" / f"identity.{at_start().digest[:32]}.{sys.implementation.cache_tag}.json"
    try:
        found: dict[str, str] = json.loads(kept.read_text())
    except (OSError, ValueError):
        found = {}
    if found.keys() != PRODUCERS.keys():
        found = {asset: _definitions(_index(), producer) for asset, producer in PRODUCERS.items()}
        with contextlib.suppress(OSError, NotWritten):  # an installation that is read-only works as well
            for old in kept.parent.glob("identity.*.json"):
                old.unlink(missing_ok=True)
            write_json(kept, found)
    return found


def libraries_of(asset: str) -> tuple[str, ...]:
    """Distributions whose version is part of an asset's code identity."""
    return PRODUCERS[asset].libraries


def versions_of(asset: str) -> dict[str, str]:
    """Installed versions of those distributions, as a manifest records them."""
    return {name: importlib.metadata.version(name) for name in sorted(libraries_of(asset))}


def closure_of(asset: str) -> frozenset[str]:
    """Files below the project's root that hold a definition of the asset's identity."""
    index, producer = _index(), PRODUCERS[asset]
    held = {index.source.modules[module] for module, _ in index.closure(producer.roots)}
    return frozenset(held | (index.source.packed(producer.packed) if producer.packed else set()))


@cache
def _index() -> Index:
    return Index(at_start())
