"""Graphs that are grids: told by their edges, and coarsened cell by cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv.coarsening.coarsen import Coarsening
from walkconv.graphs import grid_graph

CONNECTIVITY = {1: (2,), 2: (4, 8), 3: (6, 18, 26)}
"""For 1, 2 and 3 axes: cells whose indices differ on one axis, on at most two, on at most three."""


@dataclass(frozen=True)
class Grid:
    """The shape of a grid in raster order and how many cells an interior cell is joined to."""

    shape: tuple[int, ...]
    connectivity: int

    @property
    def graph(self) -> sp.csr_array:
        """The graph of the cells, (n_cells, n_cells)."""
        return as_graph(grid_graph(self.shape, connectivity=self.connectivity))

    @property
    def positions(self) -> np.ndarray:
        """The place of every cell, (n_cells, n_axes)."""
        return np.stack(np.unravel_index(np.arange(np.prod(self.shape)), self.shape), axis=1)


def find_grid(graph: sp.csr_array, n_axes: int | None = None) -> Grid | None:
    """Return the grid that a graph is, in raster order and with equal weights, or None.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
    n_axes : int, optional
        1, 2 or 3; by default any of them.

    Examples
    --------
    >>> from walkconv import grid_graph
    >>> from walkconv.coarsening import find_grid
    >>> find_grid(grid_graph((4, 6), connectivity=4))
    Grid(shape=(4, 6), connectivity=4)
    """
    weight = as_graph(graph)
    if weight.nnz and np.ptp(weight.data) > 0:
        return None
    for axes in CONNECTIVITY if n_axes is None else (n_axes,):
        for shape in _shapes(weight.shape[0], axes):
            for n_changed, connectivity in enumerate(CONNECTIVITY.get(axes, ()), start=1):
                if _n_edges(shape, n_changed) == weight.nnz:
                    grid = Grid(shape, connectivity)
                    if _same_edges(grid.graph, weight):
                        return grid
    return None


def coarsen_grid(grid: Grid, sides: Sequence[int]) -> tuple[Coarsening, Grid]:
    """Return the blocks of a grid as groups, with the grid of the same kind that they make.

    Blocks at the far end of an axis are smaller where its length is not a multiple of the side.

    Examples
    --------
    >>> from walkconv.coarsening import Grid, coarsen_grid
    >>> coarsening, coarse = coarsen_grid(Grid((3, 4), 8), (2, 2))
    >>> coarsening.groups.reshape(3, 4)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1],
           [2, 2, 3, 3]])
    >>> coarse
    Grid(shape=(2, 2), connectivity=8)
    """
    shape = tuple(-(-length // side) for length, side in zip(grid.shape, sides, strict=True))
    coarse = Grid(shape, grid.connectivity)
    blocks = grid.positions // np.asarray(sides)
    groups = np.asarray(np.ravel_multi_index(tuple(blocks.T), shape), dtype=np.int64)
    return Coarsening(groups, coarse.graph), coarse


def _shapes(n_cells: int, n_axes: int) -> Iterator[tuple[int, ...]]:
    """Yield every shape of this number of cells; with several sides, none is shorter than 2."""
    if n_axes == 1:
        yield (n_cells,)
        return
    for side in range(2, n_cells // 2 + 1):
        if n_cells % side == 0:
            for rest in _shapes(n_cells // side, n_axes - 1):
                yield (side, *rest)


def _n_edges(shape: tuple[int, ...], n_changed: int) -> int:
    """Return the edges, both ways, between cells whose indices differ by 1 on few axes."""
    gaps = [((0, length), (1, 2 * (length - 1))) for length in shape]
    return sum(
        prod(count for _, count in ways)
        for ways in product(*gaps)
        if 0 < sum(changed for changed, _ in ways) <= n_changed
    )


def _same_edges(a: sp.csr_array, b: sp.csr_array) -> bool:
    return np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
