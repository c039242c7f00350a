"""What the classifier and the regressor share: from rows to networks, and back to outputs."""

import os
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from walkconv._samples import is_list_of_samples
from walkconv.estimators.filters import Filters
from walkconv.estimators.graph_inputs import read_graphs, read_samples
from walkconv.estimators.identity import identify
from walkconv.estimators.inputs import Rows, read_rows, read_table
from walkconv.estimators.kinds import (
    learn_samples,
    make_graph_network,
    make_table,
    make_training_table,
)
from walkconv.estimators.model_file import save_model
from walkconv.estimators.objective import batch_loss, scorer
from walkconv.estimators.settings import Settings, check_batch_size, check_device, check_settings
from walkconv.models.checkpoint import Checkpoint
from walkconv.models.members import train_members
from walkconv.models.network import Network, count_parameters
from walkconv.models.table import predict
from walkconv.models.training import Training, seeded


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

        Parameters
        ----------
        X : array, DataFrame or sparse matrix of shape (n_samples, n_nodes)
            Or an array of shape (n_samples, n_nodes, n_channels). NaN is a missing value. Or a list
            of graphs, one for each sample: `GraphSample` records, networkx graphs, PyG ``Data`` or
            pairs ``(edge_index, x)``.
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
        return self._fit(X, y, sample_weight, validation_data, after_epoch)

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
        source = Filters(self.modules_, filters)
        return model._fit(X, y, sample_weight, validation_data, None, source)

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation_data: Any,
        after_epoch: Callable[["GraphCNN"], dict[str, Any] | None] | None,
        filters: Filters | None = None,
    ) -> "GraphCNN":
        settings = check_settings(self)
        is_warm = self.warm_start and hasattr(self, "modules_")
        rows = self._read_rows(X, y, sample_weight, is_first=not is_warm)
        if not is_warm:
            self._learn_target(rows.y)
        rows = replace(rows, y=self._encode_target(rows.y))
        validation = self._read_validation(validation_data)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        checkpoint = self._open_checkpoint(rows, validation, seed)
        seed = seed if checkpoint is None else checkpoint.seed
        if validation is None and self.early_stopping:
            rows, validation = self._split(rows, seed)
        if not is_warm:
            learn_samples(self, rows, settings, seed)
        networks = self._make_networks(settings, seed, is_warm=is_warm)
        if filters is not None:
            filters.put_into(networks)
        trainings = self._make_trainings(networks, rows, validation, settings, seed)
        if checkpoint is not None:
            checkpoint.restore(trainings)
        past = self.history_ if is_warm else []

        def finish_epoch(training: Training) -> None:
            if after_epoch is not None:
                begun = [each for each in trainings if each.epoch]
                records = [record for each in begun for record in each.history]
                self._keep([each.network for each in begun], [*past, *records])
                training.history[-1] |= after_epoch(self) or {}
            if checkpoint is not None:
                checkpoint.write(trainings)

        modules, history = train_members(trainings, verbose=self.verbose, after_epoch=finish_epoch)
        self._keep(modules, [*past, *history])
        return self

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
        classes and the settings. It runs no code when it is read. The learned `graph_` is left
        out, since the neighbours are all that a network uses of it.

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

    def _read_validation(self, pair: Any) -> Rows | None:
        if pair is None:
            return None
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError("validation_data must be a pair (X, y).")
        X, y = pair
        rows = self._read_rows(X, y, None, is_first=False)
        return replace(rows, y=self._encode_target(rows.y))

    def _read_rows(self, X: Any, y: Any, sample_weight: Any, *, is_first: bool) -> Rows:
        """Return the rows of a table, or graphs: the input decides."""
        read = read_graphs if is_list_of_samples(X) else read_rows
        return read(self, X, y, sample_weight, is_first=is_first, **self._target_checks)

    def _open_checkpoint(self, rows: Rows, validation: Rows | None, seed: int) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if self.warm_start:
            raise ValueError("checkpoint and warm_start do not go together. Choose one.")
        return Checkpoint(self.checkpoint, identify(self, rows, validation), seed)

    def _split(self, rows: Rows, seed: int) -> tuple[Rows, Rows]:
        """Return the rows to train on and the rows to score after every epoch."""
        train, apart = train_test_split(
            np.arange(len(rows.y)),
            test_size=self.validation_fraction,
            random_state=seed,
            stratify=rows.y if rows.y.dtype.kind == "i" else None,
        )
        return rows.take(train), rows.take(apart)

    def _make_networks(self, settings: Settings, seed: int, *, is_warm: bool) -> list[nn.Module]:
        """Return a network for every member, new or with the weights learned before."""
        networks = []
        for member in range(settings.n_members):
            with seeded(seed, member, 0, device=settings.device):
                networks.append(self._make_network().to(settings.device))
        if is_warm:
            learned = [module.state_dict() for module in self.modules_]
            shapes = [{k: v.shape for k, v in state.items()} for state in learned]
            wanted = [{k: v.shape for k, v in n.state_dict().items()} for n in networks]
            if shapes != wanted:
                raise ValueError(
                    "warm_start needs the architecture, normalization and n_members of the "
                    "first fit; they have changed. Set warm_start=False to start anew."
                )
            for network, state in zip(networks, learned, strict=True):
                network.load_state_dict(state)
        return networks

    def _make_network(self) -> nn.Module:
        if self.encoding_ is not None:
            return make_graph_network(self)
        n_nodes, n_channels = self.scaling_.mean.shape
        return self.make_network(n_nodes, n_channels, self._n_outputs)

    def _make_trainings(
        self,
        networks: list[nn.Module],
        rows: Rows,
        validation: Rows | None,
        settings: Settings,
        seed: int,
    ) -> list[Training]:
        table = make_training_table(self, rows.X, settings.device)
        score = None if validation is None else scorer(self, validation, settings)
        loss = batch_loss(self, rows, settings.device)
        return [
            Training(network, table, loss, settings.training, (seed, member), score)
            for member, network in enumerate(networks)
        ]

    def _keep(self, modules: list[nn.Module], history: list[dict[str, Any]]) -> None:
        self.modules_ = modules
        self.module_ = modules[0]
        self.history_ = history
        self.n_iter_ = max(sum(r["member"] == m for r in history) for m in range(len(modules)))
        self.n_parameters_ = count_parameters(self.module_)

    def _outputs(self, X: Any) -> list[np.ndarray]:
        """Return the outputs (n_samples, n_outputs) of every member."""
        check_is_fitted(self)
        read = read_samples if is_list_of_samples(X) else read_table
        table = make_table(self, read(self, X), check_device(self.device))
        batch_size = check_batch_size(self.batch_size)
        return [predict(module, table, batch_size) for module in self.modules_]
