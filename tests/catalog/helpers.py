"""Days made by hand, for tests of the catalog alone."""

from pathlib import Path

from tcg_core.base.atomic import publishing, write_json
from tcg_core.base.digest import sha256_bytes
from tcg_core.base.home import Home
from tcg_core.base.manifest import Input, Manifest, artifact_id, hash_files, write_manifest
from tcg_core.catalog.connection import catalog, transaction
from tcg_core.catalog.datasets import stage, validate
from tcg_core.catalog.days import record_archive, record_episodes
from tcg_core.catalog.files import remember
from tcg_core.catalog.records import DatasetRecord, EpisodeRecord, GameRecord, Participant
from tcg_core.lineage.graph import registered

DECK = sha256_bytes(b"deck")


def episode(
    episode_id: int, rows: int = 10, content: str = "", generation: str = "v1", names: tuple[str, str] = ("a", "b")
) -> EpisodeRecord:
    """One game of ``rows`` rows that seat 0 won."""
    return EpisodeRecord(
        member=f"{episode_id}.json",
        episode_id=episode_id,
        status="rows",
        content_hash=sha256_bytes((content or str(episode_id)).encode()),
        generation=generation,
        module_version="1.32.7",
        best_of=1,
        seats=(Participant(names[0], DECK), Participant(names[1], DECK)),
        games=(GameRecord(0, 1, 1, None, 0, (0, 3), rows, rows),),
    )


def code_of(day: str, archive: str, episodes: int) -> str:
    """Stands for the code of a build: what the id of :func:`add_day` follows from."""
    return f"{day} {archive} {episodes}"


def add_day(
    home: Home,
    day: str,
    episodes: list[EpisodeRecord],
    archive: str = "zip",
    validated: bool = True,
    rows_digest: str | None = None,
) -> Path:
    """A day with these episodes and a file that stands for its rows."""
    sha = sha256_bytes(f"{day}{archive}".encode())
    dataset_id = artifact_id("parquet_day", (), {}, code_of(day, archive, len(episodes)))
    data = f"{day} {archive} {len(episodes)}".encode()
    relative = f"days/{day}/{sha256_bytes(data)[:12]}"
    path = home.root / relative / "rows.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    generations = tuple(sorted({e.generation for e in episodes if e.generation}))
    record = DatasetRecord(
        dataset_id,
        day,
        relative,
        sha256_bytes(data),
        len(data),
        sum(e.rows for e in episodes),
        len(episodes),
        1,
        generations,
        "s",
        "c",
        sha,
        rows_digest,
    )
    with catalog(home) as connection, transaction(connection):
        record_archive(connection, day, sha, f"archives/{day}/{sha}.zip", 100, max(1, len(episodes)), "d")
        record_episodes(connection, day, episodes, {DECK: [1] * 60})
        stage(connection, record)
        if validated:
            validate(connection, day, dataset_id, relative)
            remember(connection, path, f"{relative}/rows.parquet", record.sha256)
    return path


def planned(home: Home, run: str, days: tuple[str, ...], parent: str = "") -> None:
    """A plan over the validated files of ``days``, as far as what a run has seen is read from it."""
    with catalog(home) as connection:
        files = {row["day"]: row["sha256"] for row in connection.execute("SELECT * FROM datasets WHERE state = 'validated'")}
    inputs = (Input("checkpoint", parent, "0" * 64),) if parent else ()
    with publishing(home.plans / run) as temporary:
        write_json(temporary / "summary.json", {"days": [{"day": day, "sha256": files[day]} for day in days]})
        write_manifest(temporary, Manifest("work_plan", run, inputs, {}, "code", {}, hash_files(temporary)))


def users_of(home: Home, kind: str, id: str) -> list[tuple[str, str]]:
    """(kind, id) of every artifact made from this one, directly or through others."""
    with catalog(home) as connection:
        return [visit.key for visit in registered(connection).forward((kind, id))][1:]
