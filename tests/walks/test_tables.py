"""Walks that meet few nodes are counted in small tables, and have the same neighbours."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from walkconv import select_neighbors
from walkconv.walks import loops, sparse


def compare(graph, **settings):
    """Walk in tables wherever it can be, and compare with the definition."""
    with patch.object(sparse, "LARGE", 0):
        found = select_neighbors(graph, method="sparse", random_state=0, **settings)
    expected = select_neighbors(graph, method="dense", random_state=0, **settings)
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=1e-12)
    return found


@st.composite
def lopsided_graphs(draw):
    """Up to 60 nodes: ties, self-loops, one-way edges, faint ones, nodes without any."""
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    weights = rng.integers(1, draw(st.sampled_from([2, 4])), size=(n, n)) * 1.0
    weights *= rng.random((n, n)) < draw(st.sampled_from([0.03, 0.1, 0.6]))
    weights[rng.random(n) < 0.1] *= 1e-200
    weights[rng.random(n) < 0.1] = 0
    return sp.csr_array(weights)


@pytest.mark.parametrize("ties", ["index", "random"])
@given(graph=lopsided_graphs(), n_steps=st.integers(1, 4), n_neighbors=st.integers(1, 12))
def test_tables_give_the_neighbors_of_the_definition(ties, graph, n_steps, n_neighbors):
    n_neighbors = min(graph.shape[0], n_neighbors)
    compare(graph, n_neighbors=n_neighbors, n_steps=n_steps, ties=ties, n_threads=1)


@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_walks_that_meet_too_many_nodes_leave_nothing_in_the_tables(rng, n_steps):
    n = 1500
    mean_degree = np.where(rng.random(n) < 0.03, 2 * loops.MOST_EDGES, 8)
    weights = (rng.random((n, n)) < mean_degree[:, None] / n) * rng.integers(1, 3, (n, n))
    weights[1000:] = 0
    weights[1000:, 1000:] = np.diag(rng.random(500) < 0.5)  # walks that end at once, among others
    weights[1000:, :5] = rng.random((500, 5)) < 0.2
    found = compare(sp.csr_array(weights), n_neighbors=10, n_steps=n_steps, n_threads=2)
    if n_steps == 2:  # both kinds are there
        n_met = (np.linalg.matrix_power(np.eye(n) + (weights > 0), 2) > 0).sum(axis=1)
        assert n_met.min() < loops.MOST_IN_TABLE / 4 < loops.MOST_IN_TABLE < n_met.max()
        assert (found.index[:, -1] >= 0).any()
