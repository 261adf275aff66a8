"""module_versions: by which engine the day's episodes were played. A warning: an engine nobody has measured may mean cards and
rules that the encoder has never seen."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from tcg_core.base.checks import Check
from tcg_core.catalog.records import EpisodeRecord

#: kaggle-environments releases of the season whose engine, cards and replays are known.
KNOWN_VERSIONS = (*(f"1.32.{patch}" for patch in range(8)), *(f"1.33.{patch}" for patch in range(3)))


def module_versions(records: Sequence[EpisodeRecord], known: Iterable[str] = KNOWN_VERSIONS) -> Check:
    """Passes for one known version; warns of unknown and of mixed ones, each counted and its first episode named."""
    counts = Counter(str(record.module_version) for record in records if record.status != "quarantined")
    unknown = sorted(set(counts) - set(known))
    told = ", ".join(f"{count} of {version}" for version, count in sorted(counts.items())) or "no episodes"
    problems = [f"unknown version {version}, as in {_first(records, version)}" for version in unknown]
    if len(counts) > 1:
        problems.append(f"{len(counts)} versions in one day, the change is at {_change(records)}")
    message = f"{'; '.join(problems)} ({told})" if problems else told
    return Check("module_versions", not problems, message, "WARN", {"versions": dict(sorted(counts.items())), "unknown": unknown})


def _first(records: Sequence[EpisodeRecord], version: str) -> str:
    return next(record.member for record in records if str(record.module_version) == version)


def _change(records: Sequence[EpisodeRecord]) -> str:
    """The first episode, in the archive's order, of another version than the one before it."""
    kept = [record for record in records if record.status != "quarantined"]
    return next(b.member for a, b in itertools.pairwise(kept) if a.module_version != b.module_version)
