"""What the classifier and the regressor share: the constructor, fit, save, and network outputs."""

import os
from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import nn

from walkconv.estimators.answers import Answers
from walkconv.estimators.calibrating import calibrate_model
from walkconv.estimators.filters import Filters
from walkconv.estimators.fitting import fit_model
from walkconv.estimators.records import Fitted, Request, Target
from walkconv.estimators.settings import (
    BEFORE_CHOICE,
    FIXED,
    OF_CLASS,
    Settings,
    check_batch_size,
    check_calibrate,
    check_settings,
    is_open,
    with_fixed,
)
from walkconv.networks.architecture import format_architecture
from walkconv.networks.network import Network, NetworkPlan, count_parameters
from walkconv.training.batches import Batches, predict
from walkconv.training.losses import Loss

SETTINGS = """
    architecture : str, default "auto"
        Hidden layers. "auto" compares a few candidates on held-back training rows and keeps the
        best: `choices_` lists them. A candidate also sets
        `n_neighbors`, `order`, `shift`, `standardize`, `dropout`, `learning_rate`, `weight_decay`,
        `max_iter` and `n_members`; one that you give holds for all candidates. With an architecture
        of yours these have the values in brackets below.
        An architecture is text in the paper's notation: ``C8`` is a graph convolution with 8
        filters, ``FC128`` a fully connected layer of 128 units, ``P4`` max pooling over groups of 4
        related columns (``P4mean`` takes means, ``P2x2`` pools the blocks of a grid), ``G`` the
        mean over all nodes (also ``Gsum``, ``Glog_sum``, ``Gmax``). "" is a linear model. Samples
        that are graphs need a G before the FC layers.
    graph : "correlation", "knn", "heat_kernel", "supervised", None, a callable or a graph
        How the columns are related, "correlation" by default. `fit` learns it from the training
        rows (`correlation_graph`, `knn_graph`, `heat_kernel_graph`, `supervised_graph`), or calls
        ``graph(X, y, sample_weight)`` with the scaled training rows (n_samples, n_nodes), or
        (n_samples, n_nodes, n_channels), where a missing value is the mean; y and the weights in
        the loss are passed only to a callable with parameters of these names. A known graph may
        have any form that `as_graph` takes; if both the graph and X have names, these are
        matched. With more than 4,096 columns a learned graph keeps only the strongest edges of each
        column: 128, or ``n_neighbors - 1`` if only the ranking is needed. Ignored without C and P
        layers.
    n_neighbors : int or "auto", default "auto"
        Neighbours of each column, itself included: the paper's p. All columns if there are fewer.
        (9)
    n_steps : int or "auto", default 1
        Length of the random walk: the paper's k.
    order : "visits", "direction", "auto", array (n_nodes, n_dims) or None, default None
        What a slot of a filter means: a rank, as in the paper, or a displacement, the same at
        every column, as in an image filter. An array gives known positions of the columns, for
        directions between them. Without one, "direction" takes the positions from
        `layout_columns`, or from `layout_graph` if the graph is given. "auto" does so only if the
        columns form a line, a ring, a plane or a volume; `orientation_` says which and why.
        ("visits")
    n_dims : "auto", 1, 2 or 3, default "auto"
        Axes of the layout. "auto" takes the fewest that are adequate.
    shift : int or "auto", default "auto"
        Data augmentation: training shifts every row at random by up to this number of steps along
        the layout. 1 needs 9 neighbours in the plane, 2 needs 25. A warning says when "auto" took
        visits and the shift is not used. (0)
    standardize : bool, "relevance" or "auto", default "auto"
        Centre every column and divide it by its standard deviation over the training rows. For
        graph samples this applies to the numeric node features. "relevance", for tables, also
        weights every column by its correlation with y over the training rows, and takes the
        logarithm of 1 + x in columns of counts. (True)
    soft_clip : float or None, default 3.0
        Soft clipping of scaled values z: ``z / sqrt(1 + (z / soft_clip)^2)``. None does not clip.
        Node features of graph samples are never clipped.
    dropout : float or "auto", default "auto"
        Probability that training drops a unit of a fully connected layer. (0.2 in the classifier,
        0.5 in the regressor)
    conv_dropout : float, default 0.0
        Probability that training drops a column with all its channels after a convolution (a group
        after pooling).
    solver : "adamw", "adam", "rmsprop", "lbfgs" or "auto", default "auto"
        The optimizer. "lbfgs" solves a linear model over all rows at once, in one epoch, without a
        learning rate: quick and exact for tables of some million values. ("adamw")
    schedule : "one_cycle" or "constant", default "one_cycle"
        "one_cycle" raises the learning rate over the first 30 % of `max_iter` epochs and then
        lowers it to zero.
    learning_rate : float or "auto", default "auto"
        The learning rate, or the highest one of the cycle. (1e-3)
    weight_decay : float or "auto", default "auto"
        Decoupled for "adamw", an L2 penalty for the others. (1e-2)
    batch_size : int or "auto", default "auto"
        Rows of a batch, in training and in prediction. "auto" is a fiftieth of the training rows,
        at least 16 and at most 128, so that a small table still gets enough steps.
    max_iter : int or "auto", default "auto"
        Number of epochs. (20)
    time_limit : float or None, default None
        Seconds that `fit` may take, the search included. Training then ends in time, its learning
        rate lowered to zero, and two fits may differ. Without a limit the search takes about as
        long as training, and longer on small tables.
    early_stopping : bool or int, default False
        Stop when the score on validation rows has not improved for this number of epochs; True
        means 10. Validation rows are a share of the training rows, or `validation_data` of `fit`.
        The weights of the best epoch are kept whenever there are validation rows.
    validation_fraction : float, default 0.1
        Share of the training rows held out by `early_stopping`.
    scoring : str, callable or None, default None
        The score on validation rows: the name of a scorer of scikit-learn, such as "roc_auc" or
        "neg_mean_absolute_error", or a callable ``(estimator, X, y) -> number``, which gets an
        estimator that predicts for X. By default the accuracy, or R2; with another loss than the
        squared error, minus the loss. A file does not keep a callable.
    n_members : int or "auto", default "auto"
        Ensemble members: networks trained from different seeds on one graph, averaged. (1 in the
        classifier, 3 in the regressor)
    warm_start : bool, default False
        Whether another `fit` continues with the graph, the scaling and the weights of the last.
    device : str or torch.device, default "auto"
        "auto" is a GPU if there is one: CUDA, or MPS on a Mac.
    precision : "float32" or "bfloat16", default "float32"
        Type of the products of dense layers in training. "bfloat16" is faster with wide layers on
        processors and GPUs that have such products, and changes scores by about as much as another
        seed. Weights, losses, convolutions on the CPU and predictions stay float32.
    random_state : int, RandomState or None, default None
        Seed of the first weights, the order of the rows and dropout.
    verbose : int, default 0
        1 says in one line what the search chose, and shows progress: a bar on a terminal and in a
        notebook, elsewhere a line for every epoch (to the logger "walkconv" if it is set up for
        INFO, otherwise to the standard error)."""
