"""Preflight's rules, over what lies in the extracted folder and over what came of playing it."""

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tcg_core.base.checks import Check
from tcg_core.base.errors import IntegrityError
from tcg_core.base.manifest import MANIFEST, RECORDED, Manifest, hash_files, read_manifest
from tcg_core.engine.decks import deck_hash, read_deck, validate_deck
from tcg_core.engine.errors import DeckError
from tcg_core.engine.library import GENERATIONS
from tcg_core.model.torch_load import CONTRACT
from tcg_core.submission.archive import ArchiveRefused
from tcg_core.submission.closure import NotPackable, foreign_imports
from tcg_core.submission.contents import REQUIRED
from tcg_core.submission.kaggle import PreflightEpisode, PreflightOutcome
from tcg_core.submission.names import DECK, ENTRY, KIND

#: Seconds a seat has in a game, and decisions of one seat in the longest game that is planned for (the longest of
#: 6,000 measured games had 542 of both seats).
BUDGET, LONGEST_GAME = 600.0, 600


def inspect(folder: Path, members: Sequence[str]) -> dict[str, Any]:
    """The contract of an extracted archive, after the rules that need no running.

    Raises :class:`ArchiveRefused` with the rule: required_member, manifest, foreign_import, file_variable, entry_point,
    contract, generation.
    """
    missing = [name for name in REQUIRED if name not in members]
    if missing:
        raise ArchiveRefused("required_member", f"{missing[0]} is not in the archive")
    _same_as_manifest(folder)
    sources = {}
    for name in members:
        if name.endswith(".py"):
            try:
                sources[name] = (folder / name).read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise ArchiveRefused("format", f"{name} is no UTF-8 text: {error}") from None
    try:
        foreign = foreign_imports(sources)
    except NotPackable as error:
        raise ArchiveRefused("foreign_import", str(error)) from None
    if foreign:
        raise ArchiveRefused("foreign_import", foreign[0])
    _entry_point(sources[ENTRY])
    try:
        contract: dict[str, Any] = json.loads((folder / CONTRACT).read_text())
        generations = contract["generations"]
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveRefused("contract", f"{CONTRACT} is none: {error}") from None
    unknown = [generation for generation in generations if generation not in GENERATIONS]
    if unknown or not generations:
        raise ArchiveRefused("generation", f"declared engine generations {generations}, known are {', '.join(GENERATIONS)}")
    return contract


def _same_as_manifest(folder: Path) -> None:
    try:
        manifest: Manifest = read_manifest(folder)
    except IntegrityError as error:
        raise ArchiveRefused("manifest", str(error)) from None
    if manifest.kind != KIND:
        raise ArchiveRefused("manifest", f"{MANIFEST} is of a {manifest.kind}, expected a {KIND}")
    if (folder / RECORDED).exists():
        raise ArchiveRefused("manifest", f"{RECORDED} does not belong in an archive")
    found = hash_files(folder)
    for name in sorted(set(found) | set(manifest.files)):
        expected, actual = manifest.files.get(name, "absent"), found.get(name, "absent")
        if expected != actual:
            raise ArchiveRefused("manifest", f"{name}: expected SHA-256 {expected[:12]}, found {actual[:12]}")
    try:
        deck = read_deck(folder / DECK)
    except DeckError as error:
        raise ArchiveRefused("manifest", str(error)) from None
    if deck_hash(deck) != manifest.config.get("deck_sha256"):
        raise ArchiveRefused("manifest", f"{DECK} is not the deck that the manifest binds to this policy")


def _entry_point(source: str) -> None:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__file__":
            raise ArchiveRefused("file_variable", f"{ENTRY}:{node.lineno} uses __file__, which Kaggle does not define")
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    if not defined or defined[-1].name != "agent":
        last = defined[-1].name if defined else "nothing"
        raise ArchiveRefused(
            "entry_point", f"the last callable that {ENTRY} defines is {last}, expected agent: Kaggle takes the last"
        )


def deck_check(folder: Path, outcome: PreflightOutcome, generations: Sequence[str]) -> Check:
    """The deck is legal everywhere the policy plays, and it is what the agent answers when asked."""
    deck = list(read_deck(folder / DECK))
    try:
        for generation in generations:
            validate_deck(generation, deck)
    except DeckError as error:
        return Check("deck", False, f"{DECK}: {error}", facts={"rule": "deck_rules"})
    if outcome.failure and not outcome.deck:
        return Check("deck", False, outcome.failure, facts={"rule": "load"})
    if outcome.deck != deck:
        return Check("deck", False, f"asked for its deck the agent did not answer {DECK}", facts={"rule": "deck_answer"})
    return Check("deck", True, f"{len(deck)} cards, legal in {', '.join(generations)}", facts={"deck_sha256": deck_hash(deck)})


