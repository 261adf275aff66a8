"""`tcg backup`, `tcg restore`, `tcg gc`, `tcg unstick`, `tcg service`, `tcg alert`: keeping a home for a season."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.home import VARIABLE, Home

service_app = typer.Typer(no_args_is_help=True, help="Run webserver and daemon as services of your user.")
alert_app = typer.Typer(no_args_is_help=True, help="Alerts: open incidents, and a test of the webhook.")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(backup)
    app.command()(restore)
    app.command()(gc)
    app.command()(unstick)
    app.add_typer(service_app, name="service")
    app.add_typer(alert_app, name="alert")


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


def restore(
    source: Annotated[Path, typer.Argument(help="What `tcg backup` wrote to.")],
    backup: Annotated[str, typer.Option(help="Which backup by name; the last if left out.")] = "",
) -> None:
    """Fills an empty data home from a backup and verifies every file. Killed, it continues."""
    from tcg_core.ops.restore import restore as run

    home = Home.resolve()
    done = run(home, source, backup)
    print(f"backup {done.record.name}: {done.written} files written to {home.root}, every hash as recorded")
    if done.missing:
        raise ChecksFailed(f"the backup lacks {len(done.missing)} artifacts that its catalog names; the first: {done.missing[0]}")
    print("next: tcg catalog verify, then tcg ui")


def gc(
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without, only tell.")] = False,
    keep: Annotated[list[str] | None, typer.Option(help="Also keep this id with all it was made from (repeatable).")] = None,
    archives: Annotated[bool, typer.Option("--archives", help="Superseded zips may go too.")] = False,
    recent_days: Annotated[int | None, typer.Option(help="Keep everything younger, in days.")] = None,
) -> None:
    """Tells what nothing kept needs any more, and with --apply removes it; retention.json of the data home sets the ages."""
    from tcg_core.ops.clean import clean
    from tcg_core.ops.plan import make_plan
    from tcg_core.ops.retention import read_retention

    home = Home.resolve().prepare()
    retention = read_retention(home)
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
        print(_dagster("history", home, *(["--apply"] if apply else [])))


def unstick(dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell.")] = False) -> None:
    """After a crash: closes runs that Dagster still believes alive, frees their slots, removes what they left."""
    os.environ[VARIABLE] = str(Home.resolve().prepare().root)
    os.execv(sys.executable, [sys.executable, "-m", "tcg_assets.cli.unstick", *(["--dry-run"] if dry_run else [])])


@service_app.command("print")
def print_service(
    kind: Annotated[Literal["systemd", "launchd"], typer.Argument(help="systemd on Linux, launchd on a Mac.")],
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the UI on the loopback interface.")] = 3000,
    to: Annotated[Path | None, typer.Option(help="Write the files into this directory instead.")] = None,
) -> None:
    """Prints the service files of webserver and daemon, with this environment's and this data home's paths."""
    from tcg_core.ops.service import render

    files = render(kind, Home.resolve(), port)
    for name, text in files.items():
        if to is None:
            print(f"# {name}\n{text}" if kind == "systemd" else f"<!-- {name} -->\n{text}")
        else:
            from tcg_core.base.atomic import write_bytes

            write_bytes(to / name, text.encode())
            print(to / name)


@alert_app.command("ls")
def list_alerts() -> None:
    """Lists the open incidents, the first things to do, and where alerts go."""
    from tcg_core.alerts.incidents import channels, open_incidents

    home = Home.resolve().prepare()
    rows = [[o.first_at, o.count, o.incident.title, o.incident.first, o.incident.link] for o in open_incidents(home)]
    table("open incidents", ["since", "times", "what", "first thing to do", "link"], rows)
    print("alerts go to " + ", ".join(channel.name for channel in channels(home)))


@alert_app.command("test")
def test_alert() -> None:
    """Sends one alert to every channel, to see that it arrives."""
    from tcg_core.alerts.incidents import incident, notify, resolve

    home = Home.resolve().prepare()
    found = incident("test", "tcg alert test", "someone asked whether alerts arrive", link="", first="nothing: this is a test")
    try:
        sent = notify(home, found)
    finally:
        resolve(home, found.key)
    table("channels", ["channel", "result"], [[name, result or "sent"] for name, result in sent.results.items()])
    failed = {name: result for name, result in sent.results.items() if result}
    if failed:
        raise ChecksFailed(f"{next(iter(failed))}: {next(iter(failed.values()))}")


def _dagster(module: str, home: Home, *arguments: str) -> str:
    """What a module of tcg_assets says, in a process of its own: tcg_core never imports Dagster."""
    command = [sys.executable, "-m", f"tcg_assets.{module}", *arguments]
    asked = subprocess.run(command, env=os.environ | {VARIABLE: str(home.root)}, capture_output=True, text=True, check=False)
    if asked.returncode:
        told = asked.stderr.strip().splitlines()
        raise ChecksFailed((told[-1] if told else f"exit {asked.returncode}").removeprefix("error: "))
    return asked.stdout.rstrip()


def _size(bytes: int) -> str:
    for unit in ("B", "kB", "MB"):
        if bytes < 1000:
            return f"{bytes:.0f} {unit}"
        bytes //= 1000
    return f"{bytes} GB"
