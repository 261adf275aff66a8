"""The run behind the champion: from its submission back to the exact checkpoint that plays."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcg_core.base.errors import TcgError
from tcg_core.base.graph import first_of
from tcg_core.base.home import Home
from tcg_core.base.manifest import read_manifest
from tcg_core.catalog import registry
from tcg_core.catalog.promotions import BOOTSTRAP, champion
from tcg_core.encode.schema import SCHEMA
from tcg_core.plan.errors import ChampionRefused
from tcg_core.plan.parent import find_parent
from tcg_core.recipe import Recipe
from tcg_core.rows.digest import fill_digests_for

SUBMISSION, ARTIFACT, CHECKPOINT = "submission", "torch_artifact", "checkpoint"
REMEDY = "restore it from a backup, or train once from fresh weights: `tcg nightly set mode full`"
UNFIT = "set the recipe back, or train once from fresh weights: `tcg nightly set mode full`"


@dataclass(frozen=True)
class Reigning:
    """The champion and the run it came from. run: empty if there is none; ``why`` then gives the reason. checkpoint: the run's
    pointer to the step that was converted: ``best``, ``latest`` or ``epoch_NNNN``."""

    submission: str
    run: str = ""
    checkpoint: str = ""
    why: str = ""


def reigning(home: Home) -> Reigning:
    """The champion and its run; a baseline has none.

    Raises :class:`ChampionRefused` naming the part of the champion's chain that is missing or not as recorded.
    """
    submission = champion(home)
    if submission == BOOTSTRAP:
        return Reigning(submission, why=f"the champion is the built-in {BOOTSTRAP}, which no run made")
    try:
        artifact = first_of(read_manifest(registry.find(home, SUBMISSION, submission)).inputs, ARTIFACT)
        if artifact is None:
            return Reigning(submission, why=f"champion {submission} was packed from no {ARTIFACT}, so no run made it")
        converted = read_manifest(registry.find(home, ARTIFACT, artifact.id))
        run = first_of(converted.inputs, CHECKPOINT)
        if run is None:
            return Reigning(submission, why=f"champion {submission}: {ARTIFACT} {artifact.id} was made from no {CHECKPOINT}")
        pointer = _pointer(registry.find(home, CHECKPOINT, run.id), str(converted.config["step_content"]))
    except TcgError as error:
        raise ChampionRefused(f"champion {submission} cannot be gone on from: {error}; {REMEDY}") from None
    if not pointer:
        raise ChampionRefused(
            f"champion {submission} cannot be gone on from: no pointer of run {run.id} names step {converted.config['step']}, "
            f"which it was converted from; {REMEDY}"
        )
    return Reigning(submission, run.id, pointer)


def other_rows(home: Home, of: Reigning) -> str:
    """Why no run can continue from the champion's: it was trained on rows of another encoder. Empty if it was not, or if its
    checkpoint cannot be read, which :func:`require_fit` refuses by name."""
    run = registry.find(home, CHECKPOINT, of.run)
    try:
        step = run / str(json.loads((run / f"{of.checkpoint}.json").read_text())["path"])
        found = str(json.loads((step / "state.json").read_text())["schema_digest"])
    except (OSError, ValueError, KeyError):
        return ""
    if found == SCHEMA.digest:
        return ""
    return (
        f"champion {of.submission} was trained on rows of another encoder (schema {found[:12]}, this code {SCHEMA.digest[:12]}), "
        "so no run continues from it"
    )


def require_fit(home: Home, recipe: Recipe, of: Reigning) -> None:
    """Raises :class:`ChampionRefused`, with the remedy, if ``recipe`` cannot resume the champion's run."""
    try:
        find_parent(home, recipe)
        # The next step asks which days are unseen; the digests of rows that it needs are read here, once.
        fill_digests_for(home, of.run)
    except TcgError as error:
        raise ChampionRefused(f"champion {of.submission} cannot be gone on from: {error}; {UNFIT}") from None


def _pointer(run: Path, content: str) -> str:
    """Name of the pointer of ``run`` to the step with this content, ``best`` before others; empty if there is none."""
    names = ["best", "latest", *sorted(file.stem for file in run.glob("epoch_*.json"))]
    for file in (run / f"{name}.json" for name in names):
        values: dict[str, Any] = json.loads(file.read_text()) if file.is_file() else {}
        if values.get("sha256") == content:
            return file.stem
    return ""
