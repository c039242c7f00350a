"""The definition by hand, and what must hold of any walk."""

import networkx as nx
import numpy as np
import pytest

from walkconv import expected_visits, select_neighbors, transition_matrix


def test_transition_matrix_by_hand(lopsided):
    expected = [
        [0, 1 / 4, 2 / 4, 1 / 4, 0],
        [1 / 2, 0, 1 / 2, 0, 0],
        [2 / 4, 1 / 4, 1 / 4, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1],
    ]
    np.testing.assert_allclose(transition_matrix(lopsided), expected)


def test_expected_visits_by_hand(lopsided):
    np.testing.assert_allclose(expected_visits(lopsided, n_steps=0), np.eye(5))
    expected = np.array(
        [
            [1 + 3 / 8, 1 / 4 + 1 / 8, 1 / 2 + 1 / 4, 1 / 4 + 1 / 4, 0],
            [1 / 2 + 1 / 4, 1 + 1 / 4, 1 / 2 + 3 / 8, 1 / 8, 0],
            [1 / 2 + 1 / 4, 1 / 4 + 3 / 16, 1 + 1 / 4 + 7 / 16, 1 / 8, 0],
            [0, 0, 0, 3, 0],
            [0, 0, 0, 0, 3],
        ]
    )
    np.testing.assert_allclose(expected_visits(lopsided, n_steps=2), expected)


def test_order_and_sign_by_hand(lopsided):
    found = select_neighbors(lopsided, n_neighbors=4, n_steps=2)
    np.testing.assert_array_equal(
        found.index, [[0, 2, 3, 1], [1, 2, 0, 3], [2, 0, 1, 3], [3, -1, -1, -1], [4, -1, -1, -1]]
    )
    np.testing.assert_array_equal(
        found.sign, [[1, -1, 1, 1], [1, 1, 1, 1], [1, -1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0]]
    )
    np.testing.assert_allclose(found.visits[1], [5 / 4, 7 / 8, 3 / 4, 1 / 8])


def test_self_is_first_after_one_step_even_beside_a_duplicate(rng):
    X = rng.normal(size=(20, 6))
    X[:, 3] = X[:, 1]
    table = select_neighbors(np.corrcoef(X.T), n_neighbors=3).index
    np.testing.assert_array_equal(table[:, 0], np.arange(6))
    assert table[1, 1] == 3
    assert table[3, 1] == 1


def test_rows_of_transition_sum_to_one_and_of_visits_to_one_more_than_the_steps(rng):
    weights = rng.normal(size=(17, 17)) * (rng.random((17, 17)) < 0.2)
    np.testing.assert_allclose(transition_matrix(weights).sum(axis=1), 1)
    np.testing.assert_allclose(expected_visits(weights, n_steps=4).sum(axis=1), 5)


def test_relabelling_nodes_permutes_neighbors_when_there_are_no_ties(rng):
    weights = rng.random((25, 25)) * (rng.random((25, 25)) < 0.3)
    weights[3] = 0
    order = rng.permutation(25)
    place = np.append(np.argsort(order), -1)  # -1 stays -1
    plain = select_neighbors(weights, n_neighbors=8, n_steps=3)
    relabelled = select_neighbors(weights[np.ix_(order, order)], n_neighbors=8, n_steps=3)
    np.testing.assert_array_equal(relabelled.index, place[plain.index][order])


def test_visits_per_step_approach_the_stationary_law(rng):
    weights = rng.random((12, 12))
    weights += weights.T
    law = weights.sum(axis=1) / weights.sum()
    visits = expected_visits(weights, n_steps=4000) / 4000
    np.testing.assert_allclose(visits, np.broadcast_to(law, visits.shape), atol=1e-3)


def test_the_walk_follows_out_edges_only():
    table = select_neighbors([[0, 1, 0], [0, 0, 1], [0, 0, 0]], n_neighbors=3, n_steps=2).index
    # The walk from 0 ends in 2; from 1 it goes to 2 and stays, so it visits 2 twice.
    np.testing.assert_array_equal(table, [[0, 1, 2], [2, 1, -1], [2, -1, -1]])


def test_auto_takes_the_fewest_steps_that_fill_the_slots():
    path = nx.path_graph(50)
    assert select_neighbors(path, n_neighbors=3, n_steps="auto").n_steps == 2
    assert select_neighbors(path, n_neighbors=1, n_steps="auto").n_steps == 0
    assert select_neighbors(nx.complete_graph(9), n_neighbors=9, n_steps="auto").n_steps == 1
    pairs = nx.from_edgelist([(0, 1), (2, 3), (4, 5)])
    found = select_neighbors(pairs, n_neighbors=4, n_steps="auto")
    assert found.n_steps == 1
    assert found.coverage == 0
    late = nx.disjoint_union_all([nx.complete_graph(3)] * 33)  # 99 nodes need one step
    late.add_edge(0, 99)  # one in a hundred needs two
    assert select_neighbors(late, n_neighbors=3, n_steps="auto").n_steps == 1
    late.remove_edge(1, 2)
    late.remove_edge(1, 0)
    late.add_edge(1, 99)  # now three of them do
    assert select_neighbors(late, n_neighbors=3, n_steps="auto").n_steps == 2
    cycle_with_a_tail = nx.cycle_graph(200)
    cycle_with_a_tail.add_edge(0, 200)  # one node in 201 needs two steps
    assert select_neighbors(cycle_with_a_tail, n_neighbors=3, n_steps="auto").n_steps == 1


@pytest.mark.parametrize("generator", [np.random.default_rng, np.random.RandomState, int])
def test_random_state_takes_what_scikit_learn_takes(generator):
    star = nx.star_graph(30)
    first = select_neighbors(star, n_neighbors=4, ties="random", random_state=generator(5)).index
    again = select_neighbors(star, n_neighbors=4, ties="random", random_state=generator(5)).index
    np.testing.assert_array_equal(first, again)
