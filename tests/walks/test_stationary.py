"""The limit of the share of time that a walk spends in each node."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import null_space

from walkconv import diagnose, transition_matrix
from walkconv.walks import stationary
from walkconv.walks.stationary import stationary_law


def law_of(weights, nodes=None):
    graph = sp.csr_array(weights)
    step = sp.csr_array(transition_matrix(graph))
    return stationary_law(graph, step, np.arange(graph.shape[0]) if nodes is None else nodes)


def law_by_definition(weights):
    """Return the projector onto what the walk leaves as it is, from both null spaces of P - I."""
    unmoved = transition_matrix(weights) - np.eye(weights.shape[0])
    right, left = null_space(unmoved), null_space(unmoved.T)
    return right @ np.linalg.solve(left.T @ right, left.T)


def ring(n_nodes):
    return np.roll(np.eye(n_nodes), 1, axis=1)


def random_graph(seed):
    """Closed classes, some of them rings, nodes that lead to them, dangling and isolated nodes."""
    rng = np.random.default_rng(seed)
    weights = sp.block_diag([rng.integers(1, 9, (4, 4)), ring(5), ring(2), np.zeros((2, 2))])
    weights = np.pad(weights.toarray(), ((0, 12), (0, 12)))
    weights[13:] = rng.integers(-5, 9, (12, 25)) * (rng.random((12, 25)) < 0.15)
    weights[13, 14] = weights[14, 15] = weights[15, 13] = 1.0
    order = rng.permutation(25)
    return weights[np.ix_(order, order)]


GRAPHS = {
    "one node": np.zeros((1, 1)),
    "a ring": ring(7),
    "a ring of two": ring(2),
    "a ring with a way in and a way round": ring(6)
    + np.diag([0.0, 0, 0, 0, 3], 1)
    + np.eye(6)[[2]],
    "drift to one end": np.diag(np.full(29, 0.9), 1) + np.diag(np.full(29, 0.1), -1),
    **{f"random {seed}": random_graph(seed) for seed in range(8)},
}


@pytest.mark.parametrize("name", GRAPHS)
def test_the_law_is_what_the_walk_leaves_as_it_is(name):
    expected = law_by_definition(GRAPHS[name])
    np.testing.assert_allclose(law_of(GRAPHS[name]), expected, atol=1e-10)


def test_the_law_on_a_graph_with_a_negative_edge_a_dangling_and_an_isolated_node(lopsided):
    np.testing.assert_allclose(law_of(lopsided), law_by_definition(lopsided), atol=1e-10)


@pytest.mark.parametrize("name", GRAPHS)
def test_following_the_walk_on_large_graphs_comes_near_the_law(name, monkeypatch):
    monkeypatch.setattr(stationary, "MOST_SOLVED", 0)
    expected = law_by_definition(GRAPHS[name])
    np.testing.assert_allclose(law_of(GRAPHS[name]), expected, atol=1e-6)


def test_a_long_ring_has_the_uniform_law():
    weights = np.pad(ring(1000), ((0, 1), (0, 1)))
    weights[1000, [3, 7]] = 1.0  # leads into the ring
    expected = np.append(np.full(1000, 1 / 1000), 0.0)
    np.testing.assert_allclose(law_of(weights, [0, 500, 1000]), [expected] * 3, atol=1e-10)


@pytest.mark.parametrize("most_solved", [0, 10])
def test_a_node_that_is_hardly_ever_left_costs_no_digits(most_solved, monkeypatch):
    monkeypatch.setattr(stationary, "MOST_SOLVED", most_solved)
    weights = np.zeros((3, 3))
    weights[0] = [1e6, 1e-5, 3e-5]
    np.testing.assert_allclose(law_of(weights)[0], [0, 0.25, 0.75], rtol=1e-10)


def test_classes_that_rounding_cannot_join_still_have_a_law():
    weights = np.kron(np.eye(2), ring(2))
    weights[1, 2] = weights[3, 0] = 1e-25
    np.testing.assert_allclose(law_of(weights).sum(axis=1), 1.0)


@pytest.mark.parametrize("way_in", [False, True])
def test_a_walk_that_is_not_followed_to_the_end_is_told(way_in, monkeypatch):
    monkeypatch.setattr(stationary, "MOST_SOLVED", 0)
    monkeypatch.setattr(stationary, "MOST_MOVES", 1)
    weights = np.diag(np.ones(9), 1) if way_in else GRAPHS["drift to one end"]
    with pytest.warns(UserWarning, match="stationary_distance is not exact") as caught:
        diagnose(weights, n_neighbors=2, max_steps=1)
    assert caught[0].filename == __file__
