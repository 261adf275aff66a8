"""`tcg backup`, `tcg restore`, `tcg gc`, `tcg unstick`: keeping a home for a season."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.home import Home

if TYPE_CHECKING:
    from tcg_assets.sync.reconcile import Ended


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(backup)
    app.command("restore")(restore_backup)
    app.command()(gc)
    app.command()(unstick)


def backup(
    destination: Annotated[Path, typer.Argument(help="A directory outside the data home; it may hold earlier backups.")],
    keep: Annotated[int, typer.Option(min=0, help="Afterwards forget all but the last KEEP backups; 0 forgets none.")] = 0,
    check: Annotated[bool, typer.Option("--check", help="Make none: read the last one whole and verify it.")] = False,
) -> None:
    """Copies the data home, each content once, verified by hash; nothing needs to stop. Killed, it continues."""
    from tcg_core.ops.backup import backup as run
    from tcg_core.ops.backup import check_backup, prune

    if check:
        record = check_backup(destination)
        print(f"backup {record.name}: {len(record.entries)} files, {_size(record.bytes)}, every hash as recorded")
        return
    done = run(Home.resolve().prepare(), destination)
    print(
        f"backup {done.record.name}: {len(done.record.entries)} files, {_size(done.record.bytes)}; {done.copied} new contents,",
        end="",
    )
    print(f" {_size(done.copied_bytes)} copied")
    if keep:
        gone, freed = prune(destination, keep)
        print(f"forgot {len(gone)} earlier backups, {_size(freed)} freed")
    if done.record.damaged:
        for line in done.record.damaged:
            print(f"  damaged: {line}")
        raise ChecksFailed(
            f"the backup was made, but {len(done.record.damaged)} files of the home are damaged: {done.record.damaged[0]}"
        )


def restore_backup(
    source: Annotated[Path, typer.Argument(help="What `tcg backup` wrote to.")],
    backup: Annotated[str, typer.Option(help="Which backup by name; the last if left out.")] = "",
) -> None:
    """Fills an empty data home from a backup and verifies every file. Killed, it continues."""
    from tcg_core.ops.restore import restore_backup as run

    home = Home.resolve()
    done = run(home, source, backup)
    print(f"backup {done.record.name}: {done.written} files written to {home.root}, every hash as recorded")
    if done.missing:
        raise ChecksFailed(f"the backup lacks {len(done.missing)} artifacts that its catalog names; the first: {done.missing[0]}")
    print("next: tcg catalog verify, then tcg ui")


def gc(
    apply: Annotated[bool, typer.Option("--apply", help="Remove it; without, only list it.")] = False,
    keep: Annotated[list[str] | None, typer.Option(help="Also keep this id and all it was made from (repeatable).")] = None,
    archives: Annotated[bool, typer.Option("--archives", help="Superseded zips may go too.")] = False,
    recent_days: Annotated[int | None, typer.Option(help="Keep everything younger, in days.")] = None,
) -> None:
    """Lists what nothing kept needs, and with --apply removes it; retention.json of the data home sets the ages."""
    from tcg_core.ops.clean import clean
    from tcg_core.ops.maintenance import load_maintenance
    from tcg_core.ops.plan import make_plan
    from tcg_core.ops.retention import read_retention

    home = Home.resolve().prepare()
    history_days, retention = load_maintenance(home).history_days, read_retention(home)
    retention = replace(retention, keep=(*retention.keep, *(keep or ())), archives=retention.archives or archives)
    if recent_days is not None:
        retention = replace(retention, recent_days=recent_days)
    plan = clean(home, retention).plan if apply else make_plan(home, retention)
    rows = [
        [i.action, i.what, i.key[1] if i.key else "", _size(i.bytes), i.why, i.path.relative_to(home.root)] for i in plan.items
    ]
    table("clean-up", ["action", "what", "id", "size", "why", "path"], rows)
    done = f"{_size(plan.freed)} {'freed' if apply else 'would be freed'}; {len(plan.kept)} artifacts are kept"
    print(done if apply or not plan.items else f"{done}; tcg gc --apply does it")
    if home.dagster.is_dir():
        _clean_history(home, history_days, apply)


def _clean_history(home: Home, days: int, apply: bool) -> None:
    """The part of `tcg gc` that is Dagster's own history: runs older than ``days`` that nothing shows."""
    from tcg_assets.automation.history import forget, lines_of, plan_history
    from tcg_assets.sync.instance import open_instance

    with open_instance(home) as instance:
        history = plan_history(instance, home, days)
        print("\n".join(lines_of(history)))
        if apply:
            print(f"{forget(instance, home, history) / 1e6:.1f} MB freed")


def unstick(dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list it.")] = False) -> None:
    """After a crash: closes runs that Dagster still believes alive, frees their slots, removes what they left."""
    from tcg_assets.sync.instance import open_instance
    from tcg_assets.sync.reconcile import reconcile

    home = Home.resolve().prepare()
    with open_instance(home) as instance:
        found = reconcile(instance, home, dry_run=dry_run)
    for run in found.runs:
        print(_ended(run, dry_run))
    would = "would be " if dry_run else ""
    for path in found.temporaries:
        print(f"{would}removed: {path}")
    print(f"{len(found.runs)} runs {would}closed, {len(found.temporaries)} temporaries {would}removed")


def _ended(run: "Ended", dry_run: bool) -> str:
    freed = f", {'would free' if dry_run else 'freed'} a place of pool {', '.join(run.slots)}" if run.slots else ""
    return f"run {run.run_id[:8]} of {run.job}: {run.was} -> {run.now}, {run.reason}{freed}"


def _size(bytes: int) -> str:
    for unit in ("B", "kB", "MB"):
        if bytes < 1000:
            return f"{bytes:.0f} {unit}"
        bytes //= 1000
    return f"{bytes} GB"
