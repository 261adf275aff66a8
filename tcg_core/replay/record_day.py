"""Records a day: many episodes of two agents as one archive in the inbox, named and laid out as Kaggle's."""

import hashlib
import json
import logging
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.atomic import replacing
from tcg_core.base.digest import canonical_json
from tcg_core.base.errors import ConfigError, TcgError, UnknownId
from tcg_core.base.home import Home, parse_day
from tcg_core.base.progress import phase
from tcg_core.base.settings import to_dict
from tcg_core.engine.agents import BASELINES, make_agent
from tcg_core.engine.decks import deck_hash, resolve_deck, validate_deck
from tcg_core.replay.record import DECISION_CAP, DecisionCapReached, record_episode
from tcg_core.replay.record_format import check_best_of

LOG = logging.getLogger("tcg")
EPISODES_PER_DAY = 99_999
ATTEMPTS = 20
"""Tries for one episode before the pairing is given up as endless."""


class DayConflict(TcgError):
    """The day exists, recorded with other settings (or by somebody else)."""


class RecordError(TcgError):
    """An episode that could not be recorded."""


@dataclass(frozen=True)
class RecordSettings:
    """What a recorded day is made of; its canonical JSON is the ``settings`` of the archive's comment.

    agents, decks, deck_hashes: by player, not by seat; seats are swapped in every second episode.
    """

    date: str
    episodes: int
    agents: tuple[str, ...]
    decks: tuple[str, ...]
    deck_hashes: tuple[str, ...]
    generation: str
    best_of: int
    seed: int
    decision_cap: int


def record_day(
    home: Home,
    date: str,
    episodes: int,
    agents: tuple[str, str] = ("heuristic", "heuristic"),
    generation: str = "v1",
    best_of: int = 1,
    seed: int = 13,
    decision_cap: int = DECISION_CAP,
    decks: tuple[str, str] = ("sample", "sample"),
) -> Path:
    """Plays ``episodes`` episodes and writes ``inbox/DATE.zip``; returns the archive's path.

    A day that exists, in the inbox or already taken to ``archives/DATE/``, with the same settings is left alone and its
    path returned; with other settings it is a :class:`DayConflict`. Player 0 has seat 0 in even episodes and seat 1 in
    odd ones. A game past ``decision_cap`` decisions is dropped and its episode played again with other agent seeds; how
    often that happened stands in the archive's comment. Raises :class:`ConfigError`, :class:`UnknownId`,
    :class:`DeckError` and :class:`RecordError`, and writes nothing then.
    """
    parse_day(date)
    check_best_of(generation, best_of)
    if not 1 <= episodes <= EPISODES_PER_DAY:
        raise ConfigError(f"episodes {episodes}: expected 1 to {EPISODES_PER_DAY}")
    for name in agents:
        if name not in BASELINES:
            raise UnknownId(f"agent {name!r}: expected one of {', '.join(BASELINES)}")
    cards = [resolve_deck(home, name) for name in decks]
    for deck in cards:
        validate_deck(generation, deck)
    hashes = tuple(deck_hash(deck) for deck in cards)
    settings = RecordSettings(date, episodes, agents, decks, hashes, generation, best_of, seed, decision_cap)
    existing = find_recorded(home, settings)
    return existing or _write(home, settings, cards)


def find_recorded(home: Home, settings: RecordSettings) -> Path | None:
    """The archive of the day if it was recorded with these settings, None if there is none; else :class:`DayConflict`."""
    paths = [home.inbox / f"{settings.date}.zip", *sorted((home.archives / settings.date).glob("*.zip"))]
    found = {path: read_settings(path) for path in paths if path.is_file()}
    wanted = json.loads(canonical_json(to_dict(settings)))
    for path, values in found.items():
        if values == wanted:
            return path
    for path, values in found.items():
        raise DayConflict(f"day {settings.date} exists as {path} with other settings: {_difference(values, wanted)}")
    return None


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in an archive's comment; empty where the archive was not recorded here."""
    try:
        with zipfile.ZipFile(path) as archive:
            settings = json.loads(archive.comment)["settings"]
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _difference(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    if not found:
        return f"found none (it was not recorded here), asked for {canonical_json(wanted)}"
    keys = [key for key in sorted({*found, *wanted}) if found.get(key) != wanted.get(key)]
    return "; ".join(f"{key}: found {found.get(key)!r}, asked for {wanted.get(key)!r}" for key in keys)


def episode_id_of(date: str, index: int) -> int:
    """Numeric id of the ``index``-th (0-based) episode of a day: the date's digits and five more; grows with time."""
    return int(date.replace("-", "")) * (EPISODES_PER_DAY + 1) + index + 1


def _write(home: Home, settings: RecordSettings, cards: list[tuple[int, ...]]) -> Path:
    path = home.inbox / f"{settings.date}.zip"
    dropped = 0
    with (
        replacing(path) as temporary,
        phase(f"record {settings.date}", settings.episodes, "episodes") as advance,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for index in range(settings.episodes):
            replay, drops = _episode(settings, cards, index)
            dropped += drops
            year, month, day = (int(part) for part in settings.date.split("-"))
            member = zipfile.ZipInfo(f"{episode_id_of(settings.date, index)}.json", (year, month, day, 0, 0, 0))
            member.external_attr = 0o644 << 16
            archive.writestr(member, json.dumps(replay), zipfile.ZIP_DEFLATED)
            advance(1)
        archive.comment = canonical_json({"settings": to_dict(settings), "dropped": dropped}).encode()
    if dropped:
        LOG.info(
            "record %s: %d games passed the cap of %d decisions and were replayed", settings.date, dropped, settings.decision_cap
        )
    return path


def _episode(settings: RecordSettings, cards: list[tuple[int, ...]], index: int) -> tuple[dict[str, Any], int]:
    """One finished episode and how many tries before it were dropped at the cap."""
    episode_id = episode_id_of(settings.date, index)
    order = (0, 1) if index % 2 == 0 else (1, 0)
    names = [settings.agents[player] for player in order]
    decks = [cards[player] for player in order]
    for attempt in range(ATTEMPTS):
        agents = [
            make_agent(name, settings.generation, deck, _agent_seed(settings, index, player, attempt))
            for name, deck, player in zip(names, decks, order, strict=True)
        ]
        try:
            replay = record_episode(
                agents, decks, settings.generation, settings.best_of, names, episode_id, settings.decision_cap
            )
        except DecisionCapReached:
            continue
        if replay["statuses"] != ["DONE", "DONE"]:
            raise RecordError(f"episode {episode_id}: statuses {replay['statuses']}, expected both DONE")
        return replay, attempt
    raise RecordError(f"episode {episode_id}: {ATTEMPTS} games in a row passed the cap of {settings.decision_cap} decisions")


def _agent_seed(settings: RecordSettings, index: int, player: int, attempt: int) -> int:
    text = f"{settings.seed}:{settings.date}:{index}:{player}:{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
