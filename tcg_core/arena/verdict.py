"""Whether a tournament makes its candidate champion: a pure function of what was played."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tcg_core.arena.summary import SPRT_ELO, Summary
from tcg_core.catalog.promotions import INCONCLUSIVE, PROMOTED, REJECTED, Verdict

#: Smallest share of the games against the champion that must be clean, lest the verdict rest on what was left over.
CLEAN_SHARE = 0.95


@dataclass(frozen=True)
class Judgement:
    """A verdict and its reason in one sentence."""

    verdict: Verdict
    reason: str


def judge(incumbent: str, met: str | None, summaries: Mapping[str, Summary]) -> Judgement:
    """The verdict on a candidate, from matches (under best of one: games). ``met``: the reigning champion's name in the
    tournament, None if it did not play; ``summaries``: by opponent's name.

    Promoted only if no game was lost to a fault or answered by a fallback of the candidate, the games against the champion
    are clean, the sequential test against it accepts, and no other opponent is significantly stronger. Validation accuracy
    is no argument of this function.
    """
    ours = [name for name, summary in summaries.items() if summary.faults or summary.fallbacks[0]]
    if ours:
        broken = summaries[ours[0]]
        return Judgement(
            REJECTED,
            f"against {ours[0]} the candidate had {broken.faults} faults and {broken.fallbacks[0]} fallbacks: "
            f"no clean {broken.unit}",
        )
    if met is None or met not in summaries:
        return Judgement(INCONCLUSIVE, f"the reigning champion {incumbent} did not play in this tournament")
    duel = summaries[met]
    if duel.clean < CLEAN_SHARE * duel.matches:
        return Judgement(
            INCONCLUSIVE,
            f"only {duel.clean} of {duel.matches} {duel.unit} against the champion {incumbent} are clean; "
            f"{CLEAN_SHARE:.0%} are needed",
        )
    test = duel.test
    where = (
        f"SPRT of normalised Elo {SPRT_ELO[0]:.0f} against {SPRT_ELO[1]:.0f} over {duel.clean} {duel.unit} with the champion "
        f"{incumbent}: LLR {test.llr:.2f}, bounds {test.lower:.2f} and {test.upper:.2f}"
    )
    if test.verdict == "reject":
        return Judgement(REJECTED, f"not stronger: {where}")
    if test.verdict == "continue":
        return Judgement(INCONCLUSIVE, f"undecided, more {duel.unit} are needed: {where}")
    stronger = _losses([summary for name, summary in summaries.items() if name != met])
    if stronger:
        return Judgement(REJECTED, f"stronger than the champion {incumbent}, but it loses significantly to {stronger}")
    return Judgement(PROMOTED, f"stronger: {where}; no significant loss against {len(summaries) - 1} others")


def _losses(panel: Sequence[Summary]) -> str:
    found = []
    for summary in panel:
        score = summary.score
        if score is not None and score.high < 0.5:
            found.append(f"{summary.opponent} (score {score.value:.1%}, 95 % interval up to {score.high:.1%})")
    return ", ".join(found)
