"""The tournament's page: self-contained HTML, readable in print, saying in words what it shows and what it does not."""

from collections.abc import Mapping, Sequence
from html import escape

from tcg_core.arena import tables
from tcg_core.arena.forest import Forest
from tcg_core.arena.plots import histogram
from tcg_core.arena.schedule import TournamentSchedule
from tcg_core.arena.stats.power import games_needed, minimal_detectable_score
from tcg_core.arena.stats.score import Interval
from tcg_core.arena.summary import Summary

#: Smallest share of clean games from which words are drawn: games set apart are not a random part of all.
FAIR_SHARE = 0.8
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; }
h2 { font-size: 1.15rem; margin-top: 2rem; border-bottom: 1px solid #d0d7de; }
table { border-collapse: collapse; width: 100%; margin: .6rem 0; font-size: .9em;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .5rem; border-bottom: 1px solid #d8dee4; vertical-align: top; }
th { font-weight: 600; vertical-align: bottom; } td { white-space: nowrap; }
.text { text-align: left; } td.text:not(:first-child) { white-space: normal; overflow-wrap: anywhere; }
figure { margin: .6rem 0; } figcaption { color: #57606a; font-size: .9em; }
.scroll { overflow-x: auto; } .note { color: #57606a; font-size: .9em; }
svg { font-family: system-ui, sans-serif; } svg text { fill: #1b1f24; }
@media print { body { max-width: none; margin: 0; padding: 0; font-size: 9.5pt; } .scroll { overflow: visible; }
  table { font-size: 8pt; } th, td { padding: .1rem .25rem; } td, td.text { white-space: normal; }
  h2 { break-after: avoid; margin-top: 1.2rem; } table, figure, .scroll { break-inside: avoid; } @page { margin: 15mm; } }
"""


def report(
    identity: str,
    schedule: TournamentSchedule,
    summaries: Sequence[Summary],
    ratings: Mapping[str, Interval],
    about: Mapping[str, str],
) -> str:
    """The whole page. ``about``: names and values of the last table (hashes, engine)."""
    candidate = schedule.players[0].name
    ordered = sorted(ratings.items(), key=lambda item: -item[1].value)
    turns = [turns for summary in summaries for turns in summary.turns]
    scored = [(s.opponent, s.score) for s in summaries if s.score is not None]
    sections = {
        "What this shows": "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences(candidate, summaries)),
        "Scores": Forest.of_scores(scored, "Score against each opponent with its 95 percent interval").svg()
        + tables.scores(summaries),
        **({"Matches and games": tables.games(summaries)} if schedule.best_of > 1 else {}),
        "Ratings of the field": Forest.of_ratings(ordered, "Rating of each player with its 95 percent interval").svg()
        + tables.rated(ratings, schedule.unit),
        "Cross table": tables.cross(candidate, summaries),
        "Seats": tables.seats(summaries),
        "Decks": tables.decks(schedule, summaries),
        "How games end": tables.endings(summaries),
        "Length of games": histogram(turns, "Games by number of turns", "turns") + tables.lengths(summaries),
        "Time of decisions": tables.times(candidate, summaries),
        "Errors and fallbacks": tables.health(candidate, summaries),
        "Players": tables.players(schedule),
        "Identity": tables.table(["what", "value"], list(about.items()), text=(1,)),
    }
    engine = f"engine {escape(schedule.generation)}"
    games = f"{len(schedule.games)} games of {engine}, best of one, seats swapped in pairs."
    if schedule.best_of > 1:
        played = sum(summary.games for summary in summaries)
        games = f"{len(schedule.games)} matches of {engine}, best of {schedule.best_of}, {played} games, seats swapped in pairs."
    body = "".join(f"<section><h2>{title}</h2>{content}</section>" for title, content in sections.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(f"Tournament {identity}")}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><h1>Tournament of {escape(candidate)}</h1><p>{games}</p>{body}</body></html>\n"
    )


def sentences(candidate: str, summaries: Sequence[Summary]) -> list[str]:
    """What the result shows and does not show, one statement a sentence."""
    said = []
    for summary in summaries:
        score, unit = summary.score, summary.unit
        one = "game" if summary.best_of == 1 else "match"
        if score is None:
            said.append(f"Against {summary.opponent} no {one} counts: every one had an error, a fallback or no result.")
            continue
        if summary.clean < FAIR_SHARE * summary.matches:
            said.append(
                f"Against {summary.opponent} only {summary.clean} of {summary.matches} {unit} count; those that ended by a fault "
                "were not a random part, so what is left is no fair sample and nothing is concluded from it."
            )
            continue
        versus = f"{candidate} against {summary.opponent}: score {score.value:.1%} of {summary.clean} {unit}"
        interval = f"95 % interval {score.low:.1%} to {score.high:.1%}"
        if score.low > 0.5:
            said.append(f"{versus}, {interval}: it is stronger than {summary.opponent} with these decks.")
        elif score.high < 0.5:
            said.append(f"{versus}, {interval}: it is weaker than {summary.opponent} with these decks.")
        else:
            detectable = minimal_detectable_score(summary.clean)
            said.append(
                f"{versus}, {interval}: no difference is shown. {summary.clean} {unit} show a true score of {detectable:.1%} or "
                f"more four times out of five; a difference of 20 Elo would take about {games_needed(20):,} {unit}."
            )
        apart = sum(summary.apart.values())
        if apart:
            said.append(f"{apart} {unit} against {summary.opponent} are shown apart and count for nothing here.")
    if any(summary.best_of > 1 for summary in summaries):
        said.append(
            "A match is one observation: the games of a match share seats and decks, so they are shown but not counted as "
            "evidence. A better player wins more matches than games, so these scores are not those of single games."
        )
    said.append(
        "The result holds for these decks, this engine generation and these opponents. It does not say how the "
        "candidate fares against other decks or on the ladder, where the same bytes were seen 28 to 173 points apart."
    )
    return said
