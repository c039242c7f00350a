"""Graphs that are grids."""

import numpy as np
import pytest

from walkconv import grid_graph
from walkconv.coarsening import Grid, coarsen_grid, find_grid

GRIDS = [
    ((7,), 2),
    ((4, 6), 4),
    ((6, 4), 8),
    ((2, 12), 8),
    ((28, 28), 4),
    ((2, 3, 4), 6),
    ((4, 3, 2), 18),
    ((3, 3, 3), 26),
]


@pytest.mark.parametrize(("shape", "connectivity"), GRIDS)
@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_a_grid_is_found(shape, connectivity, weight):
    graph = weight * grid_graph(shape, connectivity=connectivity)
    assert find_grid(graph) == Grid(shape, connectivity)
    assert find_grid(graph, len(shape)) == Grid(shape, connectivity)


def test_other_graphs_are_no_grids(lopsided):
    assert find_grid(lopsided) is None
    grid = grid_graph((4, 6))
    assert find_grid(grid, 3) is None
    assert find_grid(grid, 4) is None
    order = np.random.default_rng(0).permutation(24)
    assert find_grid(grid[order][:, order]) is None
    uneven = grid.copy()
    uneven[0, 1] = 2.0
    assert find_grid(uneven) is None
    torn = grid.copy()
    torn[0, 1] = torn[1, 0] = 0.0
    assert find_grid(torn) is None


@pytest.mark.parametrize(
    ("shape", "sides", "coarse"),
    [((4, 6), (2, 2), (2, 3)), ((5, 7), (2, 3), (3, 3)), ((3, 4, 5), (2, 2, 2), (2, 2, 3))],
)
def test_blocks_are_groups_and_make_a_grid(shape, sides, coarse):
    coarsening, grid = coarsen_grid(Grid(shape, 4 if len(shape) == 2 else 6), sides)
    places = np.stack(np.indices(shape), axis=-1).reshape(-1, len(shape))
    for group in range(coarsening.n_groups):
        block = np.array(np.unravel_index(group, coarse))
        assert (places[coarsening.groups == group] // sides == block).all()
    assert grid.shape == coarse
    expected = grid_graph(coarse, connectivity=grid.connectivity)
    np.testing.assert_array_equal(coarsening.graph.toarray(), expected.toarray())
