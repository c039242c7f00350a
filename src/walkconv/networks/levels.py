"""The levels of a graph: every pooling of an architecture adds one with fewer nodes.

Between two levels are the groups that pooling merges into one node. Everything here is chosen once,
from the graph alone, before any weight is trained.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_option, check_positions
from walkconv.coarsening import Coarsening, Grid, coarsen_checked, coarsen_grid, find_grid
from walkconv.layers import GroupTables, group_tables
from walkconv.networks.architecture import Convolution, Layer, Pooling, point_at_layer
from walkconv.walks import Neighbors, select_checked

NEIGHBORS = {"index": np.int64, "visits": np.float64, "sign": np.int8}
"""Arrays of the neighbours in a file, and their types."""


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes between two poolings.

    Attributes
    ----------
    n_nodes : int
    graph : csr_array of shape (n_nodes, n_nodes) or None
        Similarity of the nodes; None in a loaded model.
    neighbors : Neighbors or None
        The neighbours of the nodes; None if no convolution uses this level.
    pool : GroupTables or None
        The groups that the next pooling merges; None on the last level.
    positions : ndarray of shape (n_nodes, n_axes), float64, or None
        Positions of the nodes, if known: on a coarse level the mean of each group.

    Examples
    --------
    >>> from walkconv import grid_graph
    >>> from walkconv.networks import build_levels, parse_architecture
    >>> fine, coarse = build_levels(grid_graph((4, 4)), parse_architecture("C8-P4"), n_neighbors=5)
    >>> fine.n_nodes, fine.neighbors.index.shape, coarse.n_nodes, coarse.neighbors
    (16, (16, 5), 4, None)
    """

    n_nodes: int
    graph: sp.csr_array | None = None
    neighbors: Neighbors | None = None
    pool: GroupTables | None = None
    positions: np.ndarray | None = None

    @property
    def groups(self) -> np.ndarray | None:
        """The node of the next level that each node (n_nodes,) is pooled into."""
        return None if self.pool is None else self.pool.group.numpy()

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of this level, without its graph, for a file."""
        arrays = {"positions": self.positions, "groups": self.groups}
        if self.neighbors is not None:
            arrays |= {f"neighbors.{name}": getattr(self.neighbors, name) for name in NEIGHBORS}
        return {name: array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, np.ndarray],
        *,
        n_nodes: int,
        n_steps: Any,
        convolves: bool,
        is_pooled: bool,
    ) -> "Level":
        """Return the level that `to_arrays` wrote, or raise an error if the arrays do not fit."""
        neighbors = _read_neighbors(arrays, n_nodes, n_steps) if convolves else None
        pool = group_tables(arrays["groups"]) if is_pooled else None
        if pool is not None and len(pool.group) != n_nodes:
            raise ValueError(f"there must be a group for each of {n_nodes} nodes.")
        positions = arrays.get("positions")
        if positions is not None:
            if positions.dtype != np.float64:
                raise TypeError(f"the positions must be float64; they are {positions.dtype}.")
            positions = check_positions(positions, "positions", n_nodes)
        return cls(n_nodes, None, neighbors, pool, positions)


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
        As `as_graph` returns it.
    layers : sequence of layers
        From `parse_architecture`.
    n_neighbors, n_steps, order, random_state
        As in `select_neighbors`, on every level; all nodes of a level that has fewer.
    positions : ndarray of shape (n_nodes, n_dims), optional
        Positions of the nodes, for ``order="direction"``. Nodes near each other are pooled, and a
        coarse node is at the mean of its group.
    period : ndarray of shape (n_dims,), optional
        As in `select_neighbors`.
    ties : "index", "random", "position" or array of shape (n_nodes, n_axes), default "index"
        As in `select_neighbors`; "position" takes the positions of the cells of a grid.

    Returns
    -------
    list of Level

    Examples
    --------
    >>> from walkconv import grid_graph
    >>> from walkconv.networks import build_levels, parse_architecture
    >>> layers = parse_architecture("C8-P2x2-C8-P4")
    >>> [level.n_nodes for level in build_levels(grid_graph((8, 8)), layers, n_neighbors=9)]
    [64, 16, 4]
    """
    n_neighbors = check_integer(n_neighbors, "n_neighbors", minimum=1)
    grid, tie_positions = find_positions(ties, graph)
    levels: list[Level] = []
    for convolves, pooling in walk_levels(layers):
        n_nodes, neighbors = graph.shape[0], None
        if convolves:
            neighbors = select_checked(
                graph,
                n_neighbors=n_neighbors if order == "direction" else min(n_neighbors, n_nodes),
                n_steps=n_steps,
                order=order,
                positions=positions,
                period=period,
                ties=ties if tie_positions is None else tie_positions,
                random_state=random_state,
            )
        shown = tie_positions if positions is None else positions
        level = Level(n_nodes, graph, neighbors, None, shown)
        if pooling is not None:
            coarsening, grid = _pool(graph, grid, layers, pooling, positions, period)
            level = replace(level, pool=group_tables(coarsening.groups))
            graph = coarsening.graph
            if tie_positions is not None:
                tie_positions = group_means(tie_positions, coarsening.groups)
            if positions is not None:
                positions = group_means(positions, coarsening.groups, period)
        levels.append(level)
    return levels


