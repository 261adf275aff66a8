"""`tcg doctor` and `tcg status`: is this machine ready, and where does the data home stand."""

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.errors import TcgError
from tcg_core.base.home import Home


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(doctor)
    app.command()(status)


def doctor() -> None:
    """Checks engine, BLAS, torch, MLX, disk and credentials; each finding comes with its remedy."""
    from tcg_core.ops.doctor import examine

    findings = examine(Home.resolve())
    table("doctor", ["what", "state", "found", "remedy"], [[f.what, f.state, f.found, f.remedy] for f in findings])
    broken = [finding for finding in findings if finding.state == "FAIL"]
    if broken:
        raise ChecksFailed(f"{broken[0].what}: {broken[0].found}; {broken[0].remedy}")


def status() -> None:
    """Shows days, artifacts and the automation's switches."""
    from tcg_core.alerts.incidents import open_incidents
    from tcg_core.alerts.watch import findings
    from tcg_core.catalog.behind import catalog_behind
    from tcg_core.catalog.registry import list_artifacts
    from tcg_core.days.absent import absences
    from tcg_core.days.states import listed_days, stale_line
    from tcg_core.lineage.days import warnings
    from tcg_core.nightly.unfinished import lines_of

    home = Home.resolve().prepare()
    print(f"data home {home.root}")
    if line := catalog_behind(home):
        print(f"WARN: {line}")
    table("inbox", ["archive"], [[path.name] for path in sorted(home.inbox.glob("*.zip"))])
    for title, found in (("days", listed_days(home)), ("artifacts", list_artifacts(home))):
        table(title, list(found[0]) if found else [], [list(row.values()) for row in found])
    for absence in absences(home):
        print(f"{absence.day}: {absence.state}: {absence.line}")
    if line := stale_line(home):
        print(line)
    for line in lines_of(home):
        print(f"nightly: {line}")
    for line in warnings(home):
        print(f"WARN: {line}")
    for held in open_incidents(home):
        print(f"WARN: {held.incident.title} ({held.count} times since {held.first_at}); first: {held.incident.first}")
    reported = {held.incident.key for held in open_incidents(home)}
    for late in findings(home, nightly=False):
        # What the daemon would report if it ran.
        if late.key not in reported:
            print(f"WARN: {late.title}: {late.what}; first: {late.first}")
    print(f"automation:\n{_automation(home)}")


def _automation(home: Home) -> str:
    """Which sensors and schedules are on; why it is not known if Dagster's home or definitions refuse."""
    from tcg_assets.sync.instance import open_instance
    from tcg_assets.sync.switches import daemon_line, switches

    try:
        from tcg_assets.definitions import defs

        with open_instance(home) as instance:
            return "\n".join([*(f"  {switch.line}" for switch in switches(instance, defs)), daemon_line(instance)])
    except TcgError as error:
        return f"not known: {error}"
