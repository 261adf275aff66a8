"""All attack options of an archive: from the cache where they were looked at before, else by the engine."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import write_json
from tcg_core.base.code import code_version
from tcg_core.base.digest import sha256_json
from tcg_core.base.progress import phase
from tcg_core.engine.library import GENERATIONS, engine_version
from tcg_core.lookahead.attack import Verdict
from tcg_core.lookahead.episode import Key, Looked
from tcg_core.lookahead.isolate import look_at_members
from tcg_core.lookahead.settings import WouldKo
from tcg_core.lookahead.table import write_table
from tcg_core.replay.archive import Archive, Member


def compute_would_ko(
    archive: Archive,
    decks: Mapping[str, Sequence[int]],
    settings: WouldKo,
    directory: Path,
    cache: Path,
    workers: int,
    episodes: Collection[int] | None = None,
) -> dict[str, Any]:
    """Writes ``would_ko.parquet`` into ``directory`` and returns its counts, ``from_cache`` among them.

    decks: the day's decks by hash, from which the opponent's list is guessed. cache: where each member's result is kept, by all
    that decides it. episodes: ids of those that have rows, so that a quarantined one is not read again; None for all. The result
    does not depend on ``workers``.
    """
    known = tuple(tuple(decks[key]) for key in sorted(decks))
    base = [described(settings), sha256_json(known)]
    files = {
        position: _file(cache, base, member)
        for position, member in enumerate(archive.members)
        if episodes is None or member.episode_id in episodes
    }
    found: dict[int, list[Looked]] = {position: _read(path) for position, path in files.items() if path.is_file()}
    waiting = [position for position in files if position not in found]
    with phase("would-KO", len(files), "episodes") as advance:
        advance(len(found))

        def done(position: int, looked: list[Looked]) -> None:
            write_json(files[position], [asdict(item) for item in looked])
            found[position] = looked
            advance(1)

        cached = len(found)
        look_at_members(archive.path, waiting, known, settings, workers, done)
    return write_table(directory, [item for position in sorted(found) for item in found[position]]) | {"from_cache": cached}


def described(settings: WouldKo) -> dict[str, Any]:
    """All that decides a result beside the archive: settings, code and the engines installed. It is part of the day's identity,
    and a plan takes no days in which it differs."""
    engines = {name: engine_version(name).library_sha256 for name in GENERATIONS}
    return asdict(settings) | {"code": code_version("would_ko"), "engines": engines}


def _file(cache: Path, base: list[Any], member: Member) -> Path:
    key = sha256_json([base, member.name, member.size, member.crc])
    return cache / key[:2] / f"{key}.json"


def _read(path: Path) -> list[Looked]:
    values = json.loads(path.read_text())
    return [Looked(Key(**v["key"]), tuple(Verdict(**verdict) for verdict in v["verdicts"]), v["why"]) for v in values]