def find_positions(ties: Any, graph: sp.csr_array) -> tuple[Grid | None, np.ndarray | None]:
    """Return the grid and the positions (n_nodes, n_axes) that `ties` names, if any."""
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

    Along an axis with a period, offsets from the first node of a group take the shorter way.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.networks.levels import group_means
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


def read_levels(
    layers: Sequence[Layer], n_steps: Any, arrays: Mapping[str, np.ndarray], n_nodes: int
) -> list[Level]:
    """Return the levels that the layers need from the arrays of a file, checked.

    Parameters
    ----------
    layers : sequence of layers
    n_steps : list of int or None
        Length of the walk on each level.
    arrays : mapping of str to ndarray
        Arrays of level i have names that begin with ``"i."``.
    n_nodes : int
        Nodes of the first level.
    """
    parts = list(walk_levels(layers))
    if not isinstance(n_steps, list) or len(n_steps) != len(parts):
        raise ValueError(f"n_steps must be a list, one entry for each of {len(parts)} levels.")
    levels: list[Level] = []
    for number, (convolves, pooling) in enumerate(parts):
        level = Level.from_arrays(
            under(f"{number}.", arrays),
            n_nodes=n_nodes,
            n_steps=n_steps[number],
            convolves=convolves,
            is_pooled=pooling is not None,
        )
        levels.append(level)
        n_nodes = n_nodes if level.pool is None else len(level.pool.start) - 1
    return levels


def under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with a prefix, named without it."""
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def walk_levels(layers: Sequence[Layer]) -> Iterator[tuple[bool, int | None]]:
    """Yield for each level whether it has a convolution, and the number of the pooling after it."""
    convolves = False
    for number, layer in enumerate(layers):
        convolves = convolves or isinstance(layer, Convolution)
        if isinstance(layer, Pooling):
            yield convolves, number
            convolves = False
    yield convolves, None


def _pool(
    graph: sp.csr_array,
    grid: Grid | None,
    layers: Sequence[Layer],
    number: int,
    positions: np.ndarray | None,
    period: np.ndarray | None,
) -> tuple[Coarsening, Grid | None]:
    """Return the coarsening of a level for the pooling with this number in the architecture."""
    pooling = layers[number]
    assert isinstance(pooling, Pooling)
    if len(pooling.sides) == 1:
        size = pooling.sides[0]
        return coarsen_checked(graph, group_size=size, positions=positions, period=period), None
    grid = grid or find_grid(graph, len(pooling.sides))
    if grid is None or len(grid.shape) != len(pooling.sides):
        raise ValueError(
            point_at_layer(
                layers,
                number,
                f"{pooling} needs a grid of {len(pooling.sides)} axes in raster order, as "
                f"grid_graph makes it. P{prod(pooling.sides)} pools any graph.",
            )
        )
    return coarsen_grid(grid, pooling.sides)


def _read_neighbors(arrays: Mapping[str, np.ndarray], n_nodes: int, n_steps: Any) -> Neighbors:
    index, visits, sign = (arrays[f"neighbors.{name}"] for name in NEIGHBORS)
    if [index.dtype, visits.dtype, sign.dtype] != list(NEIGHBORS.values()):
        raise TypeError("the neighbours must be int64, their visits float64, their signs int8.")
    if index.ndim != 2 or len(index) != n_nodes or not index.shape == visits.shape == sign.shape:
        raise ValueError(f"the neighbours of {n_nodes} nodes must be tables of one shape.")
    if index.min(initial=-1) < -1 or index.max(initial=-1) >= n_nodes:
        raise ValueError(f"the neighbours must lie between -1 and {n_nodes - 1}.")
    return Neighbors(index, visits, sign, check_integer(n_steps, "n_steps", minimum=0))
