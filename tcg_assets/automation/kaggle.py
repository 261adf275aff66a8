# mypy: disable-error-code="untyped-decorator"
"""Days from Kaggle's index into the inbox: a sensor, off until it is switched on, and the job it starts."""

import time

import dagster as dg
from pydantic import Field

from tcg_assets.assets.resources import Workspace
from tcg_assets.automation.at_work import at_work
from tcg_assets.automation.attempts import Backoff, next_attempt
from tcg_assets.pages.outcome import refusals, relayed_log
from tcg_core.base.errors import TcgError

#: Seconds between two looks at the index; it is also the pause before a failed download is continued.
_INTERVAL = 1800
#: Days a run downloads: about 700 MB each.
_MOST_A_RUN = 3
#: Tag of a run for each of its days, by which a later look finds what failed.
_TAG = "tcg/fetch/"
#: A broken download must neither fill the log every half hour nor hold up the days behind it.
_BACKOFF = Backoff(1800.0, longest=24 * 3600.0)


class FetchConfig(dg.Config):
    """Which days to download."""

    days: list[str] = Field(description="Days, YYYY-MM-DD, as Kaggle's index names them")


@dg.op
def fetch_days(context: dg.OpExecutionContext, config: FetchConfig, workspace: Workspace) -> None:
    """Downloads days into the inbox, where the inbox sensor takes them; an interrupted download is continued."""
    from tcg_core.fetch import days, remote

    home = workspace.home()
    with relayed_log(context.log), refusals():
        source = remote.KaggleRemote()
        done = days.fetch_days(home, source, days.named(days.published_days(home, source), config.days))
    for fetched in done.fetched:
        context.log.info(f"{fetched.day}: {fetched.bytes} bytes, {fetched.members} episodes, in the inbox")
    for day in done.held:
        context.log.info(f"{day}: was here already")
    if done.failed:
        told = "; ".join(f"{day}: {why}" for day, why in done.failed)
        raise dg.Failure(description=f"{len(done.failed)} of {len(config.days)} days could not be fetched: {told}")


@dg.job(description="Day archives from Kaggle into the inbox, by name.")
def fetch() -> None:
    """One op."""
    fetch_days()


@dg.sensor(
    job=fetch,
    minimum_interval_seconds=_INTERVAL,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Downloads days that Kaggle published; needs credentials",
)
def kaggle_sensor(context: dg.SensorEvaluationContext, workspace: Workspace) -> dg.RunRequest | dg.SkipReason:
    """Starts `fetch` for published days that are new here or were missed lately; needs Kaggle credentials and says so."""
    from tcg_core.fetch import days, remote
    from tcg_core.fetch.arrivals import new_days

    running = at_work(context.instance, fetch.name)
    if running:
        return dg.SkipReason(running)
    home = workspace.home()
    try:
        index = days.published_days(home, remote.KaggleRemote())
    except TcgError as error:
        return dg.SkipReason(f"Kaggle's index was not read: {error}")
    wanted = [item.day for item in new_days(index, days.held_days(home))]
    if not wanted:
        return dg.SkipReason(f"nothing new: the newest of {len(index)} published days is here")
    now = time.time()
    attempts = {day: next_attempt(context.instance, {f"{_TAG}{day}": "asked"}, _BACKOFF, now) for day in wanted}
    held = {day: f"{day}: {attempt.held}" for day, attempt in attempts.items() if attempt.held}
    for line in held.values():
        context.log.info(line)
    due = [day for day in wanted if day not in held][:_MOST_A_RUN]
    if not due:
        return dg.SkipReason("; ".join(held.values()))
    config = {"ops": {"fetch_days": {"config": {"days": due}}}}
    return dg.RunRequest(run_config=config, tags={f"{_TAG}{day}": "asked" for day in due})
