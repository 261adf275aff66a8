"""What the matches of one opponent show, as counts and what follows from them.

The independent unit is the match: the games of a best of three share seats and decks and the third is only played at 1:1, so
counting games would claim more evidence than there is. Under best of one a match is one game.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tcg_core.arena.results import MatchResult, Round
from tcg_core.arena.schedule import unit_of
from tcg_core.arena.stats.power import minimal_detectable_score
from tcg_core.arena.stats.score import Interval, likelihood_of_superiority, logistic_elo, normalised_elo, pentanomial, wilson
from tcg_core.arena.stats.sprt import Sprt, sprt

#: Bounds of the sequential test, in normalised Elo: no better against better by this much.
SPRT_ELO = (0.0, 20.0)


@dataclass(frozen=True)
class Summary:
    """All that is said of one pairing. Counts and statistics are over clean matches only; the others are shown apart.

    matches: scheduled and played; games: of all of them together; seats: (W, D, L) of the candidate in seat 0 and in seat
    1; pairs: pentanomial over pairs whose matches are both clean; games_wdl, match_scores: games won, drawn and lost in
    clean matches, and how many matches ended with which score ("2-1" or, with draws, "1-0-2"); win_reasons, loss_reasons:
    of those games; apart: reasons of matches that are no evidence, by "offender reason"; faults: the candidate's own
    errors, illegal answers and time-outs, the last also counted by themselves; fallbacks: of (candidate, opponent) over
    all matches; turns: of every game, ascending.
    """

    opponent: str
    best_of: int
    matches: int
    games: int
    wins: int
    draws: int
    losses: int
    seats: tuple[tuple[int, int, int], ...]
    pairs: tuple[int, ...]
    games_wdl: tuple[int, int, int]
    match_scores: dict[str, int]
    win_reasons: dict[str, int]
    loss_reasons: dict[str, int]
    apart: dict[str, int]
    faults: int
    timeouts: int
    opponent_faults: int
    fallbacks: tuple[int, ...]
    decisions_mean: float
    turns: tuple[int, ...]
    decision_ms: tuple[float, ...]
    slowest_ms: tuple[float, ...]

    @property
    def unit(self) -> str:
        """What the counts count, for people: games, or matches of several."""
        return unit_of(self.best_of)

    @property
    def turns_median(self) -> float:
        """Turns of the middle game."""
        return float(self.turns[len(self.turns) // 2])

    @property
    def clean(self) -> int:
        """Matches that count."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> Interval | None:
        """(W + D/2) / N with Wilson's 95 % interval; None without a clean match."""
        return wilson(self.wins, self.draws, self.losses) if self.clean else None

    @property
    def counts(self) -> Sequence[int]:
        """The pentanomial counts where there are clean pairs, else [L, D, W]."""
        return self.pairs if sum(self.pairs) else (self.losses, self.draws, self.wins)

    @property
    def test(self) -> Sprt:
        """The sequential test of :data:`SPRT_ELO` with error rates of 5 %, on :attr:`counts`."""
        return sprt(self.counts, *SPRT_ELO)

    def facts(self) -> dict[str, Any]:
        """Plain values; an infinite Elo is None, and so are score and interval where nothing counts. ``games`` are of the engine;
        every other count is of matches, which under best of one are the same."""
        score = self.score
        found: dict[str, Any] = {
            "best_of": self.best_of, "matches": self.matches, "games": self.games,
            "clean": self.clean, "wins": self.wins, "draws": self.draws, "losses": self.losses,
            "pairs": list(self.pairs), "seat_0": list(self.seats[0]), "seat_1": list(self.seats[1]),
            "errors": self.faults - self.timeouts, "timeouts": self.timeouts, "fallbacks": self.fallbacks[0],
            "opponent_errors": self.opponent_faults, "opponent_fallbacks": self.fallbacks[1], "apart": self.apart,
            "win_reasons": self.win_reasons, "loss_reasons": self.loss_reasons,
            "decisions_mean": round(self.decisions_mean, 1), "turns_median": self.turns_median,
            "decision_ms": round(self.decision_ms[0], 3), "slowest_ms": round(self.slowest_ms[0], 1),
        }  # fmt: skip
        if self.best_of > 1:
            found |= {"games_won_drawn_lost": list(self.games_wdl), "match_scores": self.match_scores}
        found |= {"score": None, "low": None, "high": None}
        if score is not None:
            elo, nelo = logistic_elo(self.counts), normalised_elo(self.counts)
            found |= {
                "score": round(score.value, 4), "low": round(score.low, 4), "high": round(score.high, 4),
                "elo": _finite(elo.value), "elo_low": _finite(elo.low), "elo_high": _finite(elo.high),
                "normalised_elo": _finite(nelo.value), "los": round(likelihood_of_superiority(self.counts), 4),
                "detectable_score": round(minimal_detectable_score(self.clean), 4),
                "llr": round(self.test.llr, 3), "sprt": self.test.verdict,
            }  # fmt: skip
        return found


