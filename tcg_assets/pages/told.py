"""Tells, outside any run, what a page shows of an asset: its checks again, and its materialization with more on it."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from tcg_assets.dagster_private import AssetCheckEvaluationTargetMaterializationData
from tcg_assets.pages.metadata import ordered
from tcg_assets.pages.outcome import check_metadata, check_text
from tcg_core.base.checks import Check


def tell_checks(instance: dg.DagsterInstance, asset: str, checks: Sequence[Check], partition: str = "") -> int:
    """Check results of the latest materialization of ``asset``; returns how many."""
    key = dg.AssetKey(asset)
    [latest] = instance.fetch_materializations(key, limit=1).records
    target = AssetCheckEvaluationTargetMaterializationData(
        storage_id=latest.storage_id, run_id=latest.run_id, timestamp=latest.timestamp
    )
    for check in checks:
        evaluation = dg.AssetCheckEvaluation(
            asset_key=key,
            check_name=check.name,
            passed=check.passed,
            metadata=check_metadata(check, partition),
            target_materialization_data=target,
            severity=dg.AssetCheckSeverity[check.severity],
            description=check_text(check, partition),
            blocking=check.severity == "ERROR",
        )
        instance.report_runless_asset_event(evaluation)
    return len(checks)


def tell_again(
    instance: dg.DagsterInstance, before: dg.AssetMaterialization, more: Mapping[str, Any], checks: Sequence[Check]
) -> None:
    """The materialization ``before`` once more, with ``more`` on its page. An Overview shows a materialization and never its
    observations. Versions and inputs stay what they were, so nothing downstream becomes unsynced."""
    metadata = ordered(dict(before.metadata) | dict(more))
    told = dg.AssetMaterialization(before.asset_key, metadata=metadata, tags=dict(before.tags or {}))
    instance.report_runless_asset_event(told)
    tell_checks(instance, before.asset_key.to_user_string(), checks)
