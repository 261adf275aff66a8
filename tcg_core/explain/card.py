"""The card of an artifact: one sentence of verdict, at most five numbers with unit and meaning, one small picture.

A pure function of what its stage counted and its checks; every page begins with it. Numbers that a stage did not count are left
out, never guessed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.checks import Check
from tcg_core.explain.drawn import bars, curve

OUTSIDE_IDENTITY = "words about results"
MOST_FIGURES = 5
_MOST_TEXT = 200
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class PageCard:
    """verdict: one line; figures: lines "number unit meaning"; picture: SVG, "" where there is nothing to draw."""

    verdict: str
    figures: tuple[str, ...]
    picture: str = ""


def _count(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _mega(value: float) -> str:
    return f"{value / 1e6:.3g} MB"


Shown = tuple[str, Callable[[float], str], str]
_DAY: tuple[Shown, ...] = (
    ("members", _count, "episodes in the archive"),
    ("episodes", _count, "usable episodes"),
    ("games", _count, "games"),
    ("rows", _count, "rows to train on"),
    ("bytes", _mega, "on disk"),
    ("json_bytes", _mega, "of JSON, unpacked"),
    ("first_player_wins", _share, "won by who goes first"),
)
#: asset -> facts in the order of their weight, with format and meaning.
_FIGURES: dict[str, tuple[Shown, ...]] = {
    "day_archive": _DAY,
    "day_catalog": _DAY,
    "staged_day": _DAY,
    "parquet_day": _DAY,
    "field_drift": (
        ("games", _count, "games on the day"),
        ("deck_distance", _short, "distance of the decks (0 same, 1 other)"),
        ("name_distance", _short, "distance of the teams (0 same, 1 other)"),
        ("decisions_a_game", _short, "decisions a game"),
        ("first_player_wins", _share, "won by who goes first"),
    ),
    "ratings": (
        ("rows", _count, "ratings: agent, day and source"),
        ("agents_by_replay", _count, "agents rated from games"),
        ("agents_by_leaderboard", _count, "agents rated by the leaderboard"),
        ("leaderboards", _count, "leaderboards read"),
    ),
    "card_features": (
        ("cards", _count, "cards in the vocabulary"),
        ("attacks", _count, "attacks in the vocabulary"),
    ),
    "work_plan": (
        ("days", _count, "days"),
        ("train_rows", _count, "rows to train on, each epoch"),
        ("validation_rows", _count, "rows to validate on"),
        ("horizon", _count, "updates in all epochs"),
        ("train_fill_pct", lambda value: f"{value:.3g} %", "of a microbatch is filled"),
    ),
    "mlx_checkpoint": (
        ("val_acc_unforced", _share, "right where there was a choice"),
        ("baseline_acc_unforced", _share, "right by the simple baseline"),
        ("val_equiv", _share, "same meaning as the recorded pick"),
        ("val_ce", _short, "nats: validation cross-entropy"),
        ("updates", _count, "updates of the optimizer"),
    ),
    "torch_artifact": (
        ("parameters", _count, "parameters"),
        ("parity", _short, "largest difference, MLX to PyTorch"),
        ("tolerance", _short, "difference allowed"),
        ("reference_decisions", _count, "real decisions compared"),
    ),
    "submission": (
        ("archive_bytes", _mega, "size of the archive"),
        ("preflight_games", _count, "games played in the preflight"),
        ("p50_ms", lambda value: f"{value:.3g} ms", "a decision, median"),
        ("p99_ms", lambda value: f"{value:.3g} ms", "a decision, 99 of 100"),
    ),
    "tournament": (
        ("matches", _count, "matches"),
        ("games", _count, "games"),
        ("fallbacks", _count, "moves without the network"),
        ("errors", _count, "errors"),
        ("timeouts", _count, "timeouts"),
    ),
    "champion": (("decisions", _count, "decisions so far"),),
}


def card_of(asset: str, facts: Facts, checks: Sequence[Check], path: Path | None = None) -> PageCard:
    """The card of an artifact of ``asset``. path: of a training run, whose curve is drawn from its latest checkpoint."""
    shown = [
        f"**{show(facts[name])}** {meaning}"
        for name, show, meaning in _FIGURES.get(asset, ())
        if isinstance(facts.get(name), int | float) and not isinstance(facts.get(name), bool)
    ]
    results = _scores(facts.get("results"))
    scored = [f"**{_share(s)}** against {name} ({_share(low)} to {_share(high)})" for name, s, low, high in results]
    picture = bars([(f"score, {name}", round(100 * score, 1)) for name, score, _, _ in results])
    if asset == "mlx_checkpoint" and path is not None:
        picture = picture or curve(_losses(path), "training loss")
    return PageCard(_verdict(asset, facts, checks), tuple([*scored[:3], *shown][:MOST_FIGURES]), picture or _bars(asset, facts))


def played_card(results: Facts, standing: str, changed_days: int = 0) -> PageCard:
    """The card of a submission that was played: whether it reigns, its scores with their 95 % intervals, and how many of the
    days behind it changed since. results: by opponent's name, as a tournament's facts hold them."""
    played = card_of("tournament", {"results": results}, ())
    changed = f". {changed_days} of its days changed since." if changed_days else ""
    return PageCard(
        _line(f"Champion: {standing.rstrip('.')}", _MOST_TEXT - len(changed)) + changed, played.figures, played.picture
    )


def _verdict(asset: str, facts: Facts, checks: Sequence[Check]) -> str:
    failed = [check for check in checks if check.blocks]
    if failed:
        return _line(f"FAILED, not used: {failed[0].name}: {failed[0].message}")
    warned = [check.name for check in checks if not check.passed]
    if asset == "champion" and facts.get("champion"):
        said = f"{facts['champion']} reigns. {facts.get('verdict', '')}: {facts.get('reason', '')}"
    elif not checks:
        said = "Made; no check is recorded with it."
    else:
        said = f"Good: {'its check' if len(checks) == 1 else f'all {len(checks)} checks'} passed."
    if asset != "champion" and warned:
        said = f"Usable with a warning: {', '.join(warned)}."
    return _line(said)


def _line(text: str, most: int = _MOST_TEXT) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _scores(results: Any) -> list[tuple[str, float, float, float]]:
    held = results if isinstance(results, Mapping) else {}
    rows = [(str(name), *(item.get(key) for key in ("score", "low", "high"))) for name, item in sorted(held.items())]
    return [row for row in rows if all(isinstance(value, float | int) for value in row[1:])]


#: asset -> facts that are drawn side by side.
_DRAWN: dict[str, tuple[str, ...]] = {
    "day_archive": ("members",),
    "staged_day": ("episodes", "games", "decisions"),
    "day_catalog": ("episodes", "games", "decisions"),
    "parquet_day": ("rows", "decisions"),
    "field_drift": ("deck_distance", "name_distance"),
    "ratings": ("agents_by_replay", "agents_by_leaderboard"),
    "work_plan": ("train_rows", "validation_rows"),
    "torch_artifact": ("parity", "tolerance"),
    "submission": ("p50_ms", "p99_ms", "max_ms"),
}


def _bars(asset: str, facts: Facts) -> str:
    named = [(name, facts[name]) for name in _DRAWN.get(asset, ()) if isinstance(facts.get(name), int | float)]
    return bars([(name.replace("_", " "), float(value)) for name, value in named])


def _losses(run: Path) -> list[float]:
    """The training loss of each update by the run's latest checkpoint; none without one."""
    pointer = run / "latest.json"
    if not pointer.is_file():
        return []
    state = run / str(json.loads(pointer.read_text(encoding="utf-8"))["path"]) / "state.json"
    held = json.loads(state.read_text(encoding="utf-8")) if state.is_file() else {}
    return [float(point[1]) for point in held.get("progress", {}).get("curve", ())]