"""The parameters that both estimators share, for their docstrings."""

ATTRIBUTES = """
    graph_ : csr_array of shape (n_nodes, n_nodes) or None
        The graph, or None without C and P layers. A file keeps only a graph that was given.
    neighbors_ : Neighbors or None
        The neighbours of the columns.
    orientation_ : Orientation or None
        The `order` of the slots, the `reason` for it, and the positions of the columns.
    positions_ : ndarray of shape (n_nodes, n_dims) or None
        The positions; None in order of visits.
    levels_ : list of Level
        The columns, and the groups that each P layer makes of them: number of nodes, graph,
        neighbours, groups and positions of each.
    module_, modules_ : Module, list of Module
        The first ensemble member, and all of them. `module_inputs` makes their input.
    architecture_ : str
        The layers of the fitted network.
    choices_ : list of dict
        What the search compared, the chosen one first: ``candidate`` in words, ``score`` on
        held-back training rows (accuracy, R2 or `scoring`), ``loss``, which decides (the mean
        squared error of the probabilities or of the scaled values, the `loss` if another one is
        set; with `scoring` minus the score). Compare scores of candidates with equal ``epochs``:
        those that stayed longer were scored on other rows. Also ``standard_error`` of the
        difference in loss to the chosen candidate, ``seconds`` and ``chosen``. None if an
        architecture is given.
    history_ : list of dict
        ``member``, ``epoch``, ``loss``, ``seconds`` (not in a loaded model) and, with validation
        rows, ``validation_score`` of every epoch, and what `after_epoch` of `fit` returned.
    n_iter_ : int
        Epochs run, of the member with the most.
    n_parameters_ : int
        Number of parameters of one member, frozen ones included.
    n_features_in_, feature_names_in_
        Number and names of the columns, if names are strings: then a DataFrame to predict for may
        have them in any order.
    table_encoding_ : TableEncoding or None
        How columns of text, categories and dates become nodes; None if all columns hold numbers.
    node_names_ : ndarray of shape (n_nodes,) of str, or None
        Names of the nodes, such as "height" and "colour=red"; None if the columns have no names.
    scaling_ : Scaling or None
        Mean and deviation of every column over the training rows; None if samples are graphs.
    encoding_ : NodeEncoding or None
        How node features become channels, if samples are graphs."""
