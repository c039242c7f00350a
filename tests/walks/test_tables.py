"""Walks that meet few nodes are counted in small tables, and have the same neighbours."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from walkconv import _native, select_neighbors
from walkconv.walks import sparse
from walkconv.walks.plan import Plan
from walkconv.walks.select import tie_rule
from walkconv.walks.transition import steps_along

pytestmark = pytest.mark.skipif(_native.library() is None, reason="the library was not built")

TABLE_BITS, MOST_EDGES = 10, 48
"""As in `walk.h`."""


def compare(graph, **settings):
    """Walk in tables wherever it can be; compare with tallies, bit for bit, and the definition."""
    settings |= {"random_state": 0}
    with patch.object(sparse, "LARGE", 0):
        found = select_neighbors(graph, method="sparse", **settings)
    with patch.object(sparse, "LARGE", graph.shape[0] + 1):
        tallied = select_neighbors(graph, method="sparse", **settings)
    np.testing.assert_array_equal(found.index, tallied.index)
    np.testing.assert_array_equal(found.visits, tallied.visits)
    expected = select_neighbors(graph, method="dense", **settings)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=1e-12)


def numbers_met(graph, rows, n_steps):
    """How many nodes the walk from each row meets in a table; 0 if too many."""
    steps = steps_along(sp.csr_array(graph, dtype=float))
    nobody = np.zeros(steps.n_nodes, dtype=bool)
    plan = Plan(1, n_steps, tie_rule("index", 0, steps.n_nodes), block_size=None, n_threads=1)
    walk = sparse.Walk(steps, sparse.set_apart(steps, nobody, nobody), plan)
    return walk.numbers_met(np.array(rows)).tolist()


@st.composite
def lopsided_graphs(draw):
    """Up to 60 nodes: ties, self-loops, one-way edges, faint ones, nodes without any."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    weights = rng.integers(1, draw(st.sampled_from([2, 4])), size=(n, n)) * 1.0
    weights *= rng.random((n, n)) < draw(st.sampled_from([0.03, 0.1, 0.6]))
    if draw(st.booleans()):
        weights[rng.random((n, n)) < 0.1] *= 1e-200
    weights[rng.random(n) < 0.1] = 0
    return sp.csr_array(weights)


@pytest.mark.parametrize("ties", ["index", "random"])
@given(graph=lopsided_graphs(), n_steps=st.integers(1, 4), n_neighbors=st.integers(1, 12))
def test_tables_give_the_neighbors_of_the_definition(ties, graph, n_steps, n_neighbors):
    n_neighbors = min(graph.shape[0], n_neighbors)
    compare(graph, n_neighbors=n_neighbors, n_steps=n_steps, ties=ties, n_threads=1)


def crowded(rng, n=1500):
    """Most nodes have few edges, some too many for a table, some none or only one to themselves."""
    mean_degree = np.where(rng.random(n) < 0.03, 2 * MOST_EDGES, 8)
    weights = (rng.random((n, n)) < mean_degree[:, None] / n) * rng.integers(1, 3, (n, n))
    weights[1000:] = 0
    weights[1000:, 1000:] = np.diag(rng.random(n - 1000) < 0.5)
    weights[1000:, :5] = rng.random((n - 1000, 5)) < 0.2
    return sp.csr_array(weights)


@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_rows_in_tables_and_others_are_found_side_by_side(rng, n_steps):
    graph = crowded(rng)
    compare(graph, n_neighbors=10, n_steps=n_steps, n_threads=2)
    met = numbers_met(graph, range(graph.shape[0]), n_steps)
    assert 0 in met
    assert max(met) > 10


@pytest.mark.parametrize(
    ("n_steps", "expected"), [(0, 1), (1, 2), (509, 510), (510, 511), (511, 512), (512, 0)]
)
def test_a_table_is_filled_to_its_limit_in_many_steps(n_steps, expected):
    chain = sp.diags_array(np.ones(619), offsets=1, shape=(620, 620))
    assert numbers_met(chain, [0], n_steps) == [expected]


@pytest.mark.parametrize(("n_leaves", "expected"), [(14, 481), (15, 0)])
def test_a_table_is_filled_to_its_limit_in_one_step(n_leaves, expected):
    inner = 1 + np.arange(32)
    leaves = 33 + np.arange(32 * n_leaves)
    source = np.concatenate([np.zeros(32, dtype=int), np.repeat(inner, n_leaves)])
    target = np.concatenate([inner, leaves])
    tree = sp.coo_array((np.ones(len(source)), (source, target)), shape=(600, 600))
    assert numbers_met(tree, [0, 1, 0], 2) == [expected, n_leaves + 1, expected]


def test_nodes_that_want_the_last_slot_go_on_at_the_first():
    nodes = np.arange(9000, dtype=np.uint64)
    last_slot = 2**TABLE_BITS - 1
    wanted = nodes * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - TABLE_BITS)
    crowd = np.flatnonzero(wanted == last_slot)
    assert len(crowd) > 4
    star = sp.coo_array((np.ones(len(crowd)), (np.zeros_like(crowd), crowd)), shape=(9000, 9000))
    assert numbers_met(star, [0], 1) == [len(crowd) + 1]


def test_busy_nodes_are_never_left_in_a_table():
    # Tallies leave them last: the sums would be rounded in another order.
    assert MOST_EDGES < sparse.BUSY
