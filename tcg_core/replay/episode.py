"""Parses one replay into an :class:`Episode`, or quarantines it whole; never a part of it."""

import hashlib
from array import array
from collections import Counter
from typing import Any

import msgspec

from tcg_core.replay import facts
from tcg_core.replay.decisions import Decision, Episode, Game
from tcg_core.replay.errors import Quarantine
from tcg_core.replay.foreign import count_foreign
from tcg_core.replay.layout import Replay, SeatStep, Terminal, decode_observation, decode_outline, read_frames, terminals
from tcg_core.replay.outcome import OutcomeConflict, Tally, game_outcomes
from tcg_core.replay.picks import NotPicks, check_legal, normalise
from tcg_core.replay.proof import check_frames, check_numbers, check_order
from tcg_core.replay.reading import read_replay
from tcg_core.replay.recount import rows_of
from tcg_core.replay.structs import State

__all__ = ["PARSER_VERSION", "Decision", "Episode", "Game", "Quarantine", "parse_episode"]

#: Raised when a replay is meant to be read otherwise: days read under another version are built again, never proven equal.
PARSER_VERSION = 2
_ACTIVE = "ACTIVE"
_Steps = list[tuple[SeatStep, SeatStep]]


def parse_episode(data: bytes, name: str) -> Episode:
    """Parses the bytes of archive member ``name`` (its stem is the episode id).

    The answer to ``steps[t][i].observation`` is ``steps[t+1][i].action``, for ACTIVE seats only. Frames in ``visualize``
    show hidden information: each game's RESULT and prize counts are read, and a frame that differs from its step or answer
    refuses the episode. Raises :class:`Quarantine`.
    """
    try:
        return _parse(data, name)
    except msgspec.ValidationError as error:
        raise Quarantine("malformed", f"{name}: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Quarantine("broken_json", f"{name}: {error}") from error
    except RecursionError as error:
        raise Quarantine("broken_json", f"{name}: nested too deeply") from error


def _parse(data: bytes, name: str) -> Episode:
    caveats: Counter[str] = Counter()
    replay = read_replay(data, name, caveats)
    steps = replay.steps
    if isinstance(steps, msgspec.UnsetType):
        raise Quarantine("not_a_replay", f"{name}: no steps")
    if not isinstance(replay.name, msgspec.UnsetType) and replay.name != "cabt":
        raise Quarantine("other_game", f"{name}: a replay of {replay.name!r:.40}, expected 'cabt'")
    if len(steps) < 2:
        raise Quarantine("malformed", f"{name}: {len(steps)} steps, expected at least 2")
    identity, (generation, best_of) = facts.episode_id(replay, name), facts.generation(replay, name)
    statuses, forfeited = facts.statuses(replay, name)
    rewards = replay.rewards
    if isinstance(rewards, msgspec.UnsetType) or len(rewards) != 2:
        raise Quarantine("malformed", f"{name}: rewards are {rewards!r:.80}, expected two")
    decks = facts.deck(steps[1][0].action), facts.deck(steps[1][1].action)
    if forfeited:
        games = _forfeited(steps, rewards, decks)
    else:
        for seat, deck in enumerate(decks):
            if not deck:
                raise Quarantine("deck", f"{name}: steps[1][{seat}].action is no list of {facts.DECK_SIZE} card ids")
        games = _finished(replay, steps, rewards, best_of, name, caveats)
        count_foreign([game.decisions for game in games], decks, name, caveats)
    return Episode(
        episode_id=identity,
        generation=generation,
        module_version=replay.module_version or "unknown",
        best_of=best_of,
        team_names=facts.team_names(replay),
        decks=decks,
        games=games,
        content_hash=_content_hash(decks, games),
        caveats=dict(caveats),
        statuses=statuses,
        rewards=(rewards[0], rewards[1]),
    )


def _forfeited(steps: _Steps, rewards: list[Any], decks: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[Game, ...]:
    """Games of an episode that a seat forfeited: known to the catalog, without decisions. The offender's reward is null,
    the other seat's 1; after a refused deck it is 0."""
    rounds = [1]
    for step in steps:
        for entry in step:
            if entry.status == _ACTIVE:
                current = decode_outline(entry.observation).current
                if current is not None and current.round is not None:
                    rounds.append(current.round)
    count = max(1, min(max(rounds), facts.MAX_BEST_OF))
    outcome = 1 if rewards[1] is None and rewards[0] == 1 else -1 if rewards[0] is None and rewards[1] == 1 else None
    rule = "illegal_deck" if len(steps) == 2 else "aborted"
    return tuple(Game(index, (), outcome if index == count - 1 else None, None, None, rule) for index in range(count))


def _finished(
    replay: Replay, steps: _Steps, rewards: list[Any], best_of: int, name: str, caveats: Counter[str]
) -> tuple[Game, ...]:
    check_numbers(steps, name)
    rounds, tallies = _decisions(steps, name, caveats)
    if not rounds or len(rounds) > best_of:
        raise Quarantine("games", f"{name}: {len(rounds)} games of a best of {best_of}")
    check_order(steps, rounds, name)
    frames = read_frames(replay, steps)
    ends: list[Terminal | None] = list(terminals(frames))
    if ends and len(ends) != len(rounds):
        raise Quarantine("visualize", f"{name}: {len(ends)} terminal frames of {len(rounds)} games")
    check_frames(frames, rounds, name, caveats)
    ends = ends or [None] * len(rounds)
    try:
        outcomes = game_outcomes(best_of, rewards, tallies, [None if end is None else end.result for end in ends])
    except OutcomeConflict as error:
        raise Quarantine("outcome", f"{name}: {error}") from error
    games = []
    for index, (decisions, outcome, end) in enumerate(zip(rounds, outcomes, ends, strict=True)):
        rule = {None: "unfinished", 0: "draw"}.get(outcome)
        reason, prizes = (None, None) if end is None else (end.reason, end.prizes)
        games.append(Game(index, tuple(decisions), outcome, reason, prizes, rule))
    return tuple(games)


def _decisions(steps: _Steps, name: str, caveats: Counter[str]) -> tuple[list[list[Decision]], list[Tally]]:
    """All decisions by game, and the tally that each game's first observation shows."""
    rounds: list[list[Decision]] = []
    tallies: list[Tally] = []
    last = len(steps) - 1
    for t in range(1, len(steps)):
        active = [side for side in (0, 1) if steps[t][side].status == _ACTIVE]
        if len(active) != (t < last):
            raise Quarantine("malformed", f"{name}: steps[{t}] of {last + 1} has {len(active)} ACTIVE seats")
        for side in active:
            observation = decode_observation(steps[t][side].observation)
            state, select, where = observation.current, observation.select, f"{name}: steps[{t}][{side}]"
            if state is None or select is None:
                raise Quarantine("malformed", f"{where}: an ACTIVE seat without select or state")
            if state.your_index != side or len(state.players) != 2:
                raise Quarantine("malformed", f"{where}: yourIndex is {state.your_index}, {len(state.players)} players")
            game = _round(state, len(rounds), tallies, where)
            if game == len(rounds):
                rounds.append([])
            try:
                picks = normalise(steps[t + 1][side].action, caveats)
                check_legal(picks, len(select.option), select.min_count, select.max_count)
            except NotPicks as error:
                raise Quarantine("illegal_label", f"{where}: {error}") from error
            if rows_of(len(picks), select.min_count, select.max_count) == 0:
                told = f"minCount {select.min_count}, maxCount {select.max_count}"
                raise Quarantine("no_choice", f"{where}: {told}: answering {list(picks)} chooses nothing and gives no row")
            rounds[game].append(Decision(t, side, observation, picks))
    return rounds, tallies


def _round(state: State, begun: int, tallies: list[Tally], where: str) -> int:
    """The 0-based game of a state; the older layout has no round and one game. A new game adds its opening tally."""
    if state.round is None:
        if begun == 0:
            tallies.append((0, 0, 0))
        return 0
    game = state.round - 1
    tally = (state.players[0].win or 0, state.players[1].win or 0, state.draw or 0)
    if game == begun and sum(tally) == game:
        tallies.append(tally)
    elif begun == 0 or game != begun - 1 or tally != tallies[-1]:
        raise Quarantine("games", f"{where}: round {state.round} with tally {tally} after {begun} games")
    return game


def _content_hash(decks: tuple[tuple[int, ...], tuple[int, ...]], games: tuple[Game, ...]) -> str:
    """Decks, answers and what the deciding seat held: two shuffles of the same decks differ by the hands."""
    total = hashlib.sha256(f"{decks}".encode())
    for game in games:
        for decision in game.decisions:
            state, select = decision.observation.current, decision.observation.select
            assert state is not None and select is not None
            hand = state.players[decision.side].hand or ()
            numbers = [
                game.index, decision.side, state.turn, select.type, select.context, len(select.option),
                len(decision.picks), *decision.picks, len(hand), *(card.serial for card in hand),
                *(len(player.prize) for player in state.players), *(player.deck_count for player in state.players),
            ]  # fmt: skip
            try:
                total.update(array("q", numbers).tobytes())
            except OverflowError as error:
                raise Quarantine("malformed", f"steps[{decision.step_id}]: a number beyond 64 bits") from error
    return total.hexdigest()
