"""Tells Dagster of an artifact that was made without it: one materialization and its checks, outside any run."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from tcg_assets.checks import DECLARED
from tcg_assets.dagster_private import (
    CODE_VERSION_TAG,
    DATA_VERSION_IS_USER_PROVIDED_TAG,
    DATA_VERSION_TAG,
    get_input_data_version_tag,
    get_input_event_pointer_tag,
)
from tcg_assets.graph import graph
from tcg_assets.pages.metadata import describe, manifest_of, ordered
from tcg_assets.pages.observe import submission_origin
from tcg_assets.pages.told import tell_checks
from tcg_assets.sync.held import Held
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import code_version
from tcg_core.base.home import Home
from tcg_core.base.manifest import Manifest
from tcg_core.catalog.registry import Registered

#: Registry kind of an input, where it is not the asset's name.
_INPUT_KINDS = {"mlx_checkpoint": "checkpoint"}


def report(
    held: Held,
    home: Home,
    asset: str,
    row: Registered,
    version: str,
    partition: str | None = None,
    all_checks: bool = True,
    checks: Sequence[Check] | None = None,
    code: str = "",
) -> int:
    """Reports one artifact as the present materialization of ``asset``; returns how many check results came with it:
    all, or without ``all_checks`` none unless one failed. checks: instead of those that the registry recorded; code:
    as whose work the artifact counts, if not that of its manifest."""
    from tcg_core.catalog.registry import checks_of

    instance, declared = held.instance, DECLARED[asset]
    recorded = checks if checks is not None else checks_of(home, row.kind, row.id)
    checks = tuple(c for c in recorded if c.name in declared.error or c.name in declared.warn)
    facts = _archive_facts(home, partition) if asset == "day_archive" and partition else row.facts
    built = Built(row.kind, row.id, row.path, True, checks, facts)
    manifest = manifest_of(built)
    metadata = describe(asset, built, 0.0, partitioned=partition is not None)
    # It was not timed here, and how it came about is told instead.
    metadata = {name: value for name, value in metadata.items() if name not in ("seconds", "reused")}
    if asset == "submission":
        metadata |= submission_origin(home, row.id)
    metadata["reported"] = dg.MetadataValue.text("outside a step, from the registry and the manifest on disk")
    key = dg.AssetKey(asset)
    tags = _tags(held, asset, version, manifest, partition, code)
    instance.report_runless_asset_event(dg.AssetMaterialization(key, metadata=ordered(metadata), partition=partition, tags=tags))
    if not all_checks and all(check.passed for check in checks):
        return 0
    return tell_checks(instance, asset, checks, partition or "")


def _archive_facts(home: Home, day: str) -> dict[str, Any]:
    """What the catalog holds of a lone file that has no manifest."""
    from tcg_core.catalog.connection import catalog

    query = "SELECT members, archive_sha256 AS sha256, directory_digest FROM days WHERE day = ?"
    with catalog(home) as connection:
        return {name: row[name] for row in connection.execute(query, (day,)) for name in row.keys()}  # noqa: SIM118 (a Row)


def _tags(held: Held, asset: str, version: str, manifest: Manifest | None, partition: str | None, code: str) -> dict[str, str]:
    """The tags that a step would have written: versions of code, data and inputs, so that staleness is judged as after a run."""
    tags = {
        CODE_VERSION_TAG: code or (manifest.code if manifest is not None else code_version(asset)),
        DATA_VERSION_TAG: version,
        DATA_VERSION_IS_USER_PROVIDED_TAG: "true",
    }
    nodes = graph.resolve_asset_graph()
    recorded = {} if manifest is None or partition is not None else {item.kind: item.sha256 for item in manifest.inputs}
    for parent in nodes.get(dg.AssetKey(asset)).parent_keys:
        name = parent.to_user_string()
        found = held.days(parent, partition) if nodes.get(parent).partitions_def is not None else held.latest(parent)
        if found is None:
            continue
        # The manifest knows what went in; a parent with partitions is compared by event, its version is only shown.
        known = None if found.by_day else recorded.get(_INPUT_KINDS.get(name, name))
        tags[get_input_data_version_tag(parent)] = known or found.version
        tags[get_input_event_pointer_tag(parent)] = str(found.storage_id)
    return tags
