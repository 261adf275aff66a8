"""One recorded decision as a person reads it: the table, the options, the answer, and what a policy thinks of them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tcg_core.base.errors import TcgError, UnknownId
from tcg_core.base.home import Home
from tcg_core.catalog.connection import catalog
from tcg_core.catalog.days import day_row
from tcg_core.encode.columns import Columns
from tcg_core.encode.encoder import EncodedDecision, legal
from tcg_core.encode.errors import EncodeError
from tcg_core.encode.rows import encode_episode
from tcg_core.encode.tracker import Tracker
from tcg_core.explain.options import STOP, options_in_words, question_in_words
from tcg_core.explain.words import Names, table_in_words
from tcg_core.model.config import ModelError
from tcg_core.replay import decisions as replayed
from tcg_core.replay.archive import open_archive
from tcg_core.replay.episode import parse_episode

if TYPE_CHECKING:
    from tcg_core.explain.policy import ExplainedPolicy, Opinion


class ExplainError(TcgError):
    """A decision that is not there or cannot be explained; the message names day, episode, side and step."""


@dataclass(frozen=True)
class Pick:
    """One row of the decision: what was picked (an option's number, the number of options for STOP), which answers were
    legal (options in the engine's order, STOP last), and the policy's opinion if one was asked."""

    picked: int
    legal: tuple[bool, ...]
    opinion: "Opinion | None"


@dataclass(frozen=True)
class Explanation:
    """A decision in words. options: one text an option; targets: the row's auxiliary targets, empty where its window has no
    end; source: the policy in words, empty without one."""

    title: str
    table: tuple[str, ...]
    question: str
    options: tuple[str, ...]
    picks: tuple[Pick, ...]
    targets: dict[str, float]
    source: str

    def answer(self, picked: int) -> str:
        """The words of an option, or of STOP."""
        return self.options[picked] if picked < len(self.options) else STOP


def explain(home: Home, day: str, episode: int, side: int, step: int, checkpoint: str | None = None) -> Explanation:
    """Explains the answer of ``side`` to ``steps[step]`` of an archived episode.

    checkpoint: a training run or a converted artifact (:func:`~tcg_core.explain.policy.load_policy`). Raises
    :class:`ExplainError` naming day, episode, side and step for whatever is not there.
    """
    where = f"day {day} episode {episode} side {side} step {step}"
    try:
        policy = _policy(home, checkpoint) if checkpoint else None
        found = _read(home, day, episode)
        return _explain(home, found, day, side, step, policy)
    except (TcgError, EncodeError, ModelError) as error:
        raise ExplainError(f"{where}: {error}") from error


def _policy(home: Home, checkpoint: str) -> "ExplainedPolicy":
    # Only when asked for: the network brings PyTorch with it.
    from tcg_core.explain.policy import load_policy

    return load_policy(home, checkpoint)


def _opinions(
    home: Home, policy: "ExplainedPolicy", lane: Columns, day: str, step: int, generation: str
) -> "tuple[Opinion, ...]":
    from tcg_core.explain.policy import opinions, with_looks

    return opinions(policy, with_looks(home, policy, lane, day), step, generation)


def _read(home: Home, day: str, episode: int) -> replayed.Episode:
    with catalog(home) as connection:
        path = home.root / day_row(connection, day).archive_path
    with open_archive(path) as archive:
        member = next((member for member in archive.members if member.episode_id == episode), None)
        if member is None:
            first, last = archive.members[0].episode_id, archive.members[-1].episode_id
            raise UnknownId(f"the archive has no such episode; its {len(archive.members)} are from {first} to {last}")
        return parse_episode(archive.read(member), member.name)


def _explain(
    home: Home, episode: replayed.Episode, day: str, side: int, step: int, policy: "ExplainedPolicy | None"
) -> Explanation:
    if side not in (0, 1):
        raise UnknownId(f"there is no side {side}, expected 0 or 1")
    game = next((game for game in episode.games if any(_is(d, side, step) for d in game.decisions)), None)
    if game is None:
        raise UnknownId(f"the side decides nothing there; {_steps(episode, side, step)}")
    tracker = Tracker(episode.decks[side])
    for decision in (d for d in game.decisions if d.side == side and d.step_id <= step):
        # The replay's structs have every attribute of the encoder's own; a test of the replay package holds them together.
        obs: Any = decision.observation
        tracker.observe(obs)
        if decision.step_id < step:
            tracker.answered(obs, decision.picks)
    encoded, names = EncodedDecision(tracker, obs), Names.of(episode.generation)
    lane = _lane(episode, game, day, side, step)
    rows = np.flatnonzero(lane["step_id"] == step)
    found = _opinions(home, policy, lane, day, step, episode.generation) if policy and len(rows) else ()
    picks = tuple(
        Pick(
            int(lane["y"][row]),
            tuple(legal(obs, decision.picks[:number])),
            found[number] if found else None,
        )
        for number, row in enumerate(rows)
    )
    return Explanation(
        title=_title(episode, game, day, side, step),
        table=table_in_words(encoded, names),
        question=question_in_words(encoded, names),
        options=options_in_words(encoded, names),
        picks=picks,
        targets=_targets(lane, rows),
        source=policy.source if policy else "",
    )


def _is(decision: replayed.Decision, side: int, step: int) -> bool:
    return decision.side == side and decision.step_id == step


def _steps(episode: replayed.Episode, side: int, step: int) -> str:
    """Where it does decide, nearest to ``step``."""
    found = sorted(d.step_id for game in episode.games for d in game.decisions if d.side == side)
    if not found:
        return "it has no decision in this episode"
    nearest = sorted(sorted(found, key=lambda other: abs(other - step))[:4])
    return f"it decides at {len(found)} steps from {found[0]} to {found[-1]}, nearest {', '.join(map(str, nearest))}"


def _lane(episode: replayed.Episode, game: replayed.Game, day: str, side: int, step: int) -> Columns:
    """The lane's rows up to the decision, also of a game that gives no training rows; its targets are then not used."""
    outcome = game.outcome if game.outcome is not None else 0
    rows = encode_episode(replace(episode, games=(replace(game, excluded=None, outcome=outcome),)), day)
    return rows.take(np.flatnonzero((rows["side"] == side) & (rows["step_id"] <= step)))


def _targets(lane: Columns, rows: np.ndarray) -> dict[str, float]:
    if not len(rows) or not lane["aux_valid"][rows[0]]:
        return {}
    names = {"ko": "aux_ko", "prize": "aux_prize_delta", "terminal": "aux_terminal", "value": "aux_return"}
    return {name: float(lane[column][rows[0]]) for name, column in names.items()}


def _title(episode: replayed.Episode, game: replayed.Game, day: str, side: int, step: int) -> str:
    result = {1: "won", -1: "lost", 0: "drew", None: "ended unknown"}[None if game.outcome is None else game.outcome_for(side)]
    apart = f", game excluded from training: {game.excluded}" if game.excluded else ""
    game_number = f" game {game.index}" if len(episode.games) > 1 else ""
    return (
        f"day {day} episode {episode.episode_id}{game_number} side {side} step {step}: {episode.team_names[side]} against "
        f"{episode.team_names[1 - side]}, engine {episode.generation}; this side {result}{apart}"
    )
