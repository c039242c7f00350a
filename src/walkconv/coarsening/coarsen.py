"""A graph becomes a smaller one, whose nodes are groups of its nodes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv._checks import check_integer, check_steps
from walkconv.coarsening.grouping import grow_groups
from walkconv.coarsening.nearness import near_graph
from walkconv.walks import select_checked
from walkconv.walks.slots import check_places

CANDIDATES = 8
"""Bonds kept of a node, for each place in a group: on a grid the block and all that touch it."""
UNIT = 2.0**30


@dataclass(frozen=True, eq=False)
class Coarsening:
    """Groups of nodes, and the graph of the groups.

    Attributes
    ----------
    groups : ndarray of shape (n_nodes,), int64
        The group of every node, from 0; numbered in the order of their lowest nodes.
    graph : csr_array of shape (n_groups, n_groups), float64
        Similarity of the groups: the sum of ``|S_ij|`` over the nodes i of the one and j of the
        other. Nothing on the diagonal.

    Examples
    --------
    >>> from walkconv import coarsen, graph_from_edges
    >>> path = graph_from_edges([[0, 1, 2], [1, 2, 3]], [3.0, 1.0, 3.0])
    >>> coarsening = coarsen(path, group_size=2)
    >>> coarsening
    Coarsening(n_nodes=4, n_groups=2)
    >>> coarsening.groups, coarsening.graph.toarray()
    (array([0, 0, 1, 1]), array([[0., 1.],
           [1., 0.]]))
    """

    groups: np.ndarray
    graph: sp.csr_array

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.graph.shape[0]

    def __repr__(self) -> str:
        return f"Coarsening(n_nodes={len(self.groups)}, n_groups={self.n_groups})"


def coarsen(
    graph: Any,
    *,
    group_size: int = 4,
    n_steps: int = 2,
    positions: np.ndarray | None = None,
    period: np.ndarray | None = None,
) -> Coarsening:
    """Return groups of nodes that a walk takes for near, and the graph of these groups.

    The bond of two nodes is the sum of their expected visits to each other. Groups are begun where
    the bonds to nodes without a group are fewest and grow by the node with the strongest bonds to
    them (see `grouping`). On a plain grid groups of 4 are its 2 x 2 blocks.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes; weighted or not, directed or
        not, connected or not.
    group_size : int, default 4
        Nodes of a group, fewer where no more are within reach. A node that no walk leaves or
        enters is a group of its own.
    n_steps : int, default 2
        Length of the walk. With two steps nodes that have neighbours in common count for nearer
        than nodes that merely touch, and the leaves of a star belong together.
    positions, period : optional
        Where the nodes are, as in `select_neighbors`. The walk then goes from place to near place
        instead of along the edges: many weak edges to far nodes, as correlations have them, would
        draw groups apart. Only the graph of the groups comes from the edges.

    Returns
    -------
    Coarsening
        `groups` (n_nodes,) and the `graph` (n_groups, n_groups). What lies inside a group is left
        out of the graph, so that every step of a walk on it leads to another group: otherwise a
        walk on a coarse graph would mostly stand still.

    Examples
    --------
    >>> from walkconv import coarsen, grid_graph
    >>> small = coarsen(grid_graph((4, 6)))
    >>> small.groups.reshape(4, 6)
    array([[0, 0, 1, 1, 2, 2],
           [0, 0, 1, 1, 2, 2],
           [3, 3, 4, 4, 5, 5],
           [3, 3, 4, 4, 5, 5]])
    >>> small.graph.toarray()[0]
    array([0., 4., 0., 4., 1., 0.])
    """
    return coarsen_checked(
        as_graph(graph), group_size=group_size, n_steps=n_steps, positions=positions, period=period
    )


def coarsen_checked(
    graph: sp.csr_array,
    *,
    group_size: int = 4,
    n_steps: int = 2,
    positions: np.ndarray | None = None,
    period: np.ndarray | None = None,
) -> Coarsening:
    """Return the groups as `coarsen` does, of a graph that `as_graph` returned."""
    group_size = check_integer(group_size, "group_size", minimum=1)
    n_steps = check_steps(n_steps, minimum=1)
    walked = graph
    if positions is not None:
        places = check_places(positions, period, graph.shape[0])
        walked = near_graph(places.positions, places.period)
    elif period is not None:
        raise ValueError("period belongs to positions; got it without them.")
    if group_size == 1:
        groups = np.arange(graph.shape[0])
    else:
        groups = grow_groups(_bonds(walked, CANDIDATES * group_size, n_steps), group_size)
    return Coarsening(groups, aggregate(graph, groups))


def aggregate(graph: sp.csr_array, groups: np.ndarray) -> sp.csr_array:
    """Return the similarity (n_groups, n_groups) of groups (n_nodes,): ``G' |S| G``, no diagonal.

    Absolute values, as the walk takes them: edges of opposite sign must not cancel.
    """
    n_groups = int(groups.max(initial=-1)) + 1
    edges = sp.coo_array(abs(graph))
    source, target = groups[edges.row], groups[edges.col]
    crosses = source != target
    weight = edges.data[crosses]
    coarse = sp.csr_array((weight, (source[crosses], target[crosses])), shape=(n_groups, n_groups))
    coarse.sum_duplicates()
    return coarse


def _bonds(graph: sp.csr_array, n_candidates: int, n_steps: int) -> sp.csr_array:
    """Return the bonds (n_nodes, n_nodes) to the most visited nodes, in units of 2^-30 visits."""
    n_nodes = graph.shape[0]
    neighbors = select_checked(graph, n_neighbors=min(n_candidates, n_nodes), n_steps=n_steps)
    is_other = (neighbors.index >= 0) & (neighbors.index != np.arange(n_nodes)[:, None])
    visits = np.rint(neighbors.visits[is_other] * UNIT).astype(np.int64)
    pairs = (np.nonzero(is_other)[0], neighbors.index[is_other])
    one_way = sp.csr_array((visits, pairs), shape=graph.shape)
    bonds = sp.csr_array(one_way + one_way.T)
    bonds.eliminate_zeros()
    bonds.sort_indices()
    return bonds
