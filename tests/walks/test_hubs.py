"""Hubs change the work and never the neighbours, whichever nodes are taken for hubs."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from walkconv import _native, select_neighbors
from walkconv.walks import sparse
from walkconv.walks.plan import Plan
from walkconv.walks.select import tie_rule
from walkconv.walks.transition import steps_along

pytestmark = pytest.mark.skipif(_native.library() is None, reason="the library was not built")


def walk(
    graph, is_hub, is_busy, *, n_neighbors, n_steps, ties="index", n_threads=1, places=np.int32
):
    """The neighbours with these nodes apart."""
    steps = steps_along(sp.csr_array(graph, dtype=float))
    steps = replace(steps, indices=steps.indices.astype(places), indptr=steps.indptr.astype(places))
    rule = tie_rule(ties, 0, steps.n_nodes)
    plan = Plan(n_neighbors, n_steps, rule, block_size=None, n_threads=n_threads)
    return sparse.walk(steps, sparse.set_apart(steps, is_hub, is_busy, n_sharers=1), plan)


def define(graph, **settings):
    """The same by the dense engine."""
    return select_neighbors(graph, method="dense", random_state=0, n_threads=1, **settings)


@st.composite
def graphs_with_hubs(draw):
    """Up to 40 nodes, a few of them with edges to most: ties, empty rows, self-loops, one-way."""
    n = draw(st.integers(2, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    is_weighted, is_symmetric = draw(st.booleans()), draw(st.booleans())
    weights = rng.integers(1, 4 if is_weighted else 2, size=(n, n))
    share = np.where(rng.random(n) < 0.15, 0.8, 0.06)
    weights = weights * (rng.random((n, n)) < np.maximum(share[:, None], share))
    if is_symmetric:
        weights = np.triu(weights) + np.triu(weights, 1).T
    weights[rng.random(n) < 0.1] = 0
    is_hub, is_busy = rng.random((2, n)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    return weights, is_hub, is_busy


STAR = np.zeros((9, 9), dtype=int)
STAR[0, 1:] = STAR[1:, 0] = 1
EVERY, NO = np.ones(9, dtype=bool), np.zeros(9, dtype=bool)


def test_graphs_of_billions_of_edges_have_longer_places():
    found, expected = (
        walk(STAR, EVERY, NO, n_neighbors=4, n_steps=2, places=places)
        for places in (np.int64, np.int32)
    )
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("ties", ["index", "random", "positions"])
@given(case=graphs_with_hubs(), n_steps=st.integers(1, 4), n_neighbors=st.integers(1, 12))
@example(case=(STAR, EVERY, NO), n_steps=2, n_neighbors=3)
@example(case=(STAR, NO, EVERY), n_steps=2, n_neighbors=3)
def test_any_hubs_give_the_neighbors_of_the_definition(ties, case, n_steps, n_neighbors):
    weights, is_hub, is_busy = case
    n = len(weights)
    settings = {
        "n_neighbors": min(n, n_neighbors),
        "n_steps": n_steps,
        "ties": np.arange(n)[::-1, None] // 3 if ties == "positions" else ties,
    }
    index, visits = walk(weights, is_hub, is_busy, **settings)
    expected = define(weights, **settings)
    np.testing.assert_array_equal(index, expected.index)
    np.testing.assert_allclose(visits, expected.visits, rtol=1e-12)


def crowd(rng, n_nodes=4500):
    """A few hubs that most nodes point at and are pointed at by, and few other edges."""
    leaves = np.arange(6, n_nodes)
    hub = [rng.choice(6, size=2, replace=False) for _ in leaves]
    far = rng.choice(leaves, size=len(leaves))
    source = np.concatenate([np.repeat(leaves, 2), leaves])
    target = np.concatenate([np.ravel(hub), far])
    graph = sp.coo_array((np.ones(len(source)), (source, target)), shape=(n_nodes, n_nodes))
    return sp.csr_array(graph + graph.T)


@pytest.mark.parametrize("n_steps", [2, 3, 4])
def test_hubs_are_found_where_they_save_work_and_the_neighbors_stay(rng, n_steps):
    graph = crowd(rng)
    hubs = sparse.find_hubs(steps_along(graph), n_steps)
    np.testing.assert_array_equal(np.flatnonzero(hubs.is_hub), np.arange(6))
    found = select_neighbors(graph, n_neighbors=10, n_steps=n_steps, method="sparse", n_threads=2)
    expected = select_neighbors(graph, n_neighbors=10, n_steps=n_steps, method="blocked")
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=1e-12)


def test_rows_with_the_same_hubs_follow_each_other(rng):
    steps = steps_along(crowd(rng, 300))
    is_hub = np.arange(300) < 6
    rows = sparse.set_apart(steps, is_hub, is_hub, n_sharers=1).rows
    np.testing.assert_array_equal(np.sort(rows), np.arange(300))
    met = [tuple(np.flatnonzero(row)) for row in (steps.matrix.toarray()[rows][:, :6] > 0)]
    changes = sum(a != b for a, b in pairwise(met))
    assert changes == len(set(met)) - 1


def test_a_graph_without_hubs_has_none(rng):
    graph = sp.random_array((2000, 2000), density=0.005, rng=rng)
    hubs = sparse.find_hubs(steps_along(sp.csr_array(graph)), 3)
    assert not hubs.is_hub.any()
    assert not hubs.is_busy.any()
    np.testing.assert_array_equal(hubs.rows, np.arange(2000))


def test_ties_that_chain_far_below_the_last_slot_are_followed():
    # 200 edges each within 1e-9 of the next: one tie of a width of 1e-7, so the lowest index wins.
    n = 201
    graph = np.zeros((n, n))
    graph[0, 1:] = 1 + 0.8e-9 * np.arange(200)
    for is_hub, is_busy in ((NO[:1], NO[:1]), (EVERY[:1], NO[:1])):
        index, _ = walk(
            graph, np.repeat(is_hub, n), np.repeat(is_busy, n), n_neighbors=3, n_steps=1
        )
        np.testing.assert_array_equal(index[0], [0, 1, 2])


def test_faint_edges_to_hubs_are_edges():
    graph = np.zeros((4, 4))
    graph[0, 1:] = 1e-300, 1e-310, 1
    is_hub = np.array([False, True, True, True])
    index, _ = walk(graph, is_hub, ~is_hub, n_neighbors=3, n_steps=2)
    np.testing.assert_array_equal(index[0], [3, 0, 1])


@pytest.mark.parametrize("is_hub", [False, True])
def test_visits_too_few_to_have_digits_are_none(is_hub):
    graph = np.zeros((4, 4))
    graph[0, :2], graph[1, 1:3] = (1, 1e-160), (1, 1e-155)  # from 0 to 2 by a chance of 1e-315
    index, _ = walk(graph, np.full(4, is_hub), NO[:4], n_neighbors=4, n_steps=2)
    np.testing.assert_array_equal(index[0], [0, 1, -1, -1])


def test_steps_whose_chance_is_zero_in_floating_point_are_no_steps():
    hub, leaves = np.zeros(399, dtype=int), np.arange(1, 400)
    rows = np.concatenate([hub, leaves, leaves])
    columns = np.concatenate([leaves, hub, (leaves % 399) + 1])
    weight = np.concatenate([np.full(798, 1e-30), np.full(399, 1e300)])
    graph = sp.csr_array((weight, (rows, columns)), shape=(400, 400))
    found = [
        select_neighbors(graph, n_neighbors=5, n_steps=3, method=method).index
        for method in ("sparse", "dense")
    ]
    np.testing.assert_array_equal(*found)
