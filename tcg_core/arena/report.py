"""The tournament's page: self-contained HTML, readable in print, saying in words what it shows and what it does not."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from tcg_core.arena.schedule import Schedule
from tcg_core.arena.stats.power import games_needed, minimal_detectable_score
from tcg_core.arena.stats.score import Interval, likelihood_of_superiority, logistic_elo, normalised_elo
from tcg_core.arena.summary import SPRT_ELO, Summary
from tcg_core.engine.decks import deck_hash

_VERDICTS = {"accept": "stronger", "reject": "not stronger", "continue": "undecided"}
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #d0d7de; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; }
th, td { text-align: right; padding: .25rem .5rem; border-bottom: 1px solid #d8dee4; }
th:first-child, td:first-child { text-align: left; }
.scroll { overflow-x: auto; } .bad { color: #a40e26; font-weight: 600; } .note { color: #57606a; }
code { font-size: .85em; overflow-wrap: anywhere; }
@media print { body { max-width: none; margin: 0; font-size: 11pt; }
  h2 { break-after: avoid; } table, svg { break-inside: avoid; } }
"""


def report(
    identity: str, schedule: Schedule, summaries: Sequence[Summary], ratings: Mapping[str, Interval], about: Mapping[str, str]
) -> str:
    """The whole page. ``about``: names and values of the last table (hashes, engine)."""
    candidate = schedule.players[0].name
    parts = [
        f"<h1>Tournament of {escape(candidate)}</h1>",
        f"<p>{len(schedule.games)} games of engine {escape(schedule.generation)}, best of one, seats swapped in pairs.</p>",
        "<h2>What this shows</h2>",
        *(f"<p>{escape(sentence)}</p>" for sentence in sentences(candidate, summaries)),
        "<h2>Scores</h2>",
        forest([(s.opponent, s.score) for s in summaries if s.score is not None]),
        _scores(summaries),
        "<h2>Seats</h2>",
        _seats(summaries),
        "<h2>Ratings of the field</h2>",
        _ratings(ratings),
        "<h2>How games end</h2>",
        _endings(summaries),
        "<h2>Time, faults and fallbacks</h2>",
        _health(summaries),
        "<h2>Players</h2>",
        _table(
            ["player", "kind", "deck", "deck SHA-256", "files SHA-256"],
            [[p.name, p.kind, p.deck, deck_hash(p.cards)[:16], p.sha256[:16]] for p in schedule.players],
        ),
        "<h2>Identity</h2>",
        _table(["what", "value"], [[name, value] for name, value in about.items()]),
    ]
    title = f"Tournament {identity}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def sentences(candidate: str, summaries: Sequence[Summary]) -> list[str]:
    """What the result shows and does not show, one statement a sentence."""
    said = []
    for summary in summaries:
        score = summary.score
        if score is None:
            said.append(f"Against {summary.opponent} no game counts: every one had an error, a fallback or no result.")
            continue
        versus = f"{candidate} against {summary.opponent}: score {score.value:.1%} of {summary.clean} games"
        interval = f"95 % interval {score.low:.1%} to {score.high:.1%}"
        if score.low > 0.5:
            said.append(f"{versus}, {interval}: it is stronger than {summary.opponent} with these decks.")
        elif score.high < 0.5:
            said.append(f"{versus}, {interval}: it is weaker than {summary.opponent} with these decks.")
        else:
            detectable = minimal_detectable_score(summary.clean)
            said.append(
                f"{versus}, {interval}: no difference is shown. {summary.clean} games show a true score of {detectable:.1%} or "
                f"more four times out of five; a difference of 20 Elo would take about {games_needed(20):,} games."
            )
        apart = sum(summary.apart.values())
        if apart:
            said.append(f"{apart} games against {summary.opponent} are shown apart and count for nothing here.")
    said.append(
        "The result holds for these decks, this engine generation and these opponents. It does not say how the "
        "candidate fares against other decks or on the ladder, where the same bytes were seen 28 to 173 points apart."
    )
    return said


