"""The record of the selected neighbours."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The most visited nodes of every node, most visited first or by direction.

    Attributes
    ----------
    index : ndarray of shape (n_nodes, n_neighbors), int64
        The neighbours of each node by slot. A slot is a rank or a displacement (`slot_offsets`);
        -1 in an empty slot.
    visits : ndarray of shape (n_nodes, n_neighbors), float64
        Expected visits to each neighbour; 0 in an empty slot.
    sign : ndarray of shape (n_nodes, n_neighbors), int8
        Sign of the edge to each neighbour, +1 where there is no direct edge; 0 in an empty slot.
    n_steps : int
        Length of the walk.

    Examples
    --------
    >>> from walkconv import graph_from_edges, select_neighbors
    >>> path = graph_from_edges([[0, 1], [1, 2]], [1.0, -1.0], n_nodes=4)
    >>> neighbors = select_neighbors(path, n_neighbors=3)
    >>> neighbors.index
    array([[ 0,  1, -1],
           [ 1,  0,  2],
           [ 2,  1, -1],
           [ 3, -1, -1]])
    >>> neighbors.sign[1]
    array([ 1,  1, -1], dtype=int8)
    >>> neighbors
    Neighbors(n_nodes=4, n_neighbors=3, n_steps=1, coverage=0.25)
    """

    index: np.ndarray
    visits: np.ndarray
    sign: np.ndarray
    n_steps: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.index.shape[0]

    @property
    def n_neighbors(self) -> int:
        """Slots of each node."""
        return self.index.shape[1]

    @property
    def coverage(self) -> float:
        """Share of the nodes with no empty slot."""
        return float((self.index >= 0).all(axis=1).mean())

    def __repr__(self) -> str:
        return (
            f"Neighbors(n_nodes={self.n_nodes}, n_neighbors={self.n_neighbors}, "
            f"n_steps={self.n_steps}, coverage={self.coverage:.4g})"
        )
