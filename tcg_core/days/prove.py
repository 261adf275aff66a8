"""Proves that a day of other code is what the present code would build: a sample is encoded again and compared with the disk.

It carries a day over a change of code that is meant to change no row. A change that is meant to raises the version of encoder,
schema or parser, and no sample bridges that: such a day is built again.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as parquet

from tcg_core.base.errors import IntegrityError, TcgError
from tcg_core.base.home import Home, parse_day
from tcg_core.base.manifest import read_manifest, verify_files
from tcg_core.base.progress import track
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.datasets import DatasetRow, datasets_of
from tcg_core.catalog.days import day_row
from tcg_core.days.build import open_taken
from tcg_core.days.code import build_code, of_other_code
from tcg_core.days.compare import Difference, StoredEpisode, first_difference, stored_rows
from tcg_core.days.errors import DayError
from tcg_core.days.evidence import store_proof
from tcg_core.days.layout import EXPECTED, read_episodes
from tcg_core.days.members import ExpectedLane
from tcg_core.days.pool import processed
from tcg_core.days.promote import intact
from tcg_core.days.sample import Sample, draw, types_of_records, types_of_rows
from tcg_core.encode.digest import RowsDigest
from tcg_core.encode.schema import ENCODER_VERSION, SCHEMA
from tcg_core.replay.archive import Archive
from tcg_core.replay.episode import PARSER_VERSION
from tcg_core.rows.digest import fill_digests
from tcg_core.rows.reader import ROWS

State = Literal["current", "proven", "equal", "different", "rebuild", "failed"]


@dataclass(frozen=True)
class Proven:
    """How the proof of a day ended.

    state: ``current`` (this code built it), ``proven`` (it was proven before), ``equal`` (it is proven now), ``different`` (it is
    stale), ``rebuild`` (another version, which no sample bridges), ``failed`` (refused). line: why, in words; compared, of:
    episodes.
    """

    day: str
    dataset_id: str
    state: State
    line: str
    compared: int = 0
    of: int = 0
    seconds: float = 0.0
    difference: Difference | None = None

    @property
    def carried(self) -> bool:
        """Whether the day counts as built by this code."""
        return self.state in ("current", "proven", "equal")


def present_versions() -> dict[str, str]:
    """What a build must have been made with to be proven."""
    return {"encoder": ENCODER_VERSION, "schema": SCHEMA.digest, "parser": str(PARSER_VERSION)}


def versions_of_build(directory: Path) -> dict[str, str]:
    """Encoder, schema and parser version of a built day. A build from before the parser had a number is of its first.

    Raises :class:`IntegrityError` naming a file that cannot be read.
    """
    manifest = read_manifest(directory)
    try:
        metadata = parquet.read_metadata(directory / ROWS).metadata or {}
    except (OSError, ValueError) as error:
        raise IntegrityError(f"{directory / ROWS} cannot be read as Parquet: {error}") from None
    encoder = metadata.get(b"tcg.encoder_version", b"absent").decode()
    return {
        "encoder": encoder,
        "schema": str(manifest.config["schema"]),
        "parser": str(manifest.facts.get("parser_version", 1)),
    }


def why_rebuild(directory: Path) -> str:
    """Which version forbids a proof, with the remedy; "" if none does."""
    before, now = versions_of_build(directory), present_versions()
    for name in before:
        if before[name] != now[name]:
            return f"{name} version {before[name][:12]}, this code has {now[name][:12]}: its rows are meant to change"
    return ""


def prove_days(home: Home, days: Sequence[str], workers: int = 1) -> Iterator[Proven]:
    """:func:`prove_day` of each, in order; one that is refused is ``failed`` and stops no other."""
    for day in days:
        try:
            yield prove_day(home, day, workers)
        except (TcgError, OSError) as error:
            yield Proven(day, "", "failed", str(error))


def prove_day(home: Home, day: str, workers: int = 1) -> Proven:
    """Proves the validated dataset of ``day`` under the present code; equal, it counts as built by it from then on.

    Raises :class:`DayError` if there is none, if its files are not as recorded or its archive is another one, and
    :class:`IntegrityError` for a changed archive.
    """
    started = time.monotonic()
    row, why = _validated(home, day)
    if why:
        return Proven(day, row.dataset_id, "current" if row.code == build_code() else "proven", why)
    directory = home.root / row.path
    try:
        verify_files(directory)
        # Another schema cannot be read at all: it is told apart from damage before the rows are looked at.
        why = why_rebuild(directory)
        message = "" if why else _damage(directory, row)
    except IntegrityError as error:
        why, message = "", str(error)
    if why:
        return Proven(day, row.dataset_id, "rebuild", f"{why}; `tcg backfill {day} {day}` builds it again")
    if message:
        raise DayError(f"day {day}: dataset {row.dataset_id} is not what was recorded: {message}; `tcg day verify {day}`")
    fill_digests(home, [day])
    row, _ = _validated(home, day)
    with catalog(home) as connection:
        taken = day_row(connection, day)
    if taken.archive_sha256 != row.archive_sha256:
        raise DayError(f"day {day} has another archive than its dataset {row.dataset_id}: `tcg backfill {day} {day}`")
    with open_taken(home, taken) as archive:
        samples, digests, difference = _compare(archive, day, directory, workers)
    compared, of = (sum(f(sample) for sample in samples.values()) for f in (lambda s: len(s.episodes), lambda s: s.of))
    seconds = time.monotonic() - started
    if difference is not None:
        return Proven(day, row.dataset_id, "different", str(difference), compared, of, seconds, difference)
    proof = store_proof(home, row, build_code(), present_versions(), samples, digests, seconds)
    line = f"{compared} of {of} episodes are what this code makes of them; evidence {proof.evidence}"
    return Proven(day, row.dataset_id, "equal", line, compared, of, seconds)


def _validated(home: Home, day: str) -> tuple[DatasetRow, str]:
    """The validated dataset, and why it needs no proof ("" if it does)."""
    parse_day(day)
    with catalog(home) as connection:
        rows, other = datasets_of(connection, day, "validated"), of_other_code(connection)
    if not rows:
        raise DayError(f"day {day} has no validated dataset to prove")
    [row] = rows
    if (day, row.dataset_id) in other:
        return row, ""
    code = build_code()
    return row, f"built by this code ({code})" if row.code == code else f"proven before under this code ({code})"


def _damage(directory: Path, row: DatasetRow) -> str:
    check = intact(directory, row)
    return "" if check.passed else check.message


def _compare(
    archive: Archive, day: str, directory: Path, workers: int
) -> tuple[dict[str, Sample], dict[str, str], Difference | None]:
    """The samples, the hash of all rows compared, and the first difference."""
    records, decks = read_episodes(directory)
    known = {record.episode_id: record for record in records}
    code = build_code()
    samples = {
        "rows": draw(types_of_rows(directory), day, code),
        **{status: draw(types_of_records(records, status), day, code) for status in ("excluded", "quarantined")},
    }
    wanted = {id for sample in samples.values() for id in sample.episodes}
    members = [member for member in archive.members if member.episode_id in wanted]
    lanes = _lanes(directory)
    on_disk = stored_rows(directory, frozenset(samples["rows"].episodes))
    total = RowsDigest()
    results = processed(archive, day, frozenset(), workers, members)
    for member, made in zip(members, track(results, f"prove {day}", len(members), "episodes"), strict=True):
        record = known[member.episode_id]
        id, columns = next(on_disk, (0, None)) if record.status == "rows" else (member.episode_id, None)
        if id != member.episode_id:
            raise IntegrityError(f"{directory / ROWS}: rows of episode {id}, expected {member.episode_id}")
        if columns is not None:
            total.add(columns)
        difference = first_difference(StoredEpisode(record, decks, lanes.get(member.episode_id, ()), columns), made)
        if difference is not None:
            return samples, {}, difference
    return samples, {"rows": total.hexdigest()}, None


def _lanes(directory: Path) -> dict[int, tuple[ExpectedLane, ...]]:
    found: dict[int, tuple[ExpectedLane, ...]] = {}
    values: list[dict[str, Any]] = parquet.read_table(directory / EXPECTED).to_pylist()
    for lane in (ExpectedLane(**value) for value in values):
        found[lane.episode_id] = (*found.get(lane.episode_id, ()), lane)
    return found
