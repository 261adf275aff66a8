"""quarantine_fraction: how much of a day could not be used."""

from collections import Counter
from collections.abc import Sequence

from tcg_core.base.checks import Check
from tcg_core.catalog.records import INTERNAL, EpisodeRecord

MAX_QUARANTINE_FRAC = 0.01


def quarantine_fraction(records: Sequence[EpisodeRecord], limit: float = MAX_QUARANTINE_FRAC) -> Check:
    """Quarantined episodes are at most ``limit`` of all; each reason is counted and the first episode named."""
    bad = [record for record in records if record.status == "quarantined"]
    fraction = len(bad) / len(records) if records else 0.0
    reasons = Counter(str(record.reason) for record in bad)
    said = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    message = f"{len(bad)} of {len(records)} episodes quarantined ({fraction:.2%}, limit {limit:.2%})"
    if bad:
        message += f": {said}; first {bad[0].member}: {bad[0].detail}"
    if any(reason.startswith(INTERNAL) for reason in reasons):
        message += "; an internal error is a fault of this code: its trace stands in the log"
    return Check("quarantine_fraction", fraction <= limit, message, facts={"fraction": fraction, "reasons": dict(reasons)})
