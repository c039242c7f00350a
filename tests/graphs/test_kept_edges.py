import pytest

from walkconv.graphs import edges_to_keep
from walkconv.graphs.correlation.graph import KEPT_EDGES, MANY_NODES


@pytest.mark.parametrize("is_ranked_at_once", [True, False])
def test_a_graph_of_few_nodes_keeps_all_edges(is_ranked_at_once):
    assert edges_to_keep(MANY_NODES, 9, is_ranked_at_once=is_ranked_at_once) is None


@pytest.mark.parametrize(
    ("n_neighbors", "is_ranked_at_once", "expected"),
    [
        (9, True, 8),  # the column itself is the ninth
        (1, True, 1),
        (9, False, KEPT_EDGES),
        (KEPT_EDGES + 9, False, KEPT_EDGES + 8),
        (2 * MANY_NODES, True, MANY_NODES),  # there are no more other columns
    ],
)
def test_a_graph_of_many_nodes_keeps_what_the_neighbors_need(
    n_neighbors, is_ranked_at_once, expected
):
    found = edges_to_keep(MANY_NODES + 1, n_neighbors, is_ranked_at_once=is_ranked_at_once)
    assert found == expected
