# mypy: disable-error-code="untyped-decorator"
"""Jobs that keep a home for months: the audit of its days, its backup, its clean-up. Each also runs from the launchpad."""

from typing import Any

import dagster as dg
from pydantic import Field

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.history import forget, plan_history
from tcg_assets.pages.outcome import refusals, relayed_log
from tcg_assets.sync.damage import report_damage
from tcg_core.base.home import parse_day
from tcg_core.ops.maintenance import backing_up_to, load_maintenance

#: One of these at a time, and never both places of the queue: dagster.yaml limits the tag.
MAINTENANCE_TAG = {"tcg/maintenance": "yes"}
#: Rows of a table on a run's page; the log has all.
_SHOWN = 500
_HOURS = 3600


class AuditConfig(dg.Config):
    """What is read."""

    days: list[str] = Field(default=[], description="Validated days, YYYY-MM-DD; empty: those whose turn it is")


class BackupConfig(dg.Config):
    """Where to."""

    to: str = Field(default="", description="An absolute directory outside the data home; empty: backup_to of maintenance.json")


class RetentionConfig(dg.Config):
    """Whether it is only told."""

    apply: bool = Field(default=False, description="Remove it; else only if retention_apply of maintenance.json says so")


@dg.op(out=dg.Out(dg.Nothing))
def audit_days(context: dg.OpExecutionContext, config: AuditConfig, workspace: Workspace) -> Any:
    """Reads validated days and their archives whole; a damaged day goes out of selection and is shown as failed."""
    from tcg_core.ops.audit import audit, named, share, turn

    home = workspace.home()
    with relayed_log(context.log), refusals():
        settings = load_maintenance(home)
        held = turn(home)
        due = named(home, [parse_day(day) for day in config.days]) if config.days else share(held, settings.audit_nights)
        done = []
        for item in audit(home, due, 0 if config.days else settings.audit_minutes):
            done.append(item)
            told = (
                f"{len(done)} of {len(due)}: {item.due.day} {item.result}, {item.due.bytes / 1e6:.0f} MB in {item.seconds:.1f} s"
            )
            (context.log.info if item.result == "intact" else context.log.error)(f"{told}: {item.reason}")
    report_damage(context.instance, home)
    results = [item.result for item in done]
    oldest = min((item.read_at or "never" for item in turn(home)), default="")
    columns = ["day", "result", "reason", "MB", "seconds", "read before"]
    rows = [
        [i.due.day, i.result, i.reason, round(i.due.bytes / 1e6, 1), round(i.seconds, 2), i.due.read_at or "never"]
        for i in sorted(done, key=lambda i: (i.result == "intact", i.due.day))
    ]
    metadata: dict[str, Any] = {
        "days": table(columns, rows),
        "read": len(done),
        "not_reached": len(due) - len(done),
        "validated": len(held),
        "damaged": results.count("damaged"),
        "archives_damaged": results.count("archive damaged"),
        "bytes": sum(item.due.bytes for item in done if not item.skipped),
        "seconds": round(sum(item.seconds for item in done), 1),
        "longest_unread_since": oldest,
    }
    yield dg.Output(None, metadata=metadata)


@dg.op(out=dg.Out(dg.Nothing))
def back_up(context: dg.OpExecutionContext, config: BackupConfig, workspace: Workspace) -> Any:
    """Copies the home to the configured directory, each content once, verified by hash; older backups are forgotten."""
    from tcg_core.ops.backup import backup as run
    from tcg_core.ops.backup import prune
    from tcg_core.ops.errors import BackupError

    home = workspace.home()
    with relayed_log(context.log), refusals():
        settings = backing_up_to(load_maintenance(home), config.to)
        if settings.destination is None:
            raise BackupError("no destination: set backup_to in maintenance.json, or `to` in the launchpad")
        done = run(home, settings.destination)
        gone, freed = prune(settings.destination, settings.backup_keep)
    metadata: dict[str, Any] = {
        "backup": done.record.name,
        "destination": dg.MetadataValue.path(str(settings.destination)),
        "files": len(done.record.entries),
        "bytes": done.record.bytes,
        "new_contents": done.copied,
        "new_bytes": done.copied_bytes,
        "forgotten": len(gone),
        "forgotten_bytes": freed,
        "damaged": table(["file"], [[line] for line in done.record.damaged]),
    }
    if done.record.damaged:
        told = f"the backup was made, but {len(done.record.damaged)} files of the home are damaged: {done.record.damaged[0]}"
        raise dg.Failure(description=told, metadata=metadata, allow_retries=False)
    yield dg.Output(None, metadata=metadata)


@dg.op(out=dg.Out(dg.Nothing))
def clean_up(context: dg.OpExecutionContext, config: RetentionConfig, workspace: Workspace) -> Any:
    """Tells what nothing kept needs any more, of the home and of Dagster's own history; removes it only if that is set."""
    from tcg_core.ops.clean import clean
    from tcg_core.ops.errors import OpsBusy
    from tcg_core.ops.plan import make_plan
    from tcg_core.ops.retention import read_retention
    from tcg_core.train.errors import TrainerBusy

    home, instance = workspace.home(), context.instance
    result, freed = "only told: set retention_apply in maintenance.json, or `apply` in the launchpad", 0
    with relayed_log(context.log), refusals():
        settings, retention = load_maintenance(home), read_retention(home)
        plan = make_plan(home, retention)
        history = plan_history(instance, home, settings.history_days)
        context.log.info(history.line)
        if config.apply or settings.retention_apply:
            try:
                cleaned = clean(home, retention)
                freed = cleaned.freed + forget(instance, home, history)
                plan, result = cleaned.plan, "done"
            except (OpsBusy, TrainerBusy) as error:
                result = f"not done, the next time comes again: {error}"
    context.log.info(f"clean-up: {result}")
    rows = [[i.action, i.what, i.key[1] if i.key else "", i.bytes, i.why, str(i.path.relative_to(home.root))] for i in plan.items]
    metadata: dict[str, Any] = {
        "may_go": table(["action", "what", "id", "bytes", "why", "path"], rows),
        "may_go_bytes": plan.freed,
        "kept": len(plan.kept),
        "history_runs": len(history.old),
        "history_bytes": history.bytes,
        "history": history.line,
        "result": result,
        "freed_bytes": freed,
    }
    yield dg.Output(None, metadata=metadata)


def table(columns: list[str], rows: list[list[Any]]) -> dg.TableMetadataValue:
    """Rows as the UI shows a table, at most the first 500."""
    records = [dg.TableRecord(dict(zip(columns, row, strict=True))) for row in rows[:_SHOWN]]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(name) for name in columns]))


@dg.job(tags=MAINTENANCE_TAG | {"dagster/max_runtime": str(12 * _HOURS)}, description="Read validated days again, in turn.")
def audit() -> None:
    """One op."""
    audit_days()


@dg.job(tags=MAINTENANCE_TAG | {"dagster/max_runtime": str(12 * _HOURS)}, description="Back the data home up, incrementally.")
def backup() -> None:
    """One op."""
    back_up()


@dg.job(tags=MAINTENANCE_TAG | {"dagster/max_runtime": str(2 * _HOURS)}, description="Tell, or remove, what nothing needs.")
def retention() -> None:
    """One op."""
    clean_up()
