"""A graph and the poolings of an architecture become levels: ever fewer nodes, each with its graph.

Between two levels stand the groups that pooling makes one node of. Everything here is chosen once,
from the graph alone, before any weight is trained.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_option, check_positions
from walkconv.coarsening import Coarsening, Grid, coarsen, coarsen_grid, find_grid
from walkconv.models.architecture import Convolution, Layer, Pooling, point_at_layer
from walkconv.walks import Neighbors, select_neighbors


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes between two poolings.

    Attributes
    ----------
    n_nodes : int
    graph : csr_array of shape (n_nodes, n_nodes) or None
        Similarity of the nodes; None in a model that was loaded.
    neighbors : Neighbors or None
        What `select_neighbors` made of it; None where no convolution stands on this level.
    groups : ndarray of shape (n_nodes,), int64, or None
        The node of the next level that each node is pooled into; None on the last level.
    positions : ndarray of shape (n_nodes, n_axes), float64, or None
        Where the nodes lie, if that is known: on a coarse level the mean of each group.
    """

    n_nodes: int
    graph: sp.csr_array | None = None
    neighbors: Neighbors | None = None
    groups: np.ndarray | None = None
    positions: np.ndarray | None = None


def build_levels(
    graph: sp.csr_array,
    layers: Sequence[Layer],
    *,
    n_neighbors: int,
    n_steps: int | Literal["auto"] = 1,
    order: Literal["visits", "direction"] = "visits",
    positions: np.ndarray | None = None,
    period: np.ndarray | None = None,
    ties: Any = "index",
    random_state: Any = None,
) -> list[Level]:
    """Return the levels of a network: one, and one more for every pooling.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
    layers : sequence of layers
        From `parse_architecture`.
    n_neighbors, n_steps, order, random_state
        As in `select_neighbors`, on every level; all nodes where there are fewer.
    positions : ndarray of shape (n_nodes, n_dims), optional
        Where the nodes are, for ``order="direction"``. Nodes near each other are pooled, and a
        coarse node is at the mean of its group.
    period : ndarray of shape (n_dims,), optional
        As in `select_neighbors`.
    ties : "index", "random", "position" or array of shape (n_nodes, n_axes), default "index"
        As in `select_neighbors`; "position" takes the places of the cells of a grid.

    Returns
    -------
    list of Level

    Examples
    --------
    >>> from walkconv import grid_graph
    >>> from walkconv.models import build_levels, parse_architecture
    >>> layers = parse_architecture("C8-P2x2-C8-P4")
    >>> [level.n_nodes for level in build_levels(grid_graph((8, 8)), layers, n_neighbors=9)]
    [64, 16, 4]
    """
    n_neighbors = check_integer(n_neighbors, "n_neighbors", minimum=1)
    grid, tie_positions = find_positions(ties, graph)
    levels: list[Level] = []
    for convolves, place in stretches(layers):
        n_nodes, neighbors = graph.shape[0], None
        if convolves:
            neighbors = select_neighbors(
                graph,
                n_neighbors=n_neighbors if order == "direction" else min(n_neighbors, n_nodes),
                n_steps=n_steps,
                order=order,
                positions=positions,
                period=period,
                ties=ties if tie_positions is None else tie_positions,
                random_state=random_state,
            )
        level = Level(
            n_nodes, graph, neighbors, None, tie_positions if positions is None else positions
        )
        if place is not None:
            coarsening, grid = _pool(graph, grid, layers, place, positions, period)
            level = replace(level, groups=coarsening.groups)
            graph = coarsening.graph
            if tie_positions is not None:
                tie_positions = group_means(tie_positions, coarsening.groups)
            if positions is not None:
                positions = group_means(positions, coarsening.groups, period)
        levels.append(level)
    return levels


def find_positions(ties: Any, graph: sp.csr_array) -> tuple[Grid | None, np.ndarray | None]:
    """Return the grid and the positions (n_nodes, n_axes) that `ties` speaks of, if any."""
    if isinstance(ties, str):
        check_option(ties, "ties", ["index", "random", "position"])
        if ties != "position":
            return None, None
        grid = find_grid(graph)
        if grid is None:
            raise ValueError(
                "ties='position' needs a graph that is a grid in raster order, as grid_graph makes "
                "it. Give the positions (n_nodes, n_axes) instead."
            )
        return grid, grid.positions.astype(np.float64)
    return None, check_positions(ties, "ties", graph.shape[0])


def group_means(
    values: np.ndarray, groups: np.ndarray, period: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean (n_groups, n_axes) over each group of values (n_nodes, n_axes).

    Along an axis with a period the mean is that of the shorter ways from a group's first node.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.models.hierarchy import group_means
    >>> group_means(np.array([[0.0], [9.0], [4.0]]), np.array([0, 0, 1]), np.array([10.0]))
    array([[-0.5],
           [ 4. ]])
    """
    _, first = np.unique(groups, return_index=True)
    offset = values - values[first][groups]
    if period is not None:
        length = np.where(period > 0, period, np.inf)
        offset -= np.where(period > 0, period, 0.0) * np.rint(offset / length)
    size = np.bincount(groups)
    mean = np.stack([np.bincount(groups, weights=axis) / size for axis in offset.T], axis=1)
    return values[first] + mean


def stretches(layers: Sequence[Layer]) -> Iterator[tuple[bool, int | None]]:
    """Yield for each level whether it has a convolution, and the place of the pooling after it."""
    convolves = False
    for place, layer in enumerate(layers):
        convolves = convolves or isinstance(layer, Convolution)
        if isinstance(layer, Pooling):
            yield convolves, place
            convolves = False
    yield convolves, None


def _pool(
    graph: sp.csr_array,
    grid: Grid | None,
    layers: Sequence[Layer],
    place: int,
    positions: np.ndarray | None,
    period: np.ndarray | None,
) -> tuple[Coarsening, Grid | None]:
    """Return what the pooling at a place of the architecture makes of a level."""
    pooling = layers[place]
    assert isinstance(pooling, Pooling)
    if len(pooling.sides) == 1:
        size = pooling.sides[0]
        return coarsen(graph, group_size=size, positions=positions, period=period), None
    grid = grid or find_grid(graph, len(pooling.sides))
    if grid is None or len(grid.shape) != len(pooling.sides):
        raise ValueError(
            point_at_layer(
                layers,
                place,
                f"{pooling} needs a grid of {len(pooling.sides)} axes in raster order, as "
                f"grid_graph makes it. P{prod(pooling.sides)} pools any graph.",
            )
        )
    return coarsen_grid(grid, pooling.sides)
