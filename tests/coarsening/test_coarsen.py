"""Groups of nodes: every node once, near nodes together, nothing lost."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from walkconv import coarsen, graph_from_edges, grid_graph


def share_of_blocks(groups, shape, side):
    """The share of the groups that are whole blocks of a grid."""
    places = np.stack(np.unravel_index(np.arange(len(groups)), shape), axis=1)
    members = [places[groups == group] for group in range(groups.max() + 1)]
    is_block = [
        len(nodes) == side ** len(shape) and (np.ptp(nodes, axis=0) == side - 1).all()
        for nodes in members
    ]
    return np.mean(is_block)


def random_graph(seed, n_nodes, *, is_directed):
    rng = np.random.default_rng(seed)
    weight = rng.normal(size=(n_nodes, n_nodes)) * (rng.random((n_nodes, n_nodes)) < 0.15)
    return sp.csr_array(weight if is_directed else weight + weight.T)


@pytest.mark.parametrize("shape", [(28, 28), (20, 30), (8, 8), (2, 10)])
@pytest.mark.parametrize("connectivity", [4, 8])
@pytest.mark.parametrize("is_shuffled", [False, True])
def test_groups_of_four_are_the_blocks_of_a_grid(shape, connectivity, is_shuffled):
    grid = grid_graph(shape, connectivity=connectivity)
    order = np.arange(grid.shape[0])
    if is_shuffled:
        np.random.default_rng(0).shuffle(order)
    groups = np.empty_like(order)
    groups[order] = coarsen(grid[order][:, order]).groups
    assert share_of_blocks(groups, shape, side=2) >= 0.9


@pytest.mark.parametrize("connectivity", [6, 18, 26])
def test_groups_of_eight_are_the_blocks_of_a_grid_in_three_dimensions(connectivity):
    groups = coarsen(grid_graph((6, 8, 8), connectivity=connectivity), group_size=8).groups
    assert share_of_blocks(groups, (6, 8, 8), side=2) >= 0.9


def test_a_grid_of_odd_sides_is_grouped_with_few_nodes_to_spare():
    groups = coarsen(grid_graph((7, 9))).groups
    assert share_of_blocks(groups, (7, 9), side=2) >= 0.4
    assert groups.max() + 1 <= 63 / 4 + 3


@given(
    seed=st.integers(0, 10**6),
    n_nodes=st.integers(1, 40),
    group_size=st.integers(1, 9),
    is_directed=st.booleans(),
)
def test_every_node_is_in_one_group_of_at_most_that_size(seed, n_nodes, group_size, is_directed):
    graph = random_graph(seed, n_nodes, is_directed=is_directed)
    coarsening = coarsen(graph, group_size=group_size)
    sizes = np.bincount(coarsening.groups, minlength=coarsening.n_groups)
    assert coarsening.groups.shape == (n_nodes,)
    assert coarsening.groups.dtype == np.int64
    assert sizes.min() >= 1
    assert sizes.max() <= group_size
    _, first = np.unique(coarsening.groups, return_index=True)
    assert (np.diff(first) > 0).all()


@pytest.mark.parametrize("is_directed", [False, True])
def test_the_coarse_graph_sums_what_lies_between_groups(is_directed):
    graph = random_graph(3, 30, is_directed=is_directed)
    coarsening = coarsen(graph, group_size=3)
    membership = np.eye(coarsening.n_groups)[coarsening.groups]  # (n_nodes, n_groups)
    expected = membership.T @ np.abs(graph.toarray()) @ membership
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(coarsening.graph.toarray(), expected, rtol=1e-12)
    assert coarsening.graph.has_sorted_indices


def test_nodes_without_edges_are_alone_and_parts_stay_apart(lopsided):
    coarsening = coarsen(lopsided)
    assert coarsening.groups.tolist() == [0, 0, 0, 0, 1]
    pairs = graph_from_edges([[0, 2], [1, 3]], n_nodes=6)
    assert coarsen(pairs).groups.tolist() == [0, 0, 1, 1, 2, 3]
    assert coarsen(sp.csr_array((3, 3))).groups.tolist() == [0, 1, 2]
    assert coarsen(sp.csr_array((3, 3))).graph.nnz == 0


def test_leaves_of_a_star_belong_together():
    sizes = np.bincount(coarsen(nx.star_graph(39)).groups)
    assert sizes.tolist() == [4] * 10


def test_heavy_edges_are_kept_inside():
    ring = graph_from_edges([np.arange(12), np.roll(np.arange(12), -1)], [9.0, 1.0] * 6)
    assert coarsen(ring, group_size=2).groups.tolist() == np.repeat(np.arange(6), 2).tolist()


def test_relabelling_nodes_permutes_the_groups_when_there_are_no_ties():
    graph = random_graph(5, 60, is_directed=False)
    order = np.random.default_rng(1).permutation(60)
    together = coarsen(graph).groups[:, None] == coarsen(graph).groups
    shuffled = coarsen(graph[order][:, order]).groups
    np.testing.assert_array_equal(shuffled[:, None] == shuffled, together[order][:, order])


def test_the_scale_and_the_sign_of_the_edges_do_not_matter():
    graph = random_graph(7, 40, is_directed=True)
    expected = coarsen(graph).groups
    np.testing.assert_array_equal(coarsen(graph * 1e-3).groups, expected)
    np.testing.assert_array_equal(coarsen(abs(graph)).groups, expected)


def test_groups_of_one_are_the_nodes():
    grid = grid_graph((3, 3))
    coarsening = coarsen(grid, group_size=1)
    assert coarsening.groups.tolist() == list(range(9))
    np.testing.assert_array_equal(coarsening.graph.toarray(), grid.toarray())
    assert repr(coarsening) == "Coarsening(n_nodes=9, n_groups=9)"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group_size": 0}, "group_size must be at least 1"),
        ({"group_size": 2.0}, "group_size must be an integer"),
        ({"n_steps": 0}, "n_steps must be at least 1"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        coarsen(grid_graph((3, 3)), **settings)


def test_places_decide_who_is_grouped_and_edges_what_the_groups_are_to_each_other():
    places = np.stack(np.unravel_index(np.arange(48), (6, 8)), axis=1)
    graph = random_graph(0, 48, is_directed=False)
    coarsening = coarsen(graph, positions=places)
    assert share_of_blocks(coarsening.groups, (6, 8), side=2) == 1.0
    member = np.eye(12)[coarsening.groups]
    between = member.T @ np.abs(graph.toarray()) @ member
    np.fill_diagonal(between, 0)
    np.testing.assert_allclose(coarsening.graph.toarray(), between)


def test_a_ring_of_places_is_grouped_across_its_seam():
    places = np.mod(np.arange(8.0) + 0.5, 8)[:, None]
    edges = sp.csr_array((8, 8))
    pairs = coarsen(edges, group_size=2, positions=places - 100, period=[8.0]).groups
    assert np.bincount(pairs).tolist() == [2, 2, 2, 2]
    apart = coarsen(edges[:4, :4], group_size=2, positions=[[0.2], [3], [4], [7.9]], period=[8.0])
    np.testing.assert_array_equal(apart.groups, [0, 1, 1, 0])


def test_one_node_and_nodes_in_one_place_are_grouped():
    assert coarsen(sp.csr_array((1, 1)), positions=[[3.0, 4.0]]).groups.tolist() == [0]
    assert coarsen(sp.csr_array((4, 4)), positions=np.zeros((4, 2))).groups.tolist() == [0] * 4


def test_places_of_another_graph_are_refused():
    with pytest.raises(ValueError, match="n_nodes = 4"):
        coarsen(sp.csr_array((4, 4)), positions=np.zeros((3, 2)))


def test_places_near_together_and_far_apart_are_grouped_alike():
    crowd = np.random.default_rng(0).random((60, 2)) * 0.02
    spread = np.random.default_rng(1).random((40, 2)) * 10 + 1
    groups = coarsen(sp.csr_array((100, 100)), positions=np.concatenate([crowd, spread])).groups
    assert len(np.unique(groups)) <= 30
    line = 1.5 ** np.arange(40)[:, None]
    assert (
        np.bincount(coarsen(sp.csr_array((40, 40)), positions=line, group_size=2).groups).min() == 2
    )


def test_a_period_without_places_is_refused():
    with pytest.raises(ValueError, match="period belongs to positions"):
        coarsen(sp.csr_array((4, 4)), period=[4.0])
