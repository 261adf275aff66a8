"""Tables of the report: counts by opponent, seat, deck and player."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tcg_core.arena.schedule import TournamentSchedule
from tcg_core.arena.stats.score import Interval, likelihood_of_superiority, logistic_elo, normalised_elo, wilson
from tcg_core.arena.summary import SPRT_ELO, Summary
from tcg_core.engine.decks import deck_hash

_ONE = {"games": "game", "matches": "match"}
_VERDICTS = {"accept": "stronger", "reject": "not stronger", "continue": "undecided"}


def scores(summaries: Sequence[Summary]) -> str:
    """Score, Elo and the sequential test against each opponent."""
    rows = []
    for summary in summaries:
        score = summary.score
        if score is None:
            rows.append([summary.opponent, "0", *["–"] * 7])
            continue
        elo = logistic_elo(summary.counts)
        rows.append(
            [
                summary.opponent,
                str(summary.clean),
                _wdl(summary.wins, summary.draws, summary.losses),
                f"{score.value:.1%}",
                f"{score.low:.1%} – {score.high:.1%}",
                f"{number(elo.value)} ({number(elo.low)} … {number(elo.high)})",
                number(normalised_elo(summary.counts).value),
                f"{likelihood_of_superiority(summary.counts):.1%}",
                f"{_VERDICTS[summary.test.verdict]} ({summary.test.llr:+.2f})".replace("-", "−"),
            ]
        )
    head = [
        "opponent", summaries[0].unit, "W / D / L", "score", "Wilson 95 %", "logistic Elo (95 %)", "normalised Elo", "LOS",
        "SPRT (LLR)",
    ]  # fmt: skip
    bound = summaries[0].test.upper
    return table(head, rows) + note(
        "Elo, LOS and SPRT from the counts of seat-swapped pairs; ∞ where every pair was won or lost. "
        f"SPRT: normalised Elo {SPRT_ELO[0]:.0f} against {SPRT_ELO[1]:.0f}, error rates 5 %, decided at ±{bound:.2f}."
    )


def games(summaries: Sequence[Summary]) -> str:
    """The games of matches: how many were played, what they gave, how matches ended by games."""
    rows = []
    for s in summaries:
        w, d, lost = s.games_wdl
        ended = ", ".join(f"{score} × {count}" for score, count in s.match_scores.items())
        rows.append([s.opponent, str(s.matches), str(s.games), _wdl(w, d, lost), _share(w, d, lost), ended or "–"])
    head = ["opponent", "matches", "games", "games W / D / L", "share of games", "matches by games won-lost or won-drawn-lost"]
    return table(head, rows, text=(5,)) + note(
        "Games W / D / L are of matches that count. Games of one match are no independent evidence: no interval is drawn from "
        "them, and every statistic on this page counts matches."
    )


def rated(ratings: Mapping[str, Interval], unit: str = "games") -> str:
    """Ratings, the best first; ``unit``: what they were computed from."""
    ordered = sorted(ratings.items(), key=lambda item: -item[1].value)
    rows = [[name, number(found.value), f"{number(found.low)} … {number(found.high)}"] for name, found in ordered]
    return table(["player", "rating", "95 % interval"], rows) + note(
        f"Bradley–Terry in Elo against the field's mean, one imagined drawn {_ONE[unit]} a player; 95 % intervals."
    )


def cross(candidate: str, summaries: Sequence[Summary]) -> str:
    """Score of the row's player against the column's; only the candidate met everybody."""
    names = [candidate, *(summary.opponent for summary in summaries)]
    cells: dict[tuple[str, str], str] = {}
    for summary in summaries:
        score = summary.score
        if score is not None:
            cells[candidate, summary.opponent] = f"{score.value:.1%}"
            cells[summary.opponent, candidate] = f"{1 - score.value:.1%}"
    rows = [[row, *("" if row == column else cells.get((row, column), "–") for column in names)] for row in names]
    return table(["score of … against", *names], rows) + note(
        f"–: did not meet, or no {_ONE[summaries[0].unit]} of theirs counts."
    )


def seats(summaries: Sequence[Summary]) -> str:
    """Results by the candidate's seat, and what seat-swapped pairs gave."""
    rows = []
    for s in summaries:
        each = [cell for w, d, lost in s.seats for cell in (_wdl(w, d, lost), _share(w, d, lost))]
        rows.append([s.opponent, *each, " ".join(map(str, s.pairs))])
    head = ["opponent", "seat 0: W / D / L", "score", "seat 1: W / D / L", "score", "pairs of 0, ½, 1, 1½, 2 points"]
    if summaries[0].best_of == 1:
        return table(head, rows) + note("Seat 0 chooses who goes first.")
    return table(head, rows) + note(
        "Matches by the seat kept in all their games. Seat 0 chooses who goes first in the first and third game, seat 1 in the "
        "second, whoever won before."
    )


