"""A data home made by hand: days and what is built from them, with small files and true hashes."""

from pathlib import Path

from tcg_core.base.atomic import write_bytes
from tcg_core.base.checks import Check
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Manifest, hash_files, write_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import datasets_of
from tests.catalog.helpers import add_day, code_of, episode

PLACES = {
    "card_features": "cards",
    "work_plan": "plans",
    "checkpoint": "checkpoints",
    "torch_artifact": "artifacts",
    "submission": "submissions",
    "tournament": "tournaments",
    "ratings": "ratings",
}
FINE, BROKEN = Check("fine", True, "fine"), Check("broken", False, "it is broken")


def artifact(home: Home, kind: str, id: str, inputs: tuple[Input, ...] = (), check: Check | None = FINE) -> Manifest:
    """One artifact with a file of its own; ``check`` None leaves it unchecked."""
    return _written(home, home.root / PLACES[kind] / id, kind, id, inputs, check)


def day(home: Home, name: str, archive: str = "zip", episodes: int = 1) -> Manifest:
    """A validated day with its archive, whose directory verifies."""
    rows = add_day(home, name, [episode(int(name[-2:]) * 100 + i) for i in range(episodes)], archive)
    with catalog(home) as connection:
        dataset = next(d for d in datasets_of(connection, name, "validated"))
    target = home.archives / name / f"{dataset.archive_sha256}.zip"
    write_bytes(target, f"{name}{archive}".encode())
    return _written(home, rows.parent, "parquet_day", dataset.dataset_id, (), FINE, code_of(name, archive, episodes))


def chain(home: Home, name: str, days: tuple[Manifest, ...]) -> dict[str, Manifest]:
    """Plan, checkpoint, artifact, submission and tournament over ``days``; ids are kind and ``name``."""
    cards = artifact(home, "card_features", "cards")
    made = {"work_plan": artifact(home, "work_plan", f"plan-{name}", (*(d.as_input() for d in days), cards.as_input()))}
    for kind, before in (
        ("checkpoint", "work_plan"),
        ("torch_artifact", "checkpoint"),
        ("submission", "torch_artifact"),
        ("tournament", "submission"),
    ):
        made[kind] = artifact(home, kind, f"{kind}-{name}", (made[before].as_input(),))
    return made


def age(home: Home, days: int) -> None:
    """Makes all that is registered now ``days`` days older."""
    with catalog(home) as connection:
        for table, column in (("artifacts", "registered_at"), ("datasets", "changed_at")):
            connection.execute(f"UPDATE {table} SET {column} = strftime('%Y-%m-%dT%H:%M:%SZ', {column}, ?)", (f"-{days} days",))


def _written(
    home: Home, path: Path, kind: str, id: str, inputs: tuple[Input, ...], check: Check | None, code: str = "code"
) -> Manifest:
    write_bytes(path / "file.bin", f"{kind} {id}".encode())
    manifest = Manifest(kind, id, inputs, {}, code, {}, hash_files(path))
    write_manifest(path, manifest)
    registry.register(home, manifest, path)
    if check:
        registry.record_checks(home, kind, id, [check])
    return manifest
