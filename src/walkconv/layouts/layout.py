"""The record that leaves this room."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Layout:
    """A place for every node, so that nodes whose walks are alike lie near each other.

    Attributes
    ----------
    positions : ndarray of shape (n_nodes, n_dims), float64
        The places, in units of the distance between nearest nodes. Steps to nearest nodes point
        along the axes; the longest axis comes first, and along each the node numbers rise.
    eigenvalues : ndarray of shape (n_eigenvalues,), float64
        Of the classical scaling, largest first, as shares of the sum of the positive ones. Where
        the graph has `n_dims` dimensions they fall off after the first `n_dims`.
    n_edges : int
        Strongest edges of a node that were used, with all that are tied with the last of them.
    period : ndarray of shape (n_dims,), float64
        Length of an axis that runs round a ring; 0 for an axis with two ends.

    Examples
    --------
    >>> from walkconv import grid_graph, layout_graph
    >>> layout_graph(grid_graph((12, 8)))
    Layout(n_nodes=96, n_dims=2, n_edges=2, decay=0.027)
    """

    positions: np.ndarray
    eigenvalues: np.ndarray
    n_edges: int
    period: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.positions.shape[0]

    @property
    def n_dims(self) -> int:
        """Number of axes."""
        return self.positions.shape[1]

    @property
    def decay(self) -> float:
        """First eigenvalue that has no axis, as a share of the last that has one."""
        return decay(self.eigenvalues, self.n_dims + int(self.period.any()))

    def __repr__(self) -> str:
        return (
            f"Layout(n_nodes={self.n_nodes}, n_dims={self.n_dims}, n_edges={self.n_edges}, "
            f"decay={self.decay:.2g})"
        )


def decay(eigenvalues: np.ndarray, n_dims: int) -> float:
    """Return eigenvalue `n_dims` + 1 as a share of eigenvalue `n_dims`; 1 where that is zero."""
    if len(eigenvalues) < n_dims or eigenvalues[n_dims - 1] <= 0:
        return 1.0
    rest = eigenvalues[n_dims] if len(eigenvalues) > n_dims else 0.0
    return float(max(rest, 0.0) / eigenvalues[n_dims - 1])