def summarise(opponent: str, games: Iterable[MatchResult], best_of: int = 1) -> Summary:
    """The summary of one opponent's matches of at most ``best_of`` games, of which there is at least one."""
    played = sorted(games, key=lambda game: game.index)
    clean = [game for game in played if game.clean]
    outcomes = Counter(game.outcome for game in clean)
    by_pair: dict[int, list[float]] = {}
    for game in clean:
        by_pair.setdefault(game.pair, []).append(game.points)
    whole = [(points[0], points[1]) for points in by_pair.values() if len(points) == 2]
    every = [one for game in played for one in game.each]
    sound = [one for game in clean for one in game.each]
    counted = [sum(game.decisions[place] for game in played) for place in (0, 1)]
    return Summary(
        opponent=opponent,
        best_of=best_of,
        matches=len(played),
        games=len(every),
        wins=outcomes["win"],
        draws=outcomes["draw"],
        losses=outcomes["loss"],
        seats=tuple(_wdl(game for game in clean if game.candidate_seat == seat) for seat in (0, 1)),
        pairs=tuple(pentanomial(whole)),
        games_wdl=_wdl(sound),
        match_scores=dict(sorted(Counter(_score(game.each) for game in clean).items(), reverse=True)),
        win_reasons=dict(Counter(one.reason for one in sound if one.outcome == "win")),
        loss_reasons=dict(Counter(one.reason for one in sound if one.outcome == "loss")),
        apart=dict(Counter(_why_apart(game) for game in played if not game.clean)),
        faults=sum(game.offender == "candidate" for game in played),
        timeouts=sum(game.offender == "candidate" and game.reason == "timeout" for game in played),
        opponent_faults=sum(game.offender == "opponent" for game in played),
        fallbacks=tuple(sum(game.fallbacks[place] for game in played) for place in (0, 1)),
        decisions_mean=sum(counted) / len(every),
        turns=tuple(sorted(one.turns for one in every)),
        decision_ms=tuple(1000 * sum(game.seconds[place] for game in played) / max(1, counted[place]) for place in (0, 1)),
        slowest_ms=tuple(1000 * max(game.slowest[place] for game in played) for place in (0, 1)),
    )


def _score(rounds: Sequence[Round]) -> str:
    won, drawn, lost = _wdl(rounds)
    return f"{won}-{drawn}-{lost}" if drawn else f"{won}-{lost}"


def _wdl(games: Iterable[MatchResult | Round]) -> tuple[int, int, int]:
    found = Counter(game.outcome for game in games)
    return found["win"], found["draw"], found["loss"]


def _why_apart(game: MatchResult) -> str:
    if game.offender:
        return f"{game.offender} {game.reason}"
    return game.reason if game.outcome == "none" else "fallback"


def _finite(value: float) -> float | None:
    return round(value, 1) if abs(value) < 1e6 else None
