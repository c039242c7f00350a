"""The network whose first layer says which columns act alike on the target."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import nn

from walkconv.estimators.inputs import read_table
from walkconv.graphs import heat_kernel_graph

TEACHER = "FC128-FC64"
"""Hidden layers of the network."""
TEACHING = {
    "normalization": None,  # it would leave the scale of the first weights to chance
    "dropout": 0.2,
    "learning_rate": 1e-2,
    "weight_decay": 1.0,
    "n_members": 1,
}
"""How it is trained: so that little of the random start is left in the weights."""


def graph_of_uses(
    teacher: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    n_edges: int | None = None,
    scale_neighbor: int = 7,
) -> sp.csr_array:
    """Return the graph that joins columns which a fully connected network uses alike.

    Parameters
    ----------
    teacher : GraphCNN
        A model without C layers, not fitted yet.
    X, y, sample_weight
        The training rows, as `fit` takes them.
    n_edges, scale_neighbor
        As in `heat_kernel_graph`.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
        A constant column, of which a network learns nothing, has no edges.
    """
    teacher.fit(X, y, sample_weight)
    uses = _first_weights(teacher)
    n_nodes = uses.shape[1]
    varying = np.flatnonzero(_varies(read_table(teacher, X)))
    if len(varying) < 2:
        return sp.csr_array((n_nodes, n_nodes))
    if n_edges is not None:
        n_edges = min(n_edges, len(varying) - 1)
    graph = heat_kernel_graph(uses[:, varying], n_edges=n_edges, scale_neighbor=scale_neighbor)
    source, target = graph.nonzero()
    places = (varying[source], varying[target])
    return sp.csr_array((graph.data, places), shape=(n_nodes, n_nodes))


def _first_weights(teacher: Any) -> np.ndarray:
    """Return the weights (n_channels * n_units, n_nodes) of the first layer, float64."""
    first = next(part for part in teacher.module_.modules() if isinstance(part, nn.Linear))
    weight = first.weight.detach().cpu().double().numpy()
    n_nodes, n_channels = teacher.scaling_.mean.shape
    by_node = weight.reshape(-1, n_nodes, n_channels)
    return by_node.transpose(0, 2, 1).reshape(-1, n_nodes)


def _varies(X: np.ndarray | sp.csr_array) -> np.ndarray:
    """Tell of each column (n_nodes,) whether it has two values or more in any channel."""
    if isinstance(X, np.ndarray):
        lowest, highest = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    else:
        lowest, highest = (found.toarray() for found in (X.nanmin(axis=0), X.nanmax(axis=0)))
    return (lowest != highest).reshape(X.shape[1], -1).any(axis=1)
