"""The attack options of one replay, looked ahead one decision at a time."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from tcg_core.encode.enums import OptionType
from tcg_core.encode.tracker import Tracker
from tcg_core.engine.search import Lookahead
from tcg_core.lookahead.attack import Verdict, decision_seed, look
from tcg_core.lookahead.guess import candidates
from tcg_core.lookahead.settings import WouldKo
from tcg_core.replay.decisions import Decision, Episode, Game
from tcg_core.replay.reading import decoded

_MAIN = 0


@dataclass(frozen=True, order=True)
class Key:
    """One decision."""

    episode_id: int
    game: int
    side: int
    step_id: int


@dataclass(frozen=True)
class Looked:
    """What was found out of one decision. ``why``: empty, or the reason why nothing could be computed."""

    key: Key
    verdicts: tuple[Verdict, ...]
    why: str = ""


class _Blob(msgspec.Struct, gc=False):
    search_begin_input: Any = None


class _Seat(msgspec.Struct, gc=False):
    observation: Raw


class _Replay(msgspec.Struct, gc=False):
    steps: list[tuple[_Seat, _Seat]] | UnsetType = UNSET
    replay: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Replay).decode
_decode_blob = msgspec.json.Decoder(_Blob).decode


def observations(data: bytes) -> list[tuple[Raw, Raw]]:
    """The undecoded observations of a replay by step and seat; a wrapped replay is unwrapped."""
    replay, _ = decoded(_decode, data)
    if isinstance(replay.replay, msgspec.Raw) and isinstance(replay.steps, UnsetType):
        replay = _decode(replay.replay)
    steps = [] if isinstance(replay.steps, UnsetType) else replay.steps
    return [(a.observation, b.observation) for a, b in steps]


def _blob(observation: Raw) -> str | None:
    """The engine's state in an observation, None where there is none that is text."""
    blob = _decode_blob(observation).search_begin_input
    return blob if isinstance(blob, str) else None


def looked_at(
    episode: Episode,
    data: bytes,
    known_decks: Sequence[Counter[int]],
    text_attacks: frozenset[int],
    settings: WouldKo,
    open_lookahead: Callable[[], Lookahead],
    announce: Callable[[Key], None],
    skip: frozenset[Key] = frozenset(),
) -> Iterator[Looked]:
    """Every eligible decision (a MAIN select with an attack, in a game that gives rows), in order of time.

    announce: called before the engine is given a blob, so that whoever watches knows which one killed it; ``skip``: decisions
    that are left out for that reason. text_attacks: attacks whose text may decide, looked at more often.
    """
    found = observations(data)
    for game in episode.games:
        if game.excluded is None:
            yield from _game(episode, game, found, known_decks, text_attacks, settings, open_lookahead, announce, skip)


def _game(
    episode: Episode,
    game: Game,
    found: Sequence[tuple[Raw, Raw]],
    known_decks: Sequence[Counter[int]],
    text_attacks: frozenset[int],
    settings: WouldKo,
    open_lookahead: Callable[[], Lookahead],
    announce: Callable[[Key], None],
    skip: frozenset[Key],
) -> Iterator[Looked]:
    trackers = [Tracker(deck) for deck in episode.decks]
    for decision in game.decisions:
        tracker, observation = trackers[decision.side], decision.observation
        tracker.observe(observation)  # type: ignore[arg-type]  # the typed struct has the same attributes
        attacks = attack_options(decision)
        if attacks:
            key = Key(episode.episode_id, game.index, decision.side, decision.step_id)
            blob = _blob(found[decision.step_id][decision.side])
            if key in skip:
                yield Looked(key, tuple(_nothing(decision, option) for option in attacks), "crashed")
            elif not blob:
                yield Looked(key, tuple(_nothing(decision, option) for option in attacks), "no_blob")
            else:
                announce(key)
                lists = candidates(tracker, known_decks)
                seed = decision_seed(settings, episode.episode_id, game.index, decision.side, decision.step_id)
                ahead = open_lookahead()
                verdicts = tuple(
                    look(
                        ahead,
                        blob,
                        observation,  # type: ignore[arg-type]  # as above
                        tracker,
                        option,
                        settings.text_samples if attack in text_attacks else settings.plain_samples,
                        lists,
                        settings,
                        seed,
                    )
                    for option, attack in attacks.items()
                )
                yield Looked(key, verdicts)
        tracker.answered(observation, decision.picks)  # type: ignore[arg-type]  # as above


def attack_options(decision: Decision) -> dict[int, int]:
    """Attack id by option index of a MAIN select; empty for every other decision."""
    select = decision.observation.select
    if select is None or select.type != _MAIN:
        return {}
    return {i: option.attack_id or 0 for i, option in enumerate(select.option) if option.type == OptionType.ATTACK}


def _nothing(decision: Decision, option: int) -> Verdict:
    return Verdict(option, attack_options(decision)[option], None, None, None, 0, 0)
