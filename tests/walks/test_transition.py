"""Steps: the definition's matrix, without probabilities where all are equally likely."""

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import graph_from_edges, select_neighbors
from walkconv.walks.definition import transition_matrix
from walkconv.walks.transition import steps_along

ENDS = [[0, 0, 1, 2, 4], [1, 2, 2, 3, 4]]
"""A triangle with a tail, a node alone with itself, and, with six nodes, one without edges."""


def some_graph(weight):
    return graph_from_edges(ENDS, weight, n_nodes=6)


@pytest.mark.parametrize(
    ("weight", "is_even"),
    [
        (np.ones(5), True),
        (np.full(5, 0.1), True),
        (np.array([1.0, -1.0, 1.0, -1.0, 1.0]), True),
        (np.array([1.0, 1.0, 1.0, 2.0, 1.0]), False),
    ],
)
def test_steps_are_those_of_the_definition(weight, is_even):
    graph = some_graph(weight)
    steps = steps_along(graph)
    assert steps.is_even == is_even
    expected = transition_matrix(graph)
    np.testing.assert_allclose(steps.matrix.toarray(), expected, rtol=1e-15)
    some = np.array([5, 0, 3])
    np.testing.assert_allclose(steps.of(some).toarray(), expected[some], rtol=1e-15)


def test_steps_of_no_nodes_are_none():
    assert steps_along(some_graph(np.ones(5))).of(np.array([], dtype=np.int32)).shape == (0, 6)


def test_the_indices_of_a_graph_without_empty_rows_are_not_copied():
    graph = sp.csr_array(np.ones((3, 3)))
    assert steps_along(graph).indices is graph.indices


@pytest.mark.parametrize("n_steps", [1, 2, 3])
def test_equal_weights_give_the_neighbors_of_none(n_steps):
    found, expected = (
        select_neighbors(some_graph(weight), n_neighbors=4, n_steps=n_steps, method="sparse")
        for weight in (np.full(5, 0.1), np.ones(5))
    )
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_array_equal(found.visits, expected.visits)
