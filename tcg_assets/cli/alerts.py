"""`tcg alert`: open incidents, and whether alerts arrive."""

import typer

from tcg_assets.cli.show import ChecksFailed, table
from tcg_core.base.home import Home

app = typer.Typer(no_args_is_help=True, help="Alerts: open incidents, and a test of every channel.")


@app.command("ls")
def list_alerts() -> None:
    """Lists the open incidents, the first things to do, and where alerts go."""
    from tcg_core.alerts.incidents import channels, open_incidents

    home = Home.resolve().prepare()
    rows = [[o.first_at, o.count, o.incident.title, o.incident.first, o.incident.link] for o in open_incidents(home)]
    table("open incidents", ["since", "times", "what", "first thing to do", "link"], rows)
    print("alerts go to " + ", ".join(channel.name for channel in channels(home)))


@app.command("test")
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
