"""Checks of a finished run, re-derived from its plan, its progress and what is on disk."""

import math
from pathlib import Path
from typing import Any

from safetensors import safe_open

from tcg_core.base.checks import Check
from tcg_core.plan.plan import Plan
from tcg_core.rows.cache import CacheCounters
from tcg_core.train.metrics import AUX_NAMES
from tcg_core.train.runs.checkpoint import OPTIMIZER, WEIGHTS
from tcg_core.train.runs.state import Progress

#: Accuracy must exceed the baseline by this many standard errors of it, so that chance does not pass.
MARGIN = 3.0
#: Beyond these a person should look: share of the auxiliary losses in the loss, growth of the gradient norm, share of row groups
#: served from memory.
MOST_AUX, MOST_GROWTH, LEAST_HITS = 0.75, 10.0, 0.8


def check_run(plan: Plan, progress: Progress, step: Path) -> tuple[Check, ...]:
    """All checks; ``step`` is the directory of the best checkpoint."""
    return (
        fp32(step),
        processed_as_planned(plan, progress),
        validation_once(plan, progress),
        finite(progress),
        learned(progress, resumed=plan.parent is not None),
        aux_heads(progress),
        aux_share(progress),
        grad_norm(progress),
        cache_hits(progress),
    )


def fp32(step: Path) -> Check:
    """Every leaf and every moment on disk is float32."""
    wrong, count = [], 0
    for file in (WEIGHTS, OPTIMIZER):
        with safe_open(step / file, framework="numpy") as tensors:
            for name in tensors.keys():  # noqa: SIM118 (not a mapping)
                if name.startswith("tables.") and "_index." in name:
                    continue
                count += 1
                if tensors.get_slice(name).get_dtype() != "F32":
                    wrong.append(f"{file}: {name} is {tensors.get_slice(name).get_dtype()}")
    return Check("fp32", not wrong, wrong[0] if wrong else f"{count} leaves, tables and moments, all float32")


def processed_as_planned(plan: Plan, progress: Progress) -> Check:
    """Microbatches, updates and rows of every epoch, and updates of the run, are those of the plan."""
    planned = [[plan.count(e), plan.updates(e), plan.rows["train"]] for e in range(plan.recipe.epochs)]
    same = planned == progress.processed and plan.horizon == progress.updates
    message = (
        f"{plan.recipe.epochs} epochs, {plan.horizon} updates" if same else f"planned {planned}, processed {progress.processed}"
    )
    return Check("processed_as_planned", same, message, facts={"updates": progress.updates, "horizon": plan.horizon})


def validation_once(plan: Plan, progress: Progress) -> Check:
    """Each epoch scored all validation rows; that each was scored once is asserted while they are."""
    wanted = plan.rows["validation"]
    found = [entry["validation_rows"] for entry in progress.history]
    passed = found == [wanted] * plan.recipe.epochs and all(e["validation"]["rows"] == wanted for e in progress.history)
    return Check("validation_once", passed, f"{wanted} validation rows, scored {found}")


def finite(progress: Progress) -> Check:
    """No NaN, no infinity in losses and metrics."""
    bad = [f"curve at update {p[0]}" for p in progress.curve if not math.isfinite(p[1])]
    bad += [f"epoch {e['epoch']} {name}" for e in progress.history for name in _not_finite(e["validation"])]
    return Check("finite", not bad, bad[0] if bad else f"{len(progress.curve)} points and {len(progress.history)} epochs")


