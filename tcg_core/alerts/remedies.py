"""The first thing to do about what failed, by the step that failed."""

#: By step (asset or multi-asset) of the Dagster graph; ``{partition}`` is the day of a day's step.
FIRST = {
    "day_archive": "see whether inbox/{partition}.zip is whole (unzip -t); replace it, then materialize the day again",
    "build_day": "open the day's failed check; quarantine/{partition}.jsonl names each episode that could not be used",
    "parquet_day": "open the failed check; `tcg day build {partition}` builds the day again from its archive",
    "field_drift": "look at the day's plot; an unknown engine version needs that engine installed before its games are used",
    "ratings": "run `tcg catalog ratings`; it names the day whose games cannot be rated",
    "card_features": "run `tcg doctor`: is the engine that these games need installed?",
    "work_plan": "read the message: the filter that left nothing, or the check that failed; `tcg status` lists the days",
    "mlx_checkpoint": "start `nightly` again: it continues from `latest`; if it fails again, read its log and `tcg doctor`",
    "torch_artifact": "open the failed check: leaf names, parity or reload; do not submit; the checkpoint itself stays",
    "submission": "open the preflight's message; `tcg submit check ARCHIVE` repeats it outside Dagster",
    "tournament": "start `nightly` again: games that were played are not played twice",
    "champion": "read the verdict; a decision against a champion that was replaced meanwhile is made again by `nightly`",
    "audit_days": "open the run: its table names the day; `tcg day verify` does the same by hand",
    "back_up": "open the run: is the disk there, and large enough? what is damaged in the home is named",
    "clean_up": "read the message: retention.json or maintenance.json of the data home; `tcg gc` does the same by hand",
}
#: By how the message of a step begins, where that says more than the step; as `tcg_core.train.errors.UNFINISHED`.
BY_MESSAGE = {
    ("mlx_checkpoint", "unfinished:"): "nothing: the next night goes on from `latest`; sooner, start the same run again",
}
FALLBACK = "open the run's log; after a crash of the machine run `tcg unstick`, then start the job again"


def first_step(step: str, partition: str, message: str = "") -> str:
    """One sentence a person can act on."""
    for (failed, beginning), first in BY_MESSAGE.items():
        if step == failed and message.startswith(beginning):
            return first
    return FIRST.get(step, FALLBACK).format(partition=partition or "DATE")
