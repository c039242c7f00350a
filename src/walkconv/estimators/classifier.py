"""The classifier."""

import os
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import log_softmax, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor
from torch.nn import functional

from walkconv.estimators.base import GraphCNN
from walkconv.estimators.inputs import Rows
from walkconv.models.architecture import NodeOutput, parse_architecture


class GraphCNNClassifier(ClassifierMixin, GraphCNN):
    """A classifier whose network convolves over related columns.

    Parameters
    ----------
    architecture : str, default "C8-FC128"
        Hidden layers in the paper's notation: ``C8`` is a graph convolution with 8 filters,
        ``FC128`` a fully connected layer of 128 units, ``P4`` pooling over groups of 4 related
        columns, ``P2x2`` over the blocks of a grid, ``G`` the mean over all nodes. "" is
        logistic regression. Samples that are graphs need a G before the FC layers.
    graph : "correlation", "knn", "heat_kernel", "supervised", None or a graph
        How the columns are related, "correlation" by default: learned in `fit` from the training
        rows (`correlation_graph`, `knn_graph`, `heat_kernel_graph`, `supervised_graph`), or
        known, in any form `as_graph` takes. Where both the graph and X have names, they are
        matched. Of more than 4,096 columns a learned graph keeps only some edges of each: 128, or
        the strongest correlations, as many as there are neighbours, where nothing else is used.
        Unused, and None will do, without C and P layers.
    n_neighbors : int, default 9
        Neighbours of each column, itself included: the paper's p. All columns where there are
        fewer.
    n_steps : int or "auto", default 1
        Length of the random walk: the paper's k.
    order : "visits", "direction" or "auto", default "visits"
        What a slot of a filter means: a rank, as in the paper, or a displacement, the same at
        every column, as in an image filter. Columns get their places from the graph
        (`layout_graph`, in two dimensions) where `positions` gives none. "auto" takes direction
        where the layout is good; `orientation_` says what it took and why.
    positions : array of shape (n_nodes, n_dims), optional
        Known places of the columns, for ``order="direction"`` or "auto".
    shift : int, default 0
        In training every row is shifted by chance, up to so many steps along the layout: 1 needs
        9 neighbours in the plane, 2 needs 25. Not where "auto" has taken visits.
    ties : "index", "random", "position" or array (n_nodes, n_axes), default "index"
        Order of neighbours with equal visits: by index, by chance, or by the positions of the
        columns; see `select_neighbors`. "position" is for a graph that is a grid.
    weighting : "rank" or "signed_visits", default "rank"
        The paper's Conv1 or Conv2; see `GraphConv`.
    pooling : "max" or "mean", default "max"
        What P layers keep of a group; see `GraphPool`.
    readout : "sum", "log_sum", "mean" or "max", default "mean"
        What a G layer keeps of all nodes; see `GraphReadout`.
    standardize : bool, default True
        Centre every column and divide it by its standard deviation over the training rows. False
        takes the columns as they are, for those that share a scale already.
    clip : float or None, default 3.0
        Values z beyond about `clip` (deviations, where columns are standardised) are pulled in
        smoothly, ``z / sqrt(1 + (z / clip)^2)``. None leaves them. Numbers of nodes of graphs are
        standardised and not clipped.
    normalization : "batch" or None, default "batch"
        Batch normalisation of the fully connected layers and, in networks with pooling, of the
        convolutions.
    dropout, conv_dropout : float, default 0.2 and 0
        Chance that a unit of a fully connected layer, or a column after a convolution (after
        pooling, a group), is left out in training.
    conv_dropped : "nodes" or "values", default "nodes"
        What is left out after a convolution: a column with all its filters, or single values.
    solver : "adamw", "adam" or "rmsprop", default "adamw"
        "adamw" rises to the learning rate and falls to nothing over `max_iter` epochs (one
        cycle); the others keep it.
    learning_rate : float, default 1e-3
        The (highest) learning rate.
    weight_decay : float, default 1e-2
        Decoupled for "adamw", an L2 penalty for the others.
    batch_size : int or "auto", default "auto"
        Rows of a batch, in training and in prediction. "auto" is a fiftieth of the training rows,
        at least 16 and at most 128, so that a small table is not left with few steps.
    max_iter : int, default 20
        Epochs.
    early_stopping : bool, default False
        Stop when the score of validation rows has not improved for `n_iter_no_change` epochs.
        They are a share of the training rows, or the `validation_data` of `fit`. The weights of
        the best epoch are kept whenever there are validation rows.
    validation_fraction : float, default 0.1
        Share of the training rows held out by `early_stopping`.
    n_iter_no_change : int, default 10
        Patience of `early_stopping`, in epochs.
    class_weight : None, "balanced" or dict, default None
        Weight of each class in the loss; "balanced" gives every class the same in total.
    n_members : int, default 1
        Networks trained from different seeds on one graph; their predictions are averaged.
    warm_start : bool, default False
        Whether another `fit` continues with the graph, the scaling and the weights of the last.
    checkpoint : path, optional
        A file that follows the training, epoch by epoch. If the process ends, the same `fit`
        called again continues from it and ends with exactly the same weights; a fit with other
        settings or data is refused.
    device : str or torch.device, default "auto"
        "auto" is a GPU where there is one.
    random_state : int, RandomState or None, default None
        Seed of the first weights, the order of the rows and dropout.
    verbose : int, default 0
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    graph_ : csr_array of shape (n_nodes, n_nodes) or None
        The graph; None without C and P layers. In a model that was loaded only one that was given.
    neighbors_ : Neighbors or None
        What `select_neighbors` made of it.
    orientation_ : Orientation or None
        The `order` of the slots, the `reason` for it, and the places of the columns.
    positions_ : ndarray of shape (n_nodes, n_dims) or None
        The places; None in order of visits.
    levels_ : list of Level
        The columns, and what each P layer makes of them: number of nodes, graph, neighbours,
        groups and positions of each.
    module_, modules_ : Network, list of Network
        The first member, and all: torch modules from scaled columns (m, n_nodes, n_channels) to
        outputs.
    history_ : list of dict
        ``member``, ``epoch``, ``loss``, ``seconds`` and, with validation rows,
        ``validation_score`` of every epoch, and what `after_epoch` of `fit` returned.
    n_iter_ : int
        Epochs run (of the member with the most).
    n_parameters_ : int
        Weights of one member, frozen ones too.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of `predict_proba`.
    n_features_in_, feature_names_in_
        Number and names of the columns, where names are strings: then a DataFrame to predict for
        may have them in any order.
    scaling_ : Scaling
        Mean and deviation of every column, over the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from walkconv import GraphCNNClassifier
    >>> X, y = load_digits(return_X_y=True)  # 8 x 8 pixels, their places forgotten
    >>> model = GraphCNNClassifier("C4-FC32", max_iter=10, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    _target_checks: ClassVar[dict[str, bool]] = {}

    def __init__(
        self,
        architecture: str = "C8-FC128",
        *,
        graph: Any = "correlation",
        n_neighbors: int = 9,
        n_steps: int | Literal["auto"] = 1,
        order: Literal["visits", "direction", "auto"] = "visits",
        positions: Any = None,
        shift: int = 0,
        ties: Any = "index",
        weighting: Literal["rank", "signed_visits"] = "rank",
        pooling: Literal["max", "mean"] = "max",
        readout: Literal["sum", "log_sum", "mean", "max"] = "mean",
        standardize: bool = True,
        clip: float | None = 3.0,
        normalization: Literal["batch"] | None = "batch",
        dropout: float = 0.2,
        conv_dropout: float = 0.0,
        conv_dropped: Literal["nodes", "values"] = "nodes",
        solver: Literal["adamw", "adam", "rmsprop"] = "adamw",
        learning_rate: float = 1e-3,
        weight_decay: float = 1e-2,
        batch_size: int | Literal["auto"] = "auto",
        max_iter: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: Any = None,
        n_members: int = 1,
        warm_start: bool = False,
        checkpoint: str | os.PathLike | None = None,
        device: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.architecture = architecture
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.order = order
        self.positions = positions
        self.shift = shift
        self.ties = ties
        self.weighting = weighting
        self.pooling = pooling
        self.readout = readout
        self.standardize = standardize
        self.clip = clip
        self.normalization = normalization
        self.dropout = dropout
        self.conv_dropout = conv_dropout
        self.conv_dropped = conv_dropped
        self.solver = solver
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.n_members = n_members
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the chance of each class (n_samples, n_classes), averaged over the members."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`, exact for very small chances."""
        logs = np.stack([log_softmax(outputs, axis=1) for outputs in self._outputs(X)])
        return logsumexp(logs, axis=0) - np.log(np.float32(len(logs)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row, (n_samples,)."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _learn_target(self, y: np.ndarray) -> None:
        if any(isinstance(layer, NodeOutput) for layer in parse_architecture(self.architecture)):
            raise ValueError(
                "N layers predict numbers at every node, and classes are no numbers; "
                "use GraphCNNRegressor, or an architecture without N."
            )
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes; got one class: {_plain(y[0])!r}.")

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        is_unknown = self.classes_[codes] != y
        if is_unknown.any():
            raise ValueError(
                f"y must hold the classes of the training rows, {self.classes_}; "
                f"got {_plain(y[is_unknown][0])!r}."
            )
        return codes.astype(np.int64)

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _target_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if self.classes_.dtype.kind in "biuf":
            return {}, {"classes": self.classes_}
        if not all(isinstance(label, str) for label in self.classes_):
            raise TypeError(
                f"Classes must be numbers or strings to be saved; got {self.classes_.dtype}. "
                "Encode them first."
            )
        names = [str(label) for label in self.classes_]
        return {"classes": names, "type": self.classes_.dtype.str}, {}

    def _restore_target(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if "classes" in arrays:
            classes = arrays["classes"]
        elif np.dtype(state["type"]).kind in "UO" and all(
            isinstance(label, str) for label in state["classes"]
        ):
            classes = np.array(state["classes"], dtype=state["type"])
        else:
            raise ValueError("the classes must be numbers or strings.")
        if classes.ndim != 1 or len(classes) < 2 or (classes[:-1] >= classes[1:]).any():
            raise ValueError("the classes must be two or more, each once, in order.")
        self.classes_ = classes

    def _loss_weight(self, rows: Rows) -> np.ndarray:
        factor = compute_sample_weight(self.class_weight, self.classes_[rows.y])
        if not (factor.min() >= 0 and 0 < factor.max() < np.inf):
            raise ValueError(
                "class_weight must be finite, not negative, and not 0 for every class; "
                f"got {self.class_weight}."
            )
        return rows.weight * factor

    def _row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, target, reduction="none")

    def _score_outputs(self, outputs: np.ndarray, rows: Rows) -> float:
        return float(np.average(outputs.argmax(axis=1) == rows.y, weights=rows.weight))


def _plain(label: Any) -> Any:
    """Return a label as Python writes it: 'a', not np.str_('a')."""
    return label.item() if isinstance(label, np.generic) else label