def learned(progress: Progress, resumed: bool = False) -> Check:
    """On unforced validation rows the best epoch beats the better of most frequent option rank and first legal option by
    :data:`MARGIN` standard errors and has a lower cross-entropy than the uniform choice, and the training loss fell;
    of a run that goes on from a trained one the last is not asked, since its loss begins where the other's ended."""
    best = best_entry(progress)["validation"]["unforced"]
    if not best["rows"]:
        return Check("learned", False, "no validation row has more than one legal answer")
    baseline = max(best["rank_baseline"], best["first_legal"])
    needed = baseline + MARGIN * math.sqrt(max(baseline * (1 - baseline), 1e-9) / best["rows"])
    quarter = max(len(progress.curve) // 4, 1)
    start, end = (_mean(part) for part in (progress.curve[:quarter], progress.curve[-quarter:]))
    passed = best["acc"] > needed and best["ce"] < best["uniform_ce"] and (resumed or end < start)
    message = (
        f"unforced accuracy {best['acc']:.3f}, needed {needed:.3f} (baseline {baseline:.3f}); cross-entropy {best['ce']:.3f}, "
        f"uniform {best['uniform_ce']:.3f}; training loss {start:.3f} to {end:.3f}"
    )
    return Check(
        "learned", passed, message, facts={"acc": best["acc"], "baseline": baseline, "needed": needed, "rows": best["rows"]}
    )


def aux_heads(progress: Progress) -> Check:
    """Each auxiliary head is better than the constant answer, in its best epoch by accuracy. Shown, not blocking."""
    best = best_entry(progress)["validation"]
    built = {name: (best[name], best[f"mean_{name}"]) for name in AUX_NAMES.values() if best[name] is not None}
    worse = [name for name, (loss, constant) in built.items() if not loss < constant]
    listed = ", ".join(f"{name} {loss:.3f} of {constant:.3f}" for name, (loss, constant) in built.items())
    message = (f"not better than a constant: {', '.join(worse)}; " if worse else "") + (listed or "no auxiliary head is built")
    return Check("aux_heads", not worse, message, "WARN")


def aux_share(progress: Progress) -> Check:
    """The weighted auxiliary losses are at most :data:`MOST_AUX` of the last epoch's training loss. Shown, not blocking."""
    last = progress.history[-1]
    share = last["train_aux_loss"] / (last["train_loss"] + last["train_aux_loss"])
    return Check(
        "aux_share", share <= MOST_AUX, f"auxiliary losses are {share:.0%} of the last epoch's loss", "WARN", {"share": share}
    )


def grad_norm(progress: Progress) -> Check:
    """The mean gradient norm before the clip did not grow :data:`MOST_GROWTH`-fold from the first epoch to the last, as it does
    before a run diverges. Not blocking."""
    first, last = (progress.history[i]["grad_norm_preclip"] for i in (0, -1))
    clipped = progress.history[-1]["clipped_share"]
    message = (
        f"mean norm before the clip {first:.3g} in the first epoch, {last:.3g} in the last, {clipped:.0%} of its updates clipped"
    )
    facts = {"first": first, "last": last, "clipped_share": clipped}
    return Check("grad_norm", last <= MOST_GROWTH * first, message, "WARN", facts)


def cache_hits(progress: Progress) -> Check:
    """Row groups were mostly served from memory on both sides; says whether the rows fitted. Not blocking."""
    facts: dict[str, float] = {}
    said = []
    for side, held in progress.history[-1]["cache"].items():
        counters = CacheCounters(**held)
        facts |= {
            f"{side}_hit_rate": counters.hit_rate,
            f"{side}_ssd_rate": counters.ssd_rate,
            f"{side}_peak_bytes": held["peak_bytes"],
        }
        fitted = "all rows fitted" if not held["evictions"] else f"{held['evictions']} evicted, {counters.ssd_rate:.0%} from disk"
        said.append(f"{side} {counters.hit_rate:.1%} from memory, {fitted} in {held['peak_bytes'] / 2**20:.1f} MiB")
    lowest = min(facts["train_hit_rate"], facts["val_hit_rate"])
    return Check("cache_hits", lowest >= LEAST_HITS, "; ".join(said), "WARN", facts)


def best_entry(progress: Progress) -> dict[str, Any]:
    """The history entry of the best epoch."""
    if progress.best is None:
        raise ValueError("no epoch was validated")
    found: dict[str, Any] = progress.history[progress.best["epoch"]]
    return found


def _mean(points: list[list[float]]) -> float:
    weight = sum(p[2] for p in points)
    return sum(p[1] * p[2] for p in points) / weight


def _not_finite(values: dict[str, Any], prefix: str = "") -> list[str]:
    bad = []
    for name, value in values.items():
        if isinstance(value, dict):
            bad += _not_finite(value, f"{prefix}{name}.")
        elif isinstance(value, float) and not math.isfinite(value):
            bad.append(prefix + name)
    return bad
