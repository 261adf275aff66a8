"""A torch artifact with random weights, tables of the real engine's ids, and a reference from a real game."""

from pathlib import Path

import numpy as np
import torch

from tcg_core.base.atomic import publishing, write_bytes, write_json
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest, hash_files, write_manifest
from tcg_core.catalog import registry
from tcg_core.convert.players import torch_player
from tcg_core.convert.reference import Reference, ReferenceStep, write_reference
from tcg_core.convert.replay import replay
from tcg_core.encode.cards import FIRST, CardTables
from tcg_core.encode.collate import collate
from tcg_core.encode.columns import Columns
from tcg_core.encode.schema import SCHEMA
from tcg_core.engine.agents import make_agent
from tcg_core.engine.battle import Battle
from tcg_core.engine.cards import load_attacks, load_cards
from tcg_core.engine.decks import sample_deck
from tcg_core.model.architecture import MASK_VALUE, Architecture
from tcg_core.model.config import ModelConfig
from tcg_core.model.names import join_arrays
from tcg_core.model.tensors import safetensors_bytes
from tcg_core.model.torch_load import CONTRACT, CONTRACT_VERSION, REFERENCE, WEIGHTS
from tcg_core.model.torch_net import build, weights_of
from tcg_core.submission.runtime.lane import Lane, Thought

FEATURES = [stream.name for stream in SCHEMA.of_role("feature")]
SMALL = ModelConfig(d_model=16, heads=2, layers=1, ff=32, registers=2)
AUX = {"ko": 0.5, "prize": 0.5, "terminal": 0.5, "value": 0.5}


def tables(generations: tuple[str, ...]) -> CardTables:
    """Each id of each generation at its own position; random static features."""
    rng = np.random.default_rng(7)
    cards, attacks, sizes = {}, {}, [FIRST, FIRST]
    for generation in generations:
        for index, (into, found) in enumerate(
            ((cards, [c.card_id for c in load_cards(generation)]), (attacks, [a.attack_id for a in load_attacks(generation)]))
        ):
            table = np.full(max(found) + 1, -1, np.int32)
            table[sorted(found)] = np.arange(len(found), dtype=np.int32) + FIRST
            table[0] = 0
            into[generation] = table
            sizes[index] = max(sizes[index], len(found) + FIRST)
    static = [rng.normal(size=(size, 3)).astype(np.float32) for size in sizes]
    for array in static:
        array[:FIRST] = 0
    return CardTables(cards, attacks, static[0], static[1])


def reference(net, tables, generation: str, decisions: int = 6) -> Reference:
    """The first decisions of seat 0 in a real game: one step a pick, the last pick of a decision commits."""
    steps: list[ReferenceStep] = []
    agents = [make_agent("random", generation, sample_deck(), seed) for seed in (1, 2)]
    with Battle(generation, sample_deck(), sample_deck()) as battle:
        lane = None
        while not battle.ended and len(steps) < decisions:
            obs = battle.observation
            answer = agents[battle.seat](obs)
            if battle.seat == 0:
                lane = lane or Lane(sample_deck(), net.initial_memory(), obs, generation)
                row = Thought(lane, obs).row()
                columns = Columns.from_rows([{name: row[name] for name in FEATURES}])
                steps.append(ReferenceStep(collate(columns, generation, tables), np.zeros(1, np.int32), np.ones(1, bool)))
            battle.select(answer)
    return Reference(("day/0/0/0",), tuple(steps))


def random_artifact(home: Home, generations: tuple[str, ...] = ("v1",), seed: int = 5, config: ModelConfig = SMALL) -> str:
    """Publishes and registers the artifact with a passed check; returns its id."""
    found = tables(generations)
    architecture = Architecture.of(config, AUX, found)
    net = build(architecture, seed)
    net.set_tables(found)
    net.freeze()
    identity = f"random{seed:02d}{len(generations)}{config.d_model:04d}"
    directory = home.artifacts / identity
    with publishing(directory) as temporary:
        write_bytes(temporary / WEIGHTS, safetensors_bytes(join_arrays(weights_of(net), found)))
        contract = {
            "contract_version": CONTRACT_VERSION,
            "kind": "torch_policy",
            "dtype": "float32",
            "arch_config": architecture.to_dict(),
            "schema": SCHEMA.digest,
            "tables": found.digest,
            "generations": list(generations),
            "mask_value": MASK_VALUE,
            "tolerance": 1e-4,
            "origin": {"run": "none", "step": 0, "which": "random"},
        }
        write_json(temporary / CONTRACT, contract)
        steps = reference(net, found, generations[0])
        with torch.inference_mode():
            write_reference(temporary / REFERENCE, steps, replay(torch_player(net), steps))
        write_manifest(temporary, Manifest("torch_artifact", identity, (), {}, "test", {}, hash_files(temporary)))
    register(home, directory)
    return identity


def register(home: Home, directory: Path) -> None:
    """Registers a published artifact with one passed check."""
    from tcg_core.base.manifest import read_manifest

    registry.register(home, read_manifest(directory), directory)
    registry.record_checks(home, "torch_artifact", directory.name, [Check("names", True, "as built")])
