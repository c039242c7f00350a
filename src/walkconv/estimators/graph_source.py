"""What `graph=` means: a learner by name, or a graph that is known."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import FORMS, as_graph, is_networkx
from walkconv.estimators.inputs import Rows
from walkconv.estimators.teacher import graph_of_uses
from walkconv.graphs import correlation_graph, heat_kernel_graph, knn_graph
from walkconv.models.scaling import Scaling

MANY_NODES = 4096
"""Above this not all pairs of columns are kept, only the strongest of each."""
KEPT_EDGES = 128
NEAREST = 10


@dataclass(frozen=True)
class Learning:
    """What a graph is learned from, and how much of it is kept.

    Attributes
    ----------
    rows : Rows
        The training rows, with the weight that each has in the loss.
    scaling : Scaling
        Of their columns.
    teacher : GraphCNN
        A model without C layers, not fitted yet, for the graph that is learned from y too.
    n_edges : int or None
        So many of the strongest edges of every column; None for all.
    """

    rows: Rows
    scaling: Scaling
    teacher: Any
    n_edges: int | None

    def table(self) -> np.ndarray:
        """Return the scaled columns, see `scaled_columns`."""
        return scaled_columns(self.rows.X, self.scaling)


def _correlation(learning: Learning) -> sp.csr_array:
    X = learning.rows.X
    with warnings.catch_warnings():
        # A constant column is harmless here: it is scaled to zero and keeps to itself.
        warnings.filterwarnings("ignore", message=r"\d+ constant column")
        return correlation_graph(X if _is_plain(X) else learning.table(), n_edges=learning.n_edges)


def _knn(learning: Learning) -> sp.csr_array:
    table = learning.table()
    return knn_graph(table, n_neighbors=min(NEAREST, table.shape[1] - 1))


def _heat_kernel(learning: Learning) -> sp.csr_array:
    return heat_kernel_graph(learning.table(), n_edges=learning.n_edges)


def _supervised(learning: Learning) -> sp.csr_array:
    rows = learning.rows
    return graph_of_uses(learning.teacher, rows.X, rows.y, rows.weight, n_edges=learning.n_edges)


LEARNERS = {
    "correlation": _correlation,
    "knn": _knn,
    "heat_kernel": _heat_kernel,
    "supervised": _supervised,
}


def find_graph(graph: Any, learning: Learning, names: Any) -> sp.csr_array:
    """Return the graph of the columns: learned from the training rows, or the one that was given.

    Parameters
    ----------
    graph
        Name of a learner, or any form `as_graph` takes.
    learning : Learning
        What a learner is told.
    names : array of str or None
        Names of the columns.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    n_nodes = learning.rows.X.shape[1]
    if isinstance(graph, str) and graph in LEARNERS:
        return sp.csr_array(np.eye(1)) if n_nodes == 1 else LEARNERS[graph](learning)
    if graph is None or isinstance(graph, str | bytes):
        learners = ", ".join(repr(name) for name in LEARNERS)
        raise ValueError(
            f"An architecture with C layers needs a graph: {learners}, or {FORMS}; got {graph!r}."
        )
    return as_graph(graph, names=_order(graph, names, n_nodes), n_nodes=n_nodes)


def edges_to_keep(n_nodes: int, n_neighbors: int, *, is_ranked_at_once: bool) -> int | None:
    """Return how many edges of a column to keep; all where there are not too many columns.

    Where the edges of a column are its neighbours (`is_ranked_at_once`) more would change nothing.
    """
    if n_nodes <= MANY_NODES:
        return None
    needed = max(1, n_neighbors - 1)
    return min(needed if is_ranked_at_once else max(KEPT_EDGES, needed), n_nodes - 1)


def scaled_columns(X: Any, scaling: Scaling) -> np.ndarray:
    """Return the scaled table (n_samples * n_channels, n_nodes), means where values are missing."""
    values = X.toarray() if sp.issparse(X) else X
    scaled = scaling.scale(values.reshape(len(values), *scaling.mean.shape))
    return np.nan_to_num(scaled).swapaxes(1, 2).reshape(-1, scaled.shape[1])


def _is_plain(X: Any) -> bool:
    """Tell whether X is a table without channels or missing values."""
    values = X.data if sp.issparse(X) else X
    return X.ndim == 2 and not (values.dtype.kind == "f" and np.isnan(np.sum(values)))


def _order(graph: Any, names: Any, n_nodes: int) -> list | None:
    """Return the order of the nodes by label: the names of the columns, or their numbers."""
    labels = list(graph.nodes if is_networkx(graph) else getattr(graph, "columns", []))
    if sorted(labels, key=str) == sorted(range(n_nodes), key=str):
        return list(range(n_nodes))
    if names is None and is_networkx(graph) and len(labels) == n_nodes:
        raise ValueError(
            "X has no names (strings) to match the nodes of the networkx graph with (first: "
            f"{labels[0]!r}). Give X names, as a DataFrame has them, and the nodes the same, or "
            f"relabel the nodes to 0..{n_nodes - 1}."
        )
    return None if names is None or not labels else list(names)
