"""The checks of a converted artifact: pure functions of what was read back from disk and of reports."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tcg_core.base.checks import Check
from tcg_core.convert.replay import ParityDifference
from tcg_core.model.architecture import Architecture
from tcg_core.model.names import MODEL_PREFIX, TABLE_PREFIX, weight_table

#: Names of the blocking checks of every artifact.
NAMES = ("strict_names", "fp32", "parity", "reload", "reload_checkpoint")
Arrays = Mapping[str, npt.NDArray[Any]]


def strict_names(architecture: Architecture, arrays: Arrays) -> Check:
    """Leaves of the file and of the weight table are the same set, with the same shapes."""
    table = weight_table(architecture)
    found = {name.removeprefix(MODEL_PREFIX): array.shape for name, array in arrays.items() if name.startswith(MODEL_PREFIX)}
    missing, extra = sorted(set(table) - set(found)), sorted(set(found) - set(table))
    shapes = sorted(name for name in set(table) & set(found) if table[name].shape != found[name])
    problems = {"missing": missing, "extra": extra, "wrong_shape": shapes}
    named = "; ".join(f"{problem.replace('_', ' ')}: {', '.join(names)}" for problem, names in problems.items() if names)
    parameters = sum(leaf.size for leaf in table.values())
    message = named or f"{len(table)} leaves, {parameters:,} parameters, both ways"
    return Check("strict_names", not named, message, facts={"leaves": len(found), "parameters": parameters, **problems})


def fp32(arrays: Arrays) -> Check:
    """Every leaf and every static table is float32 and finite; id tables are int32."""
    wrong = []
    for name, array in arrays.items():
        index = name.startswith((f"{TABLE_PREFIX}card_index.", f"{TABLE_PREFIX}attack_index."))
        if array.dtype != (np.int32 if index else np.float32):
            wrong.append(f"{name} is {array.dtype.name}")
        elif not index and not np.isfinite(array).all():
            wrong.append(f"{name} is not finite")
    return Check("fp32", not wrong, "; ".join(wrong) or f"{len(arrays)} arrays", facts={"wrong": wrong})


def parity(difference: ParityDifference, tolerance: float, lanes: int, decisions: int, steps: int) -> Check:
    """MLX and PyTorch say the same over all reference decisions, within ``tolerance``, with the same choices."""
    worst = f"max |Δ| legal logits {difference.legal_logits:.1e}, memory {difference.memory:.1e}"
    worst += "".join(f", {head} {value:.1e}" for head, value in difference.aux.items())
    message = (
        f"{worst} (limit {tolerance:.0e}) over {difference.rows} rows of {decisions} decisions, {lanes} lanes, {steps} recurrent "
        f"steps; {difference.choices} choices differ, {difference.unmasked} illegal logits are not the mask value"
    )
    facts = {**difference.facts(), "tolerance": tolerance, "lanes": lanes, "decisions": decisions, "steps": steps}
    return Check("parity", difference.within(tolerance) and difference.rows > 0, message, facts=facts)


def reloaded(name: str, report: Mapping[str, Any]) -> Check:
    """A fresh process that loaded files only agrees with the stored reference. ``report``: of ``convert.reload``."""
    passed = bool(report["passed"]) and not report["other_framework"] and report["decisions"] > 0
    message = (
        f"{report['framework']} in a fresh process: max |Δ| {report['difference']:.1e}, of probabilities "
        f"{report['probabilities']:.1e} (limit {report['tolerance']:.0e}) over {report['decisions']} decisions, "
        f"{report['choices_differing']} choices differ"
    )
    if report["other_framework"]:
        message += "; the training framework was imported"
    # The process id is no property of the artifact, whose content hash these facts are part of.
    return Check(name, passed, message, facts={key: value for key, value in report.items() if key != "process"})
