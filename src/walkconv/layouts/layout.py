"""The record that leaves this room."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["none", "line", "ring", "plane", "volume"]
KINDS: dict[int, Kind] = {1: "line", 2: "plane", 3: "volume"}
"""The kind with so many axes that have ends."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A place for every node, so that nodes whose walks are alike lie near each other.

    Attributes
    ----------
    positions : ndarray of shape (n_nodes, n_dims), float64
        The places, in units of the distance between nearest nodes. Steps to nearest nodes point
        along the axes; the longest axis comes first, and along each the node numbers rise.
    period : ndarray of shape (n_dims,), float64
        Length of an axis that runs round a ring; 0 for an axis with two ends.
    kind : "none", "line", "ring", "plane" or "volume"
        What the nodes form. With "none" the positions are the best found, and mean little.
    stress : float
        Mean squared relative error of the distances: near 0 where they agree with the relations.
    kept : float
        Share of the strong relations that lead to near nodes, a mean over several scales and
        counted from chance: 1 at best, about 0 for positions at random.
    reason : str
        Why this kind, in one sentence.
    node : ndarray of shape (n_columns,), int64
        The node of each column of the table. Without channels column i is node i.
    channel : ndarray of shape (n_columns,), int64
        The channel of each column at its node. Without channels all are 0.

    Examples
    --------
    >>> from walkconv import grid_graph, layout_graph
    >>> layout_graph(grid_graph((12, 8)))
    Layout(kind='plane', n_nodes=96, n_dims=2, stress=0.00013)
    """

    positions: np.ndarray
    period: np.ndarray
    kind: Kind
    stress: float
    kept: float
    reason: str
    node: np.ndarray
    channel: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.positions.shape[0]

    @property
    def n_dims(self) -> int:
        """Number of axes."""
        return self.positions.shape[1]

    def __repr__(self) -> str:
        return (
            f"Layout(kind={self.kind!r}, n_nodes={self.n_nodes}, n_dims={self.n_dims}, "
            f"stress={self.stress:.2g})"
        )