def decks(schedule: TournamentSchedule, summaries: Sequence[Summary]) -> str:
    """Results by the opponent's deck, over all opponents that play it."""
    found: dict[str, list[int]] = {}
    names: dict[str, dict[str, None]] = {}
    players = {player.name: player for player in schedule.players}
    for s in summaries:
        player = players[s.opponent]
        digest = deck_hash(player.cards)[:12]
        names.setdefault(digest, {})[player.deck] = None
        counts = found.setdefault(digest, [0, 0, 0])
        for place, count in enumerate((s.wins, s.draws, s.losses)):
            counts[place] += count
    ours = schedule.players[0]
    rows = [
        [
            ours.deck,
            deck_hash(ours.cards)[:12],
            ", ".join(names[digest]),
            digest,
            w + d + lost,
            _wdl(w, d, lost),
            _share(w, d, lost),
        ]
        for digest, (w, d, lost) in found.items()
    ]
    return table(
        ["candidate's deck", "SHA-256", "opponent's deck", "SHA-256", schedule.unit, "W / D / L", "score"], rows, text=(2,)
    )


def endings(summaries: Sequence[Summary]) -> str:
    """Why games were won and lost."""
    rows = [[s.opponent, _counts(s.win_reasons) or "–", _counts(s.loss_reasons) or "–"] for s in summaries]
    return table(["opponent", "wins by", "losses by"], rows, text=(1, 2))


def lengths(summaries: Sequence[Summary]) -> str:
    """Turns and decisions of a game."""
    rows = []
    for s in summaries:
        places = (0, len(s.turns) // 4, len(s.turns) // 2, (3 * len(s.turns)) // 4, len(s.turns) - 1)
        rows.append([s.opponent, *(str(s.turns[place]) for place in places), f"{s.decisions_mean:.0f}"])
    return table(["opponent", "shortest", "quarter", "median", "three quarters", "longest (turns)", "decisions (mean)"], rows)


def times(candidate: str, summaries: Sequence[Summary]) -> str:
    """Time of a decision, mean and slowest."""
    rows = []
    for s in summaries:
        for who, place in ((candidate, 0), (s.opponent, 1)):
            rows.append(
                [who, f"against {(s.opponent, candidate)[place]}", f"{s.decision_ms[place]:.2f}", f"{s.slowest_ms[place]:.0f}"]
            )
    return table(["player", "games", "ms a decision", "slowest ms"], rows, text=(1,)) + note(
        "The network is asked for several games at once; its time is shared evenly among them."
    )


def health(candidate: str, summaries: Sequence[Summary]) -> str:
    """Errors, time-outs and fallbacks of each agent, and matches that count for nothing."""
    ours, late, back = (sum(values) for values in zip(*((s.faults, s.timeouts, s.fallbacks[0]) for s in summaries), strict=True))
    total, unit = sum(s.matches for s in summaries), summaries[0].unit
    rows = [
        [candidate, str(total), str(ours - late), str(late), str(back), str(sum(sum(s.apart.values()) for s in summaries)), ""]
    ]
    for s in summaries:
        slow = s.apart.get("opponent timeout", 0)
        apart = str(sum(s.apart.values()))
        rows.append(
            [s.opponent, str(s.matches), str(s.opponent_faults - slow), str(slow), str(s.fallbacks[1]), apart, _counts(s.apart)]
        )
    return table(["player", unit, "errors", "time-outs", "fallbacks", f"{unit} shown apart", "why"], rows, text=(6,))


def players(schedule: TournamentSchedule) -> str:
    """Who played, with hashes of deck and files."""
    rows = [[p.name, p.kind, p.spec, p.deck, deck_hash(p.cards)[:16], p.sha256[:16]] for p in schedule.players]
    return table(["player", "kind", "named as", "deck", "deck SHA-256", "files SHA-256"], rows, text=(1, 2, 3))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], text: Sequence[int] = ()) -> str:
    """A table whose every cell is escaped. ``text``: columns of words, set to the left and broken where they are long."""

    def cell(tag: str, place: int, value: Any) -> str:
        return f"<{tag}{' class=text' if place == 0 or place in text else ''}>{escape(str(value))}</{tag[:2]}>"

    top = "".join(cell("th scope='col'", place, name) for place, name in enumerate(head))
    body = "".join("<tr>" + "".join(cell("td", place, value) for place, value in enumerate(row)) + "</tr>" for row in rows)
    return f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def note(text: str) -> str:
    """A remark below a table."""
    return f"<p class='note'>{escape(text)}</p>"


def number(value: float) -> str:
    """A rounded number with its sign; infinite beyond a million."""
    if abs(value) > 1e6:
        return "+∞" if value > 0 else "−∞"
    return f"{value:+.0f}".replace("-", "−")


def _wdl(wins: int, draws: int, losses: int) -> str:
    return f"{wins} / {draws} / {losses}"


def _share(wins: int, draws: int, losses: int) -> str:
    return f"{wilson(wins, draws, losses).value:.1%}" if wins + draws + losses else "–"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
