"""The graph of columns that act alike on the target."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from torch import nn

from walkconv._checks import check_integer, check_option
from walkconv._task import guess_task
from walkconv.estimators.classifier import GraphCNNClassifier
from walkconv.estimators.regressor import GraphCNNRegressor
from walkconv.estimators.table_samples import TableSamples
from walkconv.graphs import heat_kernel_graph
from walkconv.networks.architecture import FullyConnected, parse_architecture


class TeachingClassifier(GraphCNNClassifier):
    """Without batch normalization, which leaves the scale of the first weights undetermined."""

    normalization = None


class TeachingRegressor(GraphCNNRegressor):
    """Without batch normalization, for the same reason."""

    normalization = None


TASKS = {"classification": TeachingClassifier, "regression": TeachingRegressor}
TEACHER = "FC128-FC64"
"""Hidden layers of the network that the graph is read from."""
TEACHING = {
    "dropout": 0.2,
    "learning_rate": 1e-2,
    "weight_decay": 1.0,
    "n_members": 1,
}
"""How it is trained: so that little of the random start is left in the weights."""


def supervised_graph(
    X: Any,
    y: Any,
    *,
    task: Literal["auto", "classification", "regression"] = "auto",
    architecture: str = TEACHER,
    max_iter: int = 20,
    n_edges: int | None = None,
    scale_neighbor: int = 7,
    sample_weight: Any = None,
    device: Any = "auto",
    random_state: Any = None,
) -> sp.csr_array:
    """Return the graph of columns that a trained network uses alike (Henaff et al. 2015).

    A fully connected network learns to predict y. Column i is then described by the weights
    ``w_i`` that lead from it to the units of the first layer, and the weight of an edge is
    ``exp(-|w_i - w_j|^2 / (s_i s_j))`` with the local scales of `heat_kernel_graph`. Unlike
    correlated columns, columns that act alike need not vary together.

    The graph has seen y: make it from training rows only, or let the estimators do so, with
    ``graph="supervised"``.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (n_samples, n_nodes)
        Or an array of shape (n_samples, n_nodes, n_channels). NaN is a missing value. Units do
        not matter: the columns are scaled.
    y : array of shape (n_samples,), for regression also (n_samples, n_outputs)
        What to predict.
    task : "auto", "classification" or "regression", default "auto"
        What y means; "auto" takes text and few whole numbers for classes, as ``walkconv fit`` does.
    architecture : str, default "FC128-FC64"
        Hidden layers of the network, fully connected.
    max_iter : int, default 20
        Epochs.
    n_edges : int, optional
        Keep an edge only where one end is among the `n_edges` nearest of the other; by default
        all pairs, which needs memory for (n_nodes, n_nodes).
    scale_neighbor : int, default 7
        Which neighbour sets the local scale; the last one where there are fewer.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row in the loss.
    device : str or torch.device, default "auto"
        Where to train; "auto" is a GPU where there is one.
    random_state : int, RandomState or None, default None
        Seed of the network.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Symmetric, weights in (0, 1], no self-loops. A constant column has no edges.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import supervised_graph
    >>> X = np.random.default_rng(0).normal(size=(300, 6))  # unrelated columns
    >>> y = np.abs(X[:, :3].sum(axis=1)) + X[:, 3:].sum(axis=1)
    >>> (supervised_graph(X, y, random_state=0) > 0.6).toarray().astype(int)
    array([[0, 1, 1, 0, 0, 0],
           [1, 0, 1, 0, 0, 0],
           [1, 1, 0, 0, 0, 0],
           [0, 0, 0, 0, 1, 1],
           [0, 0, 0, 1, 0, 1],
           [0, 0, 0, 1, 1, 0]])
    """
    layers = parse_architecture(architecture)
    if not layers or not all(isinstance(layer, FullyConnected) for layer in layers):
        raise ValueError(
            "The graph is read from a fully connected network: architecture must be made of FC "
            f"layers, such as 'FC128-FC64'; got {architecture!r}."
        )
    teacher = TASKS[_task(task, y)](
        architecture,
        graph=None,
        max_iter=max_iter,
        device=device,
        random_state=random_state,
        **TEACHING,
    )
    if n_edges is not None:
        n_edges = check_integer(n_edges, "n_edges", minimum=1)
    scale_neighbor = check_integer(scale_neighbor, "scale_neighbor", minimum=1)
    return _graph_of_uses(
        teacher, X, y, sample_weight, n_edges=n_edges, scale_neighbor=scale_neighbor
    )


def _task(task: str, y: Any) -> str:
    check_option(task, "task", ["auto", *TASKS])
    return guess_task(y)[0] if task == "auto" else task


def _graph_of_uses(
    teacher: GraphCNNClassifier | GraphCNNRegressor,
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
    varying = np.flatnonzero(_varies(TableSamples.read(X).X))
    if len(varying) < 2:
        return sp.csr_array((n_nodes, n_nodes))
    if n_edges is not None:
        n_edges = min(n_edges, len(varying) - 1)
    graph = heat_kernel_graph(uses[:, varying], n_edges=n_edges, scale_neighbor=scale_neighbor)
    source, target = graph.nonzero()
    ends = (varying[source], varying[target])
    return sp.csr_array((graph.data, ends), shape=(n_nodes, n_nodes))


def _first_weights(teacher: GraphCNNClassifier | GraphCNNRegressor) -> np.ndarray:
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
