"""A night's training as it starts and ends: what is noted of a run that did not end, so that the next night continues it."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from tcg_assets.assets.jobs import DIGEST_TAG, NIGHT_TAG
from tcg_assets.trainer.wire import EndedEarly, Refused
from tcg_core.base.home import Home


@contextmanager
def noted(context: dg.AssetExecutionContext, home: Home, run: str) -> Iterator[None]:
    """Around the training of ``run``: turns what the child said of its end into one Failure of one line; of a night's run it
    also notes the start, and how it went."""
    night = context.run.tags.get(NIGHT_TAG, "")
    if night:
        from tcg_core.nightly import unfinished

        unfinished.begin(home, run, night, context.run.tags.get(DIGEST_TAG, ""))
    try:
        yield
    except EndedEarly as ended:
        if night:
            unfinished.told(home, run, str(ended))
        facts: dict[str, str | int] = {"outcome": "unfinished", "reason": ended.reason, **ended.progress}
        raise dg.Failure(description=str(ended), metadata=facts, allow_retries=False) from None
    except Refused as refused:
        if night:
            _refused(home, run, refused)
        raise dg.Failure(description=str(refused), metadata={"error": refused.error}, allow_retries=False) from None
    except Exception as error:
        if night:
            unfinished.told(home, run, str(error).splitlines()[0])
        raise
    if night:
        unfinished.end(home, run)


def _refused(home: Home, run: str, refused: Refused) -> None:
    from tcg_core.nightly import unfinished
    from tcg_core.train.errors import RecoverRefused, TrainerBusy

    if refused.error == TrainerBusy.__name__:
        unfinished.take_back(home, run)
    elif refused.error == RecoverRefused.__name__:
        unfinished.abandon(home, run, str(refused))
    else:
        unfinished.told(home, run, str(refused))