def logits_check(outcome: PreflightOutcome) -> Check:
    """The packed network, in the sandbox process, gives what the artifact recorded."""
    found = outcome.reference
    if "rows" not in found:
        return Check(
            "logits",
            False,
            found.get("error") or outcome.failure or "the reference was not replayed",
            facts={"rule": "reference"},
        )
    largest = max(found["logits"], found["memory"])
    passed = largest <= found["tolerance"] and found["choices"] == 0
    text = (
        f"{found['rows']} reference rows: largest difference {largest:.2g} (limit {found['tolerance']:.0e}), "
        f"{found['choices']} other choices"
    )
    return Check("logits", passed, text, facts=dict(found) | ({} if passed else {"rule": "reference"}))


def plays_check(folder: Path, outcome: PreflightOutcome, planned: Sequence[PreflightEpisode]) -> Check:
    """Every planned episode ended DONE on both sides, without error or fallback, by the callable named agent."""

    def refuse(rule: str, text: str) -> Check:
        return Check("plays", False, text, facts={"rule": rule, "games": len(outcome.episodes)})

    if outcome.failure:
        return refuse("load" if not outcome.episodes else "crash", outcome.failure)
    if outcome.callable_name != "agent":
        return refuse("entry_point", f"the last callable of {ENTRY} is {outcome.callable_name}, expected agent")
    outside = [path for name, path in outcome.modules.items() if name == "tcg_core" and not Path(path).is_relative_to(folder)]
    if outside:
        return refuse("own_modules", f"tcg_core was imported from {outside[0]}, not from the archive")
    for played in outcome.episodes:
        where = f"{played.generation}, seat {played.seat}, against {played.opponent}"
        if played.failure or played.statuses != ["DONE", "DONE"]:
            return refuse("error", f"{where}: statuses {played.statuses}: {played.failure or 'no failure was seen'}")
        if played.fallbacks.get("total", 1):
            first = next(iter(played.fallbacks.get("first", {}).items()), ("unknown", "the agent reports no fallbacks"))
            return refuse(
                "fallback", f"{where}: {played.fallbacks.get('total', '?')} fallbacks, the first {first[0]}: {first[1]}"
            )
        if not played.seconds:
            return refuse("no_decision", f"{where}: the policy was never asked")
    if len(outcome.episodes) != len(planned) or {e.seat for e in planned} != {0, 1}:
        return refuse("seats", f"{len(outcome.episodes)} of {len(planned)} episodes played, both seats are needed")
    decisions = sum(len(played.seconds) for played in outcome.episodes)
    # The agent counts over its whole life: the last episode's count is that of all.
    unknown = outcome.episodes[-1].unknown_card
    text = f"{len(outcome.episodes)} episodes in both seats, {decisions} decisions, 0 errors, 0 fallbacks"
    if unknown.get("decisions"):
        text += f"; {unknown['decisions']} decisions showed {', '.join(unknown['ids'])}, which its tables do not have"
    facts = {"games": len(outcome.episodes), "decisions": decisions, "unknown_card": unknown.get("decisions", 0)}
    return Check("plays", True, text, facts=facts)


def time_check(outcome: PreflightOutcome) -> Check:
    """Time of a decision on one thread, and of the longest game planned for, against the budget of a seat."""
    seconds = sorted(second for played in outcome.episodes for second in played.seconds)
    if not seconds:
        return Check("time", False, "no decision was timed", facts={"rule": "not_run"})
    p50, p99 = seconds[len(seconds) // 2], seconds[min(len(seconds) - 1, int(0.99 * len(seconds)))]
    mean = sum(seconds) / len(seconds)
    projected = outcome.load_seconds + LONGEST_GAME * max(mean, p50) + seconds[-1]
    facts = {
        "p50_ms": round(1000 * p50, 2),
        "p99_ms": round(1000 * p99, 2),
        "max_ms": round(1000 * seconds[-1], 2),
        "load_seconds": round(outcome.load_seconds, 2),
        "projected_worst_game_seconds": round(projected, 1),
        "decisions": len(seconds),
    }
    text = (
        f"{facts['p50_ms']} ms p50, {facts['p99_ms']} ms p99, {facts['max_ms']} ms max; a game of {LONGEST_GAME} own decisions "
        f"would take {projected:.0f} of {BUDGET:.0f} s"
    )
    return Check("time", projected < BUDGET / 2, text, facts=facts)
