"""The child process in which the engine looks ahead: a bad blob kills it, and nothing else."""

import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from tcg_core.base.errors import TcgError, encodable
from tcg_core.base.same_code import require_same
from tcg_core.engine.cards import load_attacks
from tcg_core.engine.search import Lookahead
from tcg_core.lookahead.episode import Key, Looked, looked_at
from tcg_core.lookahead.settings import WouldKo
from tcg_core.replay.archive import Archive, open_archive
from tcg_core.replay.episode import parse_episode
from tcg_core.replay.errors import Quarantine

LOG = logging.getLogger("tcg")


def serve(pipe: Connection, path: Path, known_decks: tuple[tuple[int, ...], ...], settings: WouldKo, code: str) -> None:
    """Answers (member position, decisions to skip) until the other end closes.

    It says ("at", Key) before the engine sees a blob, ("looked", Looked), ("end", "") after a member, or ("refused", text) where
    the engine is not to be had.
    """
    decks = [Counter(deck) for deck in known_decks]
    contexts: dict[str, Lookahead] = {}
    with open_archive(path) as archive:
        while True:
            try:
                position, skip = pipe.recv()
            except EOFError:
                return
            try:
                require_same("would_ko", given=code)
                for looked in _member(archive, position, skip, decks, settings, contexts, pipe):
                    pipe.send(("looked", looked))
            except TcgError as error:
                pipe.send(("refused", str(error)))
                return
            except Exception as error:
                member = archive.members[position].name
                LOG.error("would-KO of member %s: an error of this code\n%s", member, encodable(traceback.format_exc()))
                text = f"{member}: {type(error).__name__}: {error}; this is an error of this code"
                pipe.send(("refused", encodable(text)))
                return
            pipe.send(("end", ""))


def _member(
    archive: Archive,
    position: int,
    skip: frozenset[Key],
    decks: list[Counter[int]],
    settings: WouldKo,
    contexts: dict[str, Lookahead],
    pipe: Connection,
) -> Iterator[Looked]:
    member = archive.members[position]
    try:
        data = archive.read(member)
        episode = parse_episode(data, member.name)
    except Quarantine:
        return  # the day's own pass names and counts it

    def lookahead() -> Lookahead:
        if episode.generation not in contexts:
            contexts[episode.generation] = Lookahead(episode.generation)
        return contexts[episode.generation]

    text = frozenset(attack.attack_id for attack in load_attacks(episode.generation) if attack.text)
    yield from looked_at(episode, data, decks, text, settings, lookahead, lambda key: pipe.send(("at", key)), skip)
