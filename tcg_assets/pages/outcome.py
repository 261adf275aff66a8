"""From what a stage built to what Dagster shows: the one place where the two meet."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg

from tcg_assets.checks import severity_of
from tcg_assets.pages.metadata import data_version, describe, fact_value, ordered
from tcg_core.base.built import Built
from tcg_core.base.checks import Check
from tcg_core.base.code import PRODUCERS
from tcg_core.base.errors import TcgError
from tcg_core.base.same_code import require_same
from tcg_core.catalog.registry import plain
from tcg_core.encode.errors import EncodeError
from tcg_core.model.config import ModelError

#: What a stage says to a person. The packed parts know no TcgError and have their own.
REFUSALS = (TcgError, ModelError, EncodeError)


@dataclass(frozen=True)
class Ran:
    """A stage that has run: what it built and how long it took."""

    built: Built
    seconds: float


def run_stage(context: dg.AssetExecutionContext, stage: Callable[[], Built]) -> Ran:
    """Runs a stage; its progress lines go to the run's log, a refusal becomes one Failure of one line."""
    started = time.monotonic()
    with relayed_log(context.log), refusals():
        require_same(*(name for key in context.selected_asset_keys if (name := key.to_user_string()) in PRODUCERS))
        built = stage()
    return Ran(built, time.monotonic() - started)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns a refusal into a Failure that says the same; a retry would meet the same refusal."""
    try:
        yield
    except REFUSALS as error:
        raise dg.Failure(description=str(error), metadata={"error": type(error).__name__}, allow_retries=False) from error


@contextmanager
def relayed_log(log: dg.DagsterLogManager) -> Iterator[None]:
    """Sends lines of the ``tcg`` logger to the log of the run."""
    logger = logging.getLogger("tcg")
    handler, level = _Relay(log), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def materialized(
    context: dg.AssetExecutionContext,
    key: str,
    ran: Ran,
    *,
    checks: Sequence[Check] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> dg.MaterializeResult[Any]:
    """The result of asset ``key``.

    checks: those of the asset, if the stage feeds several; extra: further metadata, text or Dagster's values. A set of
    checks that is not the declared one is a Failure.
    """
    chosen = ran.built.checks if checks is None else tuple(checks)
    day = context.partition_key if context.has_partition_key else ""
    for check in chosen:
        log = context.log.info if check.passed else context.log.error if check.blocks else context.log.warning
        log(f"{key}: {check.name} {'passed' if check.passed else 'FAILED'}: {check.message}")
    metadata = describe(key, replace(ran.built, checks=chosen), ran.seconds, partitioned=bool(day))
    return dg.MaterializeResult(
        asset_key=key,
        metadata=ordered(metadata | dict(extra or {})),
        data_version=dg.DataVersion(data_version(ran.built)),
        check_results=check_results(key, chosen, day),
    )


def check_results(key: str, checks: Sequence[Check], day: str = "") -> list[dg.AssetCheckResult]:
    """Results in Dagster's words, which name the ``day``: a check of Dagster has one state, whatever the partition.

    Raises a Failure when names or severities are not those declared for ``key``.
    """
    declared = severity_of(key)
    found = {check.name: check.severity for check in checks}
    if len(found) != len(checks) or found != declared:
        differing = sorted(set(found.items()) ^ set(declared.items()))
        raise dg.Failure(
            description=f"{key}: the stage's checks are not those declared in tcg_assets/checks: {differing}", allow_retries=False
        )
    return [
        dg.AssetCheckResult(
            asset_key=key,
            check_name=check.name,
            passed=check.passed,
            severity=dg.AssetCheckSeverity[check.severity],
            description=check_text(check, day),
            metadata=check_metadata(check, day),
        )
        for check in checks
    ]


def check_text(check: Check, day: str) -> str:
    """The message of a check, after the day it is about."""
    return f"{day}: {check.message}" if day else check.message


def check_metadata(check: Check, day: str) -> dict[str, Any]:
    """The facts of a check and the day it is about."""
    found = {name: fact_value(value) for name, value in plain(check.facts).items()}
    return found | ({"day": dg.MetadataValue.text(day)} if day else {})


class _Relay(logging.Handler):
    def __init__(self, log: dg.DagsterLogManager) -> None:
        super().__init__(logging.INFO)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        self._log.log(record.levelno, record.getMessage())
