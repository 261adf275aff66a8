"""Random graphs: nothing a kept artifact was made from may go."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tcg_core.base.graph import Graph
from tcg_core.base.manifest import Input
from tcg_core.ops.reach import Artifact, kept

KINDS = ("parquet_day", "work_plan", "checkpoint", "torch_artifact", "submission", "tournament", "ratings")


def graph_of(keys):
    return Graph({key: tuple(Input(*source, "") for source in sources) for key, sources in keys.items()})


def lineage(graph, roots):
    return {visit.key for visit in graph.back(*roots)}


@st.composite
def homes(draw):
    size = draw(st.integers(1, 25))
    keys, graph, artifacts = [], {}, []
    for index in range(size):
        kind = draw(st.sampled_from(KINDS))
        key = (kind, str(index))
        # Inputs are made before what they go into; the last one is sometimes not registered at all.
        graph[key] = tuple(draw(st.lists(st.sampled_from(keys), max_size=3, unique=True))) if keys else ()
        keys.append(key)
        artifacts.append(Artifact(key, draw(st.floats(0, 60)), draw(st.booleans()), kind, index, report=kind == "ratings"))
    named = draw(st.lists(st.sampled_from(keys), max_size=2))
    return graph_of(graph), artifacts, named, draw(st.floats(0, 50)), draw(st.floats(0, 20)), draw(st.integers(1, 3))


@settings(max_examples=200, deadline=None)
@given(homes())
def test_whatever_stays_keeps_its_whole_lineage(case):
    graph, artifacts, named, recent, failed, latest = case
    why = kept(graph, artifacts, named, recent, failed, latest)
    lone = {key for key, reason in why.items() if key[0] == "ratings" and reason == "the latest of its kind"}
    assert lineage(graph, set(why) - lone) <= set(why)
    assert set(named) <= set(why)
    for artifact in artifacts:
        if artifact.age < (recent if artifact.passed else failed):
            assert artifact.key in why
    for group in {a.group for a in artifacts}:
        passed = [a for a in artifacts if a.group == group and a.passed]
        assert {a.key for a in passed[-latest:]} <= set(why)
        assert passed or max((a for a in artifacts if a.group == group), key=lambda a: a.sequence).key in why
    for key, inputs in graph.inputs.items():
        if key[0] == "tournament" and inputs and inputs[0].kind == "submission":
            assert key in why or "evidence" in why.get(inputs[0].key, "evidence"), "a kept submission lost its evidence"


@settings(max_examples=200, deadline=None)
@given(homes())
def test_what_goes_is_old_unnamed_and_nothing_kept_needs_it(case):
    graph, artifacts, named, recent, failed, latest = case
    why = kept(graph, artifacts, named, recent, failed, latest)
    gone = {artifact.key: artifact for artifact in artifacts if artifact.key not in why}
    for key, artifact in gone.items():
        assert key not in named and artifact.age >= (recent if artifact.passed else failed)
        users = {other for other, inputs in graph.inputs.items() if key in [item.key for item in inputs]} & set(why)
        assert all(user[0] == "ratings" and why[user] == "the latest of its kind" for user in users)
    rest = [artifact for artifact in artifacts if artifact.key in why]
    left = Graph({key: inputs for key, inputs in graph.inputs.items() if key in why})
    again = kept(left, rest, named, recent, failed, latest)
    assert {artifact.key for artifact in rest} == set(again) & {a.key for a in rest}, "a second clean-up finds more to remove"
