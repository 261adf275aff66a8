"""Whether a manifest is still what its stage wrote. The hashes of files do not say so: a hand can edit a manifest too.

Two things cannot be edited without notice: the id, which follows from inputs, configuration and code, and the catalog's record.
"""

import json
import re
import sqlite3
from dataclasses import dataclass
from typing import Any

from tcg_core.base.manifest import Input, Key, Manifest
from tcg_core.catalog.registry import plain
from tcg_core.lineage.graph import registered

#: How ids look that follow from what an artifact was made of.
_DERIVED = re.compile(r"[0-9a-f]{16}")
#: Checkpoints are named by their plan: a run has its id, a step has ``RUN/step_N``.
_PLAN, _RUN, _STEP = "work_plan", "checkpoint", "checkpoint_step"


@dataclass(frozen=True)
class CatalogRecord:
    """What the catalog says of one artifact; config and facts as JSON values."""

    content: str
    code: str
    config: Any
    facts: Any
    inputs: tuple[Input, ...]


def catalog_records(connection: sqlite3.Connection) -> dict[Key, CatalogRecord]:
    """Every registered artifact by kind and id."""
    inputs = registered(connection).inputs
    return {
        (row["kind"], row["id"]): CatalogRecord(
            row["content"],
            row["code"],
            json.loads(row["config"]),
            json.loads(row["facts"]),
            tuple(inputs.get((row["kind"], row["id"]), ())),
        )
        for row in connection.execute("SELECT * FROM artifacts")
    }


def edited(manifest: Manifest, record: CatalogRecord | None) -> str:
    """What shows that a manifest was edited, "" if nothing does; pure. record: the catalog's, None if it has none.

    An id that no stage derives is believed only if the catalog has it. The rule of the id is the same in every manifest version.
    """
    return _by_id(manifest, record is not None) or (_by_catalog(manifest, record) if record else "")


def _by_id(manifest: Manifest, known: bool) -> str:
    expected = _expected_id(manifest)
    if expected is None:
        return "" if known else f"no stage gives the id {manifest.id}, and the catalog does not have it"
    if expected == manifest.id:
        return ""
    if manifest.kind in (_RUN, _STEP):
        return f"its inputs name plan {expected.partition('/')[0] or 'none'}, its id is {manifest.id}"
    return f"inputs, configuration and code give the id {expected}, it has {manifest.id}"


def _expected_id(manifest: Manifest) -> str | None:
    """The id that follows from the manifest; None for one that no stage derives."""
    run, _, step = manifest.id.partition("/")
    if not _DERIVED.fullmatch(run) or bool(step) != (manifest.kind == _STEP):
        return None
    if manifest.kind not in (_RUN, _STEP):
        return manifest.derived_id
    plan = next((item.id for item in manifest.inputs if item.kind == _PLAN), "")
    return f"{plan}/{step}" if step else plan


def _by_catalog(manifest: Manifest, record: CatalogRecord) -> str:
    for name, here, there in (
        ("content differs", manifest.content, record.content),
        ("code differs", manifest.code, record.code),
        ("configuration differs", plain(manifest.config), record.config),
        ("facts differ", plain(manifest.facts), record.facts),
    ):
        if here != there:
            return f"its {name} from the catalog's: {_difference(here, there)}"
    for item in record.inputs:
        if item not in manifest.inputs:
            return f"the catalog knows the input {item.kind} {item.id} with content {item.sha256[:12]}, its manifest does not"
    for item in manifest.inputs:
        if item not in record.inputs:
            return f"its manifest names the input {item.kind} {item.id} with content {item.sha256[:12]}, the catalog does not"
    return "" if manifest.inputs == record.inputs else "its inputs are in another order than in the catalog"


def _difference(here: Any, there: Any, name: str = "") -> str:
    """The first key that differs, with both values."""
    if isinstance(here, dict) and isinstance(there, dict):
        for key in sorted(set(here) | set(there)):
            if here.get(key) != there.get(key):
                return _difference(here.get(key), there.get(key), f"{name}.{key}".lstrip("."))
    return f"{name + ': ' if name else ''}expected {_short(there)}, found {_short(here)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return text if len(text) <= 40 else f"{text[:40]}…"
