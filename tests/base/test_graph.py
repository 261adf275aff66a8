"""The walk over the lineage graph, against the definitions of what it yields, on random graphs."""

import sys
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tcg_core.base.graph import Graph, first_of, made_first
from tcg_core.base.manifest import Input

KINDS = ("parquet_day", "work_plan", "checkpoint", "submission")


@st.composite
def graphs(draw):
    """Inputs are made before what they go into."""
    keys, inputs = [], {}
    for index in range(draw(st.integers(1, 20))):
        chosen = draw(st.lists(st.sampled_from(keys), max_size=4)) if keys else []
        key = (draw(st.sampled_from(KINDS)), str(index))
        inputs[key] = tuple(Input(*source, draw(st.sampled_from("ab"))) for source in chosen)
        keys.append(key)
    return Graph(inputs)


def reached(near, root):
    """The least set that holds the root and the neighbours of each of its own: grown until nothing is added."""
    found = {root}
    while more := {other for key in found for other in near(key)} - found:
        found |= more
    return found


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_each_node_is_reached_once_and_by_an_edge_from_what_was_reached_before(graph):
    for root in graph.inputs:
        visits = list(graph.back(root))
        assert [visit.key for visit in visits] == list(dict.fromkeys(visit.key for visit in visits))
        assert {visit.key for visit in visits} == reached(lambda key: [item.key for item in graph.of(key)], root)
        depths = {visit.key: visit.depth for visit in visits}
        assert visits[0].item is None
        for place, visit in enumerate(visits[1:], 1):
            assert visit.item is not None and visit.item.key == visit.key
            assert any(visit.item in graph.of(before.key) and before.depth == visit.depth - 1 for before in visits[:place])
        assert {visit.key for visit in graph.forward(root)} == reached(graph.users, root)
        for key in depths:
            assert root in {visit.key for visit in graph.forward(key)}, "back and forward are one relation"


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_what_something_was_made_from_comes_first_and_lies_lower(graph):
    order = [visit.key for visit in made_first(graph.inputs, lambda visit: graph.of(visit.key))]
    heights = graph.heights()
    assert sorted(order) == sorted(graph.inputs) == sorted(heights)
    for key, items in graph.inputs.items():
        for item in items:
            assert order.index(item.key) < order.index(key)
            assert heights[item.key] < heights[key]
        assert heights[key] == max((heights[item.key] + 1 for item in items), default=0)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_ways_go_through_the_kinds_in_order_and_stop_only_where_none_is_next(graph):
    for start in (key for key in graph.inputs if key[0] == KINDS[0]):
        ways = graph.ways(start, KINDS[1:])
        assert len(set(ways)) == len(ways) and all(way[0] == start for way in ways)
        for way in ways:
            assert tuple(kind for kind, _ in way) == KINDS[: len(way)]
            assert all(later in graph.users(key) for key, later in pairwise(way))
            assert len(way) == len(KINDS) or not any(user[0] == KINDS[len(way)] for user in graph.users(way[-1]))


def test_two_hashes_of_one_input_are_two_edges_and_one_node():
    day = ("parquet_day", "d")
    graph = Graph(
        {
            ("work_plan", "a"): (Input(*day, "1"),),
            ("work_plan", "b"): (Input(*day, "2"), Input("work_plan", "a", "3")),
        }
    )
    assert [visit.key for visit in graph.back(("work_plan", "b"))] == [("work_plan", "b"), day, ("work_plan", "a")]
    assert [item.sha256 for item in graph.read(("work_plan", "b"))] == ["2", "3", "1"]
    assert graph.users(day) == (("work_plan", "a"), ("work_plan", "b"))
    found = first_of(graph.of(("work_plan", "b")), "work_plan")
    assert found is not None and found.id == "a" and first_of((), "work_plan") is None


def test_years_of_nights_are_walked_though_python_does_not_recurse_so_deep():
    nights = sys.getrecursionlimit() * 3
    inputs = {}
    for night in range(nights):
        parent = (Input("checkpoint", str(night - 1), ""),) if night else ()
        inputs["work_plan", str(night)] = (Input("parquet_day", str(night), ""), *parent)
        inputs["checkpoint", str(night)] = (Input("work_plan", str(night), ""),)
    graph = Graph(inputs)
    last = ("checkpoint", str(nights - 1))
    assert sum(visit.key[0] == "parquet_day" for visit in graph.back(last)) == nights
    assert graph.heights()[last] == 2 * nights
    assert list(graph.forward(("parquet_day", "0")))[-1].key == last
