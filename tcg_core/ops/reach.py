"""Who may go: a pure function of the graph of artifacts. Nothing that a kept artifact was made from ever may."""

from collections.abc import Iterable
from dataclasses import dataclass

from tcg_core.base.graph import Graph
from tcg_core.base.manifest import Key


@dataclass(frozen=True)
class Artifact:
    """What retention looks at. ``age``: days since it was materialized; ``group``: among which the latest are counted.

    ``report``: it describes other artifacts; keeping one of these as the latest of its kind does not keep what it was
    made from. ``sequence``: order of materialization.
    """

    key: Key
    age: float
    passed: bool
    group: str
    sequence: int
    report: bool = False


def kept(
    graph: Graph, artifacts: Iterable[Artifact], named: Iterable[Key], recent_days: float, failed_days: float, latest: int
) -> dict[Key, str]:
    """Why each kept artifact stays, by key; whatever is not in the result may go.

    ``named`` stay with their lineage whether they are registered or not. Artifacts younger than their limit, and the
    ``latest`` passed ones of each group (or the very last, if none passed), stay with theirs; reports without.
    Tournaments of a kept submission are the evidence for it and stay with their lineage too.
    """
    held = list(artifacts)
    why: dict[Key, str] = {}

    def keep(keys: Iterable[Key], reason: str) -> None:
        roots = list(keys)
        for key in roots:
            why.setdefault(key, reason)
        for visit in graph.back(*roots):
            why.setdefault(visit.key, f"needed by what is kept ({reason})")

    keep(named, "named")
    for artifact in held:
        if artifact.age < (recent_days if artifact.passed else failed_days):
            keep([artifact.key], "recent")
    for group in {artifact.group for artifact in held}:
        mine = sorted((a for a in held if a.group == group), key=lambda a: -a.sequence)
        for artifact in [a for a in mine if a.passed][:latest] or mine[:1]:
            if artifact.report:
                why.setdefault(artifact.key, "the latest of its kind")
            else:
                keep([artifact.key], "the latest of its kind")
    submissions = {key for key in why if key[0] == "submission"}
    evidence = [key for key, inputs in graph.inputs.items() if key[0] == "tournament" and inputs and inputs[0].key in submissions]
    keep(evidence, "the evidence for a kept submission")
    return why
