"""The record that leaves this room."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from walkconv._checks import check_table

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

    @property
    def n_channels(self) -> int:
        """Largest number of columns of a node."""
        return int(self.channel.max()) + 1

    def stack(self, X: Any) -> np.ndarray:
        """Return a table whose nodes have channels: the columns that are measured at one place.

        Estimators take it as it is, with the positions of the layout:
        ``GraphCNNClassifier(order=layout.positions).fit(layout.stack(X), y)``.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_columns)
            The columns in the order in which they were laid out.

        Returns
        -------
        ndarray of shape (n_samples, n_nodes, n_channels)
            A channel that a node lacks is 0 in all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import layout_columns
        >>> rng = np.random.default_rng(0)
        >>> series = np.cumsum(rng.normal(size=(500, 40)), axis=1)
        >>> layout_columns(series).stack(series).shape
        (500, 40, 1)
        """
        table = check_table(X, allow_missing=True)
        if table.shape[1] != len(self.node):
            raise ValueError(
                f"X must have the {len(self.node)} columns that were laid out; got "
                f"{table.shape[1]}. Lay out this table by itself."
            )
        rows = table if isinstance(table, np.ndarray) else table.toarray()
        stacked = np.zeros((len(rows), self.n_nodes, self.n_channels), dtype=rows.dtype)
        stacked[:, self.node, self.channel] = rows
        return stacked

    def node_names(self, names: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the names of the columns of each node, by channel.

        Parameters
        ----------
        names : sequence of length n_columns
            The names of the columns.
        """
        if len(names) != len(self.node):
            raise ValueError(
                f"names must hold a name for each of {len(self.node)} columns; got {len(names)}."
            )
        found: list[list[Any]] = [[] for _ in range(self.n_nodes)]
        for column in np.argsort(self.channel, kind="stable"):
            found[self.node[column]].append(names[column])
        return [tuple(each) for each in found]

    def __repr__(self) -> str:
        return (
            f"Layout(kind={self.kind!r}, n_nodes={self.n_nodes}, n_dims={self.n_dims}, "
            f"stress={self.stress:.2g})"
        )