def forest(rows: Sequence[tuple[str, Interval]]) -> str:
    """Scores with their intervals, as inline SVG."""
    if not rows:
        return "<p class='note'>No game counts.</p>"
    width, left, step = 640, 150, 30
    height = step * len(rows) + 40
    span = width - left - 30

    def x(value: float) -> float:
        return left + span * value

    marks = []
    for place in (0.0, 0.25, 0.5, 0.75, 1.0):
        dash = "" if place == 0.5 else " stroke-dasharray='2 3'"
        marks.append(f"<line x1='{x(place):.1f}' x2='{x(place):.1f}' y1='10' y2='{height - 25}' stroke='#8c959f'{dash}/>")
        marks.append(f"<text x='{x(place):.1f}' y='{height - 8}' font-size='11' text-anchor='middle'>{place:.0%}</text>")
    for number, (name, interval) in enumerate(rows):
        y = 25 + step * number
        marks.append(f"<text x='{left - 10}' y='{y + 4}' font-size='12' text-anchor='end'>{escape(name[:22])}</text>")
        low, high = x(max(0.0, interval.low)), x(min(1.0, interval.high))
        marks.append(f"<line x1='{low:.1f}' x2='{high:.1f}' y1='{y}' y2='{y}' stroke='#0550ae' stroke-width='2'/>")
        marks.append(f"<circle cx='{x(interval.value):.1f}' cy='{y}' r='4' fill='#0550ae'/>")
    label = "Score against each opponent with its 95 percent interval"
    return f"<svg role='img' aria-label='{label}' viewBox='0 0 {width} {height}' width='100%'>{''.join(marks)}</svg>"


def _scores(summaries: Sequence[Summary]) -> str:
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
                f"{summary.wins} / {summary.draws} / {summary.losses}",
                f"{score.value:.1%}",
                f"{score.low:.1%} – {score.high:.1%}",
                f"{_number(elo.value)} ({_number(elo.low)} … {_number(elo.high)})",
                _number(normalised_elo(summary.counts).value),
                f"{likelihood_of_superiority(summary.counts):.1%}",
                f"{_VERDICTS[summary.test.verdict]} ({summary.test.llr:+.2f})",
            ]
        )
    head = [
        "opponent",
        "games",
        "W / D / L",
        "score",
        "Wilson 95 %",
        "logistic Elo (95 %)",
        "normalised Elo",
        "LOS",
        "SPRT (LLR)",
    ]
    bound = summaries[0].test.upper
    note = (
        "<p class='note'>Elo, LOS and SPRT from the counts of seat-swapped pairs; ∞ where every pair was won or lost. "
        f"SPRT: normalised Elo {SPRT_ELO[0]:.0f} against {SPRT_ELO[1]:.0f}, error rates 5 %, decided at ±{bound:.2f}.</p>"
    )
    return _table(head, rows) + note


def _seats(summaries: Sequence[Summary]) -> str:
    rows = [[s.opponent, *(f"{w} / {d} / {lost}" for w, d, lost in s.seats), " ".join(map(str, s.pairs))] for s in summaries]
    return _table(["opponent", "seat 0: W / D / L", "seat 1: W / D / L", "pairs of 0, ½, 1, 1½, 2 points"], rows)


def _ratings(ratings: Mapping[str, Interval]) -> str:
    ordered = sorted(ratings.items(), key=lambda item: -item[1].value)
    rows = [[name, _number(found.value), f"{_number(found.low)} … {_number(found.high)}"] for name, found in ordered]
    note = "<p class='note'>Bradley–Terry in Elo against the field's mean, one imagined drawn game a player; 95 % intervals.</p>"
    return _table(["player", "rating", "95 % interval"], rows) + note


def _endings(summaries: Sequence[Summary]) -> str:
    rows = []
    for s in summaries:
        rows.append(
            [s.opponent, _counts(s.win_reasons), _counts(s.loss_reasons), f"{s.turns_median:.0f}", f"{s.decisions_mean:.0f}"]
        )
    return _table(["opponent", "wins by", "losses by", "turns (median)", "decisions (mean)"], rows)


def _health(summaries: Sequence[Summary]) -> str:
    rows = []
    for s in summaries:
        apart = _counts(s.apart) or "none"
        rows.append(
            [
                s.opponent,
                f"{s.decision_ms[0]:.2f} / {s.decision_ms[1]:.2f}",
                f"{s.slowest_ms[0]:.0f} / {s.slowest_ms[1]:.0f}",
                f"{s.faults} / {s.opponent_faults}",
                f"{s.fallbacks[0]} / {s.fallbacks[1]}",
                apart,
            ]
        )
    head = ["opponent", "ms a decision (ours / theirs)", "slowest ms", "faults", "fallbacks", "games shown apart"]
    note = "<p class='note'>The network is asked for several games at once; its time is shared evenly among them.</p>"
    return _table(head, rows) + note


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def _number(value: float) -> str:
    if abs(value) > 1e6:
        return "+∞" if value > 0 else "−∞"
    return f"{value:+.0f}".replace("-", "−")
