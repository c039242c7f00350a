"""Ties broken by structure do not depend on how the nodes are numbered."""

import networkx as nx
import numpy as np
import pytest

from walkconv import as_graph, select_neighbors
from walkconv.walks import refine_colors

GRAPHS = {
    "path": nx.path_graph(5),
    "star with a tail": nx.lollipop_graph(4, 3),
    "tree": nx.balanced_tree(2, 3),
    "cube": nx.hypercube_graph(3),
    "two parts and a lone node": nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
    "directed": nx.gn_graph(9, seed=1),
    "one node": nx.empty_graph(1),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("n_steps", [1, 3])
def test_renumbering_the_nodes_permutes_the_colours(name, n_steps, rng):
    matrix = nx.to_numpy_array(GRAPHS[name])
    kinds = rng.integers(0, 2, len(matrix))
    order = rng.permutation(len(matrix))
    colors = refine_colors(as_graph(matrix), kinds, n_steps=n_steps)
    renumbered = refine_colors(
        as_graph(matrix[np.ix_(order, order)]), kinds[order], n_steps=n_steps
    )
    np.testing.assert_array_equal(renumbered, colors[order])


@pytest.mark.parametrize("name", GRAPHS)
def test_the_colours_of_the_neighbours_do_not_depend_on_the_numbers(name, rng):
    matrix = nx.to_numpy_array(GRAPHS[name])
    order = rng.permutation(len(matrix))
    p = min(4, len(matrix))

    def colors_in_order(matrix):
        colors = refine_colors(as_graph(matrix), n_steps=2)
        ties = colors[:, None].astype(float)
        index = select_neighbors(matrix, n_neighbors=p, n_steps=2, ties=ties).index
        return np.where(index < 0, -1, colors[index])

    np.testing.assert_array_equal(
        colors_in_order(matrix[np.ix_(order, order)]), colors_in_order(matrix)[order]
    )


def test_nodes_that_look_alike_share_a_colour_and_others_do_not():
    tree = nx.to_numpy_array(nx.balanced_tree(2, 2))
    colors = refine_colors(as_graph(tree), n_steps=1)
    assert len(set(colors)) == 3
    assert colors[1] == colors[2]
    assert len(set(colors[3:])) == 1


def test_a_long_chain_is_told_apart_node_by_node():
    colors = refine_colors(as_graph(nx.path_graph(301)), n_steps=1)
    assert len(set(colors)) == 151
    np.testing.assert_array_equal(colors, colors[::-1])


def test_colours_given_come_first_and_spread():
    path = as_graph(nx.path_graph(5))
    colors = refine_colors(path, [0, 0, 0, 0, 7], n_steps=1)
    assert len(set(colors)) == 5
    assert colors[4] == 4


def test_several_columns_may_tell_nodes_apart():
    path = as_graph(nx.path_graph(2))
    assert refine_colors(path, [[1.0, 0.5], [1.0, 0.25]], n_steps=1).tolist() == [1, 0]


def test_visits_that_differ_by_rounding_tell_no_nodes_apart(rng):
    """Two equal parts; their visits 1/1024 are sums, which other numbers add in another order."""
    part = np.zeros((8, 8))
    part[0, 1:6] = [1, 2, 3, 4, 5]
    part[1:6, 6] = 1
    part[1:6, 7] = 1023
    matrix = np.kron(np.eye(2), part)
    for _ in range(50):
        order = rng.permutation(16)
        renumbered = refine_colors(as_graph(matrix[np.ix_(order, order)]), n_steps=2)
        colors = renumbered[np.argsort(order)]
        np.testing.assert_array_equal(colors[:8], colors[8:])
        assert len(set(colors)) == 3