"""The fitted attributes that both estimators share, for their docstrings."""


@dataclass(eq=False, repr=False)
class GraphCNN(Answers):
    """A network on the columns of a table; the subclasses say what y means.

    The fields are the constructor's parameters. Four choices that are rarely changed are class
    attributes, for a subclass to set: `ties` of `select_neighbors` ("index", "random", "position"
    or positions), `weighting` of `GraphConv`, `conv_dropped`, what `conv_dropout` drops ("nodes" or
    "values"), and `normalization` ("batch" or None), the batch normalization of the fully connected
    layers, and of the convolutions in networks with pooling and in networks on graph samples.
    """

    ties: ClassVar[Any] = "index"
    weighting: ClassVar[Literal["rank", "signed_visits"]] = "rank"
    conv_dropped: ClassVar[Literal["nodes", "values"]] = "nodes"
    normalization: ClassVar[Literal["batch"] | None] = "batch"
    _fixed: ClassVar[dict[str, Any]] = {"dropout": 0.2, "n_members": 1}

    architecture: str = "auto"
    _: KW_ONLY
    graph: Any = "correlation"
    n_neighbors: int | Literal["auto"] = "auto"
    n_steps: int | Literal["auto"] = 1
    order: Any = None
    n_dims: Any = "auto"
    shift: int | Literal["auto"] = "auto"
    standardize: bool | Literal["relevance", "auto"] = "auto"
    soft_clip: float | None = 3.0
    dropout: float | Literal["auto"] = "auto"
    conv_dropout: float = 0.0
    solver: Literal["adamw", "adam", "rmsprop", "lbfgs", "auto"] = "auto"
    schedule: Literal["one_cycle", "constant"] = "one_cycle"
    learning_rate: float | Literal["auto"] = "auto"
    weight_decay: float | Literal["auto"] = "auto"
    batch_size: int | Literal["auto"] = "auto"
    max_iter: int | Literal["auto"] = "auto"
    time_limit: float | None = None
    early_stopping: bool | int = False
    validation_fraction: float = 0.1
    scoring: Any = None
    loss: Any = None
    n_members: int | Literal["auto"] = "auto"
    warm_start: bool = False
    device: Any = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation_data: Any = None,
        checkpoint: str | os.PathLike | None = None,
        after_epoch: Callable[[Self], dict[str, Any] | None] | None = None,
        calibrate: bool | Literal["auto"] = "auto",
    ) -> Self:
        """Learn the graph of the columns and the weights of the network.

        Inside `join_processes` all processes that ``torchrun`` started train one model together,
        and every one of them must call `fit` with the same arguments. A fit that fails leaves the
        model as it was before.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
            Or an array of shape (n_samples, n_nodes, n_channels). NaN is a missing value. The
            columns of a DataFrame may also hold text, categories and dates: `table_encoding_` turns
            each of these into one node or several. Or a list of graphs, one for each sample:
            `GraphSample` records, networkx graphs, PyG ``Data`` or pairs ``(edge_index, x)``; or a
            ``Batch`` of PyG.
            A table larger than memory is read in blocks: a memory map, the path of a Parquet file,
            a polars LazyFrame, or an array of dask, h5py or zarr. It takes up to 1 GiB. Rows are
            shuffled by blocks if they need more than 256 MiB, and a search or a layout uses at most
            20,000 of them.
        y : array of shape (n_samples,), for regression also (n_samples, n_outputs)
            What to predict.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row in the loss. A row of weight 0 is dropped. The graph and the scaling
            of the columns do not depend on the other weights.
        validation_data : pair (X, y), optional
            Rows to score after every epoch, instead of a share of the training rows.
        checkpoint : path, optional
            A file that follows the training, epoch by epoch. If the process ends, the same `fit`
            called again continues from it and ends with exactly the same weights; a fit with other
            settings or data is refused, and so is a second one while the first is running.
        after_epoch : callable, optional
            Called after every epoch with a copy of the estimator that predicts with the weights of
            that epoch. The dict of plain values it may return joins the record of the epoch in
            `history_`; it does not decide which weights are kept.
        calibrate : bool or "auto", default "auto"
            Whether five more fits, each on four fifths of the rows, measure the errors on the other
            fifth: for `predict_interval`, and in a classifier for probabilities that are right on
            average (a temperature; the predicted classes stay the same). "auto" does so for
            regression if `fit` chooses the architecture and has no `time_limit`. It is quicker and
            its intervals are wider: it trains one ensemble member, and fits once if the table has
            more than a million values. The weights of the model do not depend on it.

        Returns
        -------
        self
        """
        how = check_calibrate(calibrate, self.time_limit)
        past = getattr(self, "_fitted", None) if self.warm_start else None
        request = self._request(past=past, checkpoint=checkpoint, after_epoch=after_epoch)
        request = replace(request, calibrates=how is True)
        fitted = fit_model(request, X, y, sample_weight, validation_data)
        if how is True or (how == "auto" and _can_wait(request, fitted)):
            fitted = calibrate_model(request, fitted, X, y, sample_weight, how)
        self._keep(fitted)
        return self

    def _fit_part(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        learn_target: Callable[[np.ndarray, Settings], Target] | None = None,
    ) -> Self:
        """Pass once over a part of a stream, after the parts before it."""
        request = self._request(past=getattr(self, "_fitted", None))
        if learn_target is not None:
            request = replace(request, learn_target=learn_target)
        self._keep(fit_model(replace(request, is_part=True), X, y, sample_weight, None))
        return self

    def transfer(
        self,
        X: Any,
        y: Any,
        *,
        graph: Any = None,
        filters: Literal["frozen", "tuned"] = "frozen",
        sample_weight: Any = None,
        validation_data: Any = None,
    ) -> Self:
        """Return a new model with the filters of this one, on other columns or another graph.

        Filters belong to ranks, not to columns: filters learned on many rows serve a table with
        other columns and few rows. The scaling, the graph and the levels of the new columns are
        learned again, and so are all layers after the convolutions.

        Parameters
        ----------
        X, y, sample_weight, validation_data
            As in `fit`; the columns and the classes may be others.
        graph : optional
            As `graph` of the model; by default that of this model.
        filters : "frozen" or "tuned", default "frozen"
            Whether the filters stay as they are or are trained further.

        Returns
        -------
        A fitted model of the same kind; this one does not change.

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 12)).cumsum(axis=1)
        >>> model = GraphCNNRegressor("C4-FC8", n_neighbors=5, max_iter=2).fit(X, X[:, 5])
        >>> small = model.transfer(X[:50, ::2], X[:50, 4])  # other columns, few rows
        >>> small.predict(X[:, ::2]).shape
        (200,)
        """
        check_is_fitted(self)
        model = clone(self)  # by attributes: the constructor of a subclass may lack these settings
        model.warm_start, model.graph = False, self.graph if graph is None else graph
        if self._fitted.choice is not None:  # filters fit only the network that was chosen
            for name, value in self._fitted.choice.settings.items():
                setattr(model, name, value)
        source = Filters(self._fitted.modules, self._fitted.learned, filters)
        request = model._request(filters=source)
        model._keep(fit_model(request, X, y, sample_weight, validation_data))
        return model

    def make_network(self, plan: NetworkPlan) -> nn.Module:
        """Return a new network, untrained; a subclass may return any other module.

        `fit` calls it for every ensemble member, on tables and on graph samples, and trains the
        module it returns.

        Parameters
        ----------
        plan : NetworkPlan
            The layers, the levels of the graph, the numbers of nodes, channels and outputs, and
            the checked settings.

        Returns
        -------
        Module
            From scaled rows (m, n_nodes, n_channels) to (m, n_outputs). If values are missing it
            is called with a second argument, a mask of the shape of the rows. If samples are
            graphs it is called with a `GraphBatch`.
        """
        return Network(plan)

    def module_inputs(self, X: Any) -> tuple[Any, ...]:
        """Return the arguments of `module_`, or of another ensemble member, for these samples.

        Samples are checked, scaled and clipped as in `predict`. The first argument is a Tensor
        (n_samples, n_nodes, n_channels), followed by a mask if values are missing; for graph
        samples it is a `GraphBatch`.

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 6))
        >>> model = GraphCNNRegressor("C4", n_members=1, max_iter=1).fit(X, X[:, 5])
        >>> model.module_(*model.module_inputs(X)).shape  # the first ensemble member
        torch.Size([50, 1])
        """
        return self._batches(X).batch(slice(None))

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model to one safetensors file; `walkconv.load` reads it.

        The file holds the weights, the neighbours, the names and scaling of the columns, the
        classes and the settings of the fit, also if other settings were set since. Reading it runs
        no code, so an estimator of your own cannot be saved. A learned `graph_` is not saved: the
        network uses only the neighbours.

        Parameters
        ----------
        path : path
            An existing file is replaced, whole or not at all.
        """
        from walkconv.estimators.model_file import save_model  # it imports the subclasses

        check_is_fitted(self)
        save_model(type(self), self._fitted, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    @abstractmethod
    def _check_loss(self) -> Loss:
        """Return the loss of the parameters, or raise an error that names the wrong one."""

    @abstractmethod
    def _learn_target(self, y: np.ndarray, settings: Settings) -> Target:
        """Return what y means."""

    def _request(
        self,
        *,
        past: Fitted | None = None,
        filters: Filters | None = None,
        checkpoint: str | os.PathLike | None = None,
        after_epoch: Callable[[Self], dict[str, Any] | None] | None = None,
    ) -> Request:
        """Return what a fit is asked to do, with the settings checked."""
        parameters = self.get_params(deep=False)
        rare = {name: self._of_class(name) for name in OF_CLASS}
        rare["loss"] = self._check_loss()
        # A subclass may have another constructor: the settings are attributes all the same.
        named = {field.name: getattr(self, field.name) for field in fields(GraphCNN)}
        given = named | rare
        fixed = FIXED | self._fixed
        is_searching = is_open("architecture", self.architecture)
        if is_searching:
            fixed = fixed | BEFORE_CHOICE

        def look(now: Fitted) -> dict[str, Any] | None:
            model = copy(self)
            model._keep(now)
            assert after_epoch is not None
            return after_epoch(model)

        return Request(
            settings=check_settings(with_fixed(given, fixed)),
            parameters=named | parameters,
            given=given,
            target_checks=self._target_checks,
            learn_target=self._learn_target,
            make_network=self.make_network,
            random_state=self.random_state,
            is_open=is_searching,
            past=past,
            filters=filters,
            checkpoint=checkpoint,
            after_epoch=None if after_epoch is None else look,
        )

    def _of_class(self, name: str) -> Any:
        if name in vars(self):
            raise TypeError(
                f"{name} must be set on a subclass, not on one estimator: clones and model files "
                f"would lose it. Write a subclass with {name} = {vars(self)[name]!r}."
            )
        return getattr(self, name)

    def _keep(self, fitted: Fitted) -> None:
        """Set the fitted attributes, all of them and nowhere else."""
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit on a table
            if hasattr(self, name):
                delattr(self, name)
        modules, history = fitted.modules, fitted.history
        self._fitted = fitted
        for name, value in (fitted.learned.attributes() | fitted.target.attributes()).items():
            setattr(self, name, value)
        self.architecture_ = format_architecture(fitted.settings.layers)
        self.choices_ = None if fitted.choice is None else fitted.choice.choices
        self.modules_ = modules
        self.module_ = modules[0]
        self.history_ = history
        self.n_iter_ = max(sum(r["member"] == m for r in history) for m in range(len(modules)))
        self.n_parameters_ = count_parameters(modules[0])

    def _batches(self, X: Any) -> Batches:
        check_is_fitted(self)
        learned = self._fitted.learned
        samples = learned.read(X)
        learned.check(samples)
        return learned.batches(samples, self._place)

    @property
    def _place(self) -> torch.device:
        """Where the weights are: a device that was set after the fit does not move them."""
        parameter = next(iter(self.module_.parameters()), None)
        return self._fitted.settings.device if parameter is None else parameter.device

    def _outputs(self, X: Any) -> list[np.ndarray]:
        """Return the outputs (n_samples, n_outputs) of every ensemble member."""
        batches = self._batches(X)
        batch_size = check_batch_size(self.batch_size)
        return [predict(module, batches, batch_size) for module in self.modules_]


def _can_wait(request: Request, fitted: Fitted) -> bool:
    """Tell whether "auto" calibrates: in regression, if a search took its time already."""
    is_chosen = fitted.choice is not None and request.past is None
    return is_chosen and fitted.settings.time_limit is None and not fitted.target.is_classification


def check_members(outputs: np.ndarray) -> None:
    """Refuse the outputs (n_members, n_samples, n_outputs) of one member: it has no spread."""
    if len(outputs) < 2:
        raise ValueError("The spread needs two ensemble members or more; got 1. Raise n_members.")
