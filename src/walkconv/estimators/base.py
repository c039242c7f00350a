"""What the classifier and the regressor share: from rows to networks, and back to outputs."""

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from walkconv._samples import is_list_of_samples
from walkconv.estimators.filters import Filters
from walkconv.estimators.fitting import all_or_nothing, fit_model
from walkconv.estimators.graph_inputs import check_fitted_kind, read_samples
from walkconv.estimators.inputs import Rows, read_table
from walkconv.estimators.kinds import make_graph_network, make_table
from walkconv.estimators.model_file import fitted_settings, save_model
from walkconv.estimators.neighbors_table import tabulate_neighbors
from walkconv.estimators.settings import check_batch_size, check_device, check_settings
from walkconv.models.network import Network, count_parameters
from walkconv.models.table import predict


class GraphCNN(BaseEstimator, metaclass=ABCMeta):
    """A network on the columns of a table; what y means is left to the subclasses."""

    _target_checks: ClassVar[dict[str, bool]]

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation_data: Any = None,
        after_epoch: Callable[["GraphCNN"], dict[str, Any] | None] | None = None,
    ) -> "GraphCNN":
        """Learn the graph of the columns and the weights of the network.

        Inside `join_processes` all processes that ``torchrun`` started train one model together,
        and every one of them must call `fit` with the same arguments. A fit that fails leaves the
        model as it was before.

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_nodes)
            Or an array of shape (n_samples, n_nodes, n_channels). NaN is a missing value. Or a list
            of graphs, one for each sample: `GraphSample` records, networkx graphs, PyG ``Data`` or
            pairs ``(edge_index, x)``; or a ``Batch`` of PyG.
        y : array of shape (n_samples,), for regression also (n_samples, n_outputs)
            What to predict.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row in the loss. A row of weight 0 counts as if it were not there; the
            graph and the scaling of the columns do not depend on the others.
        validation_data : pair (X, y), optional
            Rows to score after every epoch, instead of a share of the training rows.
        after_epoch : callable, optional
            Called with the estimator after every epoch, which predicts with the weights of that
            epoch then. The dict of plain values it may return joins that epoch's record in
            `history_`; it does not decide which weights are kept.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            return fit_model(self, X, y, sample_weight, validation_data, after_epoch=after_epoch)

    def transfer(
        self,
        X: Any,
        y: Any,
        *,
        graph: Any = None,
        filters: Literal["frozen", "tuned"] = "frozen",
        sample_weight: Any = None,
        validation_data: Any = None,
    ) -> "GraphCNN":
        """Return a new model with the filters of this one, on other columns or another graph.

        Filters belong to ranks, not to columns: those learned where rows are many serve a table
        with other columns where they are few. The scaling, the graph and the levels of the new
        columns are learned anew, and so are all layers after the convolutions.

        Parameters
        ----------
        X, y, sample_weight, validation_data
            As in `fit`; the columns and the classes may be others.
        graph : optional
            As `graph` of the model; by default as this model's own.
        filters : "frozen" or "tuned", default "frozen"
            Whether the filters stay as they are or are trained on.

        Returns
        -------
        A fitted model of the same kind; this one is left as it was.

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
        model = clone(self).set_params(warm_start=False, checkpoint=None)
        model.set_params(graph=self.graph if graph is None else graph)
        source = Filters(self.modules_, self.encoding_, filters)
        return fit_model(model, X, y, sample_weight, validation_data, filters=source)

    def neighbors_table(self) -> pl.DataFrame:
        """Return the neighbours of every column as a table to read.

        Returns
        -------
        polars DataFrame
            A row for each slot that is filled: ``node``, ``rank`` (the slot, from 1), ``neighbor``,
            ``visits`` and ``sign``, as in `Neighbors`. Columns have their names, or their numbers
            where X has none.

        Examples
        --------
        >>> import numpy as np
        >>> import polars as pl
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 4)).cumsum(axis=1)
        >>> X = pl.DataFrame(X, schema=["north", "east", "south", "west"])
        >>> model = GraphCNNRegressor("C4", n_neighbors=2, max_iter=1).fit(X, X["east"])
        >>> table = model.neighbors_table()
        >>> table.select("node", "rank", "neighbor").row(1)
        ('north', 2, 'east')
        >>> table.columns
        ['node', 'rank', 'neighbor', 'visits', 'sign']
        """
        check_is_fitted(self)
        return tabulate_neighbors(self)

    def make_network(self, n_nodes: int, n_channels: int, n_outputs: int) -> nn.Module:
        """Return a new network, untrained; a subclass may return any other module.

        `fit` calls it for every member, and trains what it returns. The scaling, the graph and the
        levels have been learned by then: ``graph_``, ``levels_`` and ``neighbors_`` are there
        whenever the architecture has C or P layers.

        Parameters
        ----------
        n_nodes, n_channels : int
            Columns of X, and values in each.
        n_outputs : int
            Classes, or columns of y.

        Returns
        -------
        Module
            From scaled rows (m, n_nodes, n_channels) to (m, n_outputs). Where values are missing
            it is called with a second argument, a mask of the shape of the rows.
        """
        settings = check_settings(self)
        return Network(
            settings.layers,
            self.levels_,
            n_nodes=n_nodes,
            n_channels=n_channels,
            n_outputs=n_outputs,
            **settings.network,
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model to one safetensors file; `walkconv.load` reads it.

        The file holds the weights, the neighbours, the names and scaling of the columns, the
        classes and the settings of the fit, whatever was set since. It runs no code when it is
        read, so an estimator of your own cannot be saved. The learned `graph_` is left out, since
        the neighbours are all that a network uses of it.

        Parameters
        ----------
        path : path
            An existing file is replaced, whole or not at all.
        """
        check_is_fitted(self)
        save_model(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        return tags

    @abstractmethod
    def _learn_target(self, y: np.ndarray) -> None:
        """Learn what the values of y are."""

    @abstractmethod
    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        """Return y as the loss takes it, one row for each sample."""

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Outputs of the network."""

    @abstractmethod
    def _row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss (m,) of outputs (m, n_outputs)."""

    @abstractmethod
    def _score_outputs(self, outputs: np.ndarray, rows: Rows) -> float:
        """Return how good the outputs for some rows are; higher is better."""

    @abstractmethod
    def _target_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what was learned about y, as plain values and arrays."""

    @abstractmethod
    def _restore_target(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take back what `_target_state` returned, checked."""

    def _loss_weight(self, rows: Rows) -> np.ndarray:
        """Return the weight (n_samples,) of each training row in the loss."""
        return rows.weight

    def _make_network(self) -> nn.Module:
        if self.encoding_ is not None:
            return make_graph_network(self)
        n_nodes, n_channels = self.scaling_.mean.shape
        return self.make_network(n_nodes, n_channels, self._n_outputs)

    def _keep(self, modules: list[nn.Module], history: list[dict[str, Any]]) -> None:
        self.modules_ = modules
        self.module_ = modules[0]
        self.history_ = history
        self.n_iter_ = max(sum(r["member"] == m for r in history) for m in range(len(modules)))
        self.n_parameters_ = count_parameters(self.module_)
        self._fitted_with = fitted_settings(self)

    def _outputs(self, X: Any) -> list[np.ndarray]:
        """Return the outputs (n_samples, n_outputs) of every member."""
        check_is_fitted(self)
        samples = read_samples(X) if is_list_of_samples(X) else read_table(self, X)
        check_fitted_kind(self, samples)
        table = make_table(self, samples, check_device(self.device), self._fitted_with["clip"])
        batch_size = check_batch_size(self.batch_size)
        return [predict(module, table, batch_size) for module in self.modules_]
