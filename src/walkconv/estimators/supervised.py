"""The graph of columns that act alike on the target."""

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target

from walkconv._checks import check_integer, check_option
from walkconv.estimators.classifier import GraphCNNClassifier
from walkconv.estimators.regressor import GraphCNNRegressor
from walkconv.estimators.teacher import TEACHER, TEACHING, graph_of_uses
from walkconv.models.architecture import FullyConnected, parse_architecture

TASKS = {"classification": GraphCNNClassifier, "regression": GraphCNNRegressor}
CLASSES = ("binary", "multiclass")
NUMBERS = ("continuous", "continuous-multioutput")


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
        What y means; "auto" takes whole numbers and text for classes, as scikit-learn does.
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
    >>> X = np.random.default_rng(0).normal(size=(300, 6))  # no column knows of another
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
    return graph_of_uses(
        teacher, X, y, sample_weight, n_edges=n_edges, scale_neighbor=scale_neighbor
    )


def _task(task: str, y: Any) -> str:
    check_option(task, "task", ["auto", *TASKS])
    if task != "auto":
        return task
    with np.errstate(invalid="ignore"):  # NaN has an error of its own there
        kind = type_of_target(y, input_name="y")
    if kind not in (*CLASSES, *NUMBERS):
        raise ValueError(
            f"y must be classes or numbers, one for each row, or several numbers; got y of type "
            f"{kind!r}. Say what it means by task."
        )
    return "classification" if kind in CLASSES else "regression"
