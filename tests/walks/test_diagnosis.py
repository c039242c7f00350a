import networkx as nx
import numpy as np
import scipy.sparse as sp

from walkconv import diagnose, expected_visits, grid_graph, select_neighbors


def test_coverage_is_that_of_the_selected_neighbors():
    graph = grid_graph((9, 7))
    found = diagnose(graph, n_neighbors=12, max_steps=4)
    np.testing.assert_array_equal(found.n_steps, [1, 2, 3, 4])
    for k, coverage in zip(found.n_steps, found.coverage, strict=True):
        assert coverage == select_neighbors(graph, n_neighbors=12, n_steps=int(k)).coverage


def test_a_star_is_all_hub():
    found = diagnose(nx.star_graph(60), n_neighbors=2, max_steps=1)
    # 60 leaves name the centre, the centre names one leaf.
    np.testing.assert_allclose(found.hub_share, [60 / 61])


def test_hubs_are_one_node_in_a_hundred():
    stars = nx.disjoint_union(nx.star_graph(49), nx.star_graph(49))  # 100 nodes, two centres
    found = diagnose(stars, n_neighbors=2, max_steps=1)
    np.testing.assert_allclose(found.hub_share, [49 / 100])


def distance_by_definition(weights, law, k):
    visits = expected_visits(weights, n_steps=k) / (k + 1)
    return np.abs(visits - law).sum(axis=1).mean() / 2


def test_distance_to_the_stationary_law_of_a_symmetric_graph(rng):
    block = rng.random((6, 6))
    weights = sp.block_diag([block + block.T, [[0, 1], [1, 0]], [[0]]]).toarray()
    law = expected_visits(weights, n_steps=10_000) / 10_001
    found = diagnose(weights, n_neighbors=3, max_steps=3).stationary_distance
    expected = [distance_by_definition(weights, law, k) for k in (1, 2, 3)]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_distance_to_the_stationary_law_of_a_directed_graph():
    weights = np.zeros((7, 7))
    weights[[0, 1, 2], [1, 2, 0]] = 1  # a cycle, which alternates for ever
    weights[3, [2, 4]] = 1  # leads into the cycle or to a dangling node
    weights[5, 6] = weights[6, 5] = 1
    law = expected_visits(weights, n_steps=10_000) / 10_001
    found = diagnose(weights, n_neighbors=3, max_steps=4).stationary_distance
    expected = [distance_by_definition(weights, law, k) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_distance_to_the_stationary_law_of_a_long_directed_ring():
    found = diagnose(nx.cycle_graph(400, create_using=nx.DiGraph), n_neighbors=2, max_steps=2)
    np.testing.assert_allclose(found.stationary_distance, [1 - 2 / 400, 1 - 3 / 400])


def test_a_long_walk_forgets_its_start_and_the_table_shows_it():
    found = diagnose(nx.complete_graph(20), n_neighbors=5, max_steps=40)
    assert found.stationary_distance[-1] < 0.05 < found.stationary_distance[0]
    assert str(found).splitlines()[1].endswith("<- auto")
