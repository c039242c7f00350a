"""What a fitted model says besides predictions: neighbours, reasons, exports and reports."""

import os
from abc import ABCMeta, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
import torch
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import nn

from walkconv._files import check_writable
from walkconv.estimators.records import Fitted
from walkconv.networks.architecture import format_architecture
from walkconv.walks.listing import list_neighbors


class Answers(BaseEstimator, metaclass=ABCMeta):
    """The public methods of a fitted model on tables or graphs that need no more than the fit."""

    _target_checks: ClassVar[dict[str, bool]] = {}
    _fitted: Fitted

    @property
    @abstractmethod
    def _place(self) -> torch.device:
        """Where the weights are."""

    @abstractmethod
    def predict(self, X: Any) -> np.ndarray:
        """Return what is predicted for each sample."""

    @abstractmethod
    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted model to one file."""

    def neighbors_table(self) -> pl.DataFrame:
        """Return the neighbours of every column as a table to read.

        Returns
        -------
        polars DataFrame
            A row for each slot that is filled: ``node``, ``rank`` (the slot, from 1), ``neighbor``,
            ``visits`` and ``sign``, as in `Neighbors`. Nodes have the names `node_names_`, or the
            numbers of the columns if X has no names.

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
        fitted = self._fitted.learned.attributes()
        if fitted["encoding_"] is not None:
            raise ValueError(
                "If samples are graphs each graph has its own neighbours: use "
                "select_neighbors(sample.graph, n_neighbors=...)."
            )
        if fitted["neighbors_"] is None:
            raise ValueError(
                f"The model has no C layer on the columns; its architecture is "
                f"{format_architecture(self._fitted.settings.layers)!r}."
            )
        names = fitted["node_names_"]
        names = np.arange(fitted["n_features_in_"]) if names is None else names
        return pl.DataFrame(list_neighbors(fitted["neighbors_"], names))

    def explain(
        self,
        X: Any,
        *,
        target: Any = None,
        baseline: Any = None,
        n_steps: int = 32,
        tolerance: float = 0.01,
    ) -> pl.DataFrame:
        """Return what every column contributes to the prediction of every row.

        A row of the table sums to the prediction minus the expected prediction (integrated
        gradients, averaged over the ensemble members): in the units of y, or for a classifier to a
        difference of probabilities.

        Parameters
        ----------
        X : as in `predict`
            The rows to explain.
        target : optional
            For a classifier the class whose probability is explained; by default the class that is
            predicted for the row. For several outputs the number of one, by default 0.
        baseline : table with the columns of X, optional
            The expected prediction is the mean prediction for these rows, a few training rows for
            example. Time grows with their number. A missing value in them counts as the mean of its
            column. By default one row with the means of the training rows (zeros if the model does
            not standardize). Graphs are always compared with themselves without node features: all
            scaled numbers and all node types are 0.
        n_steps : int, default 32
            Points on the way from the baseline to a row.
        tolerance : float, default 0.01
            A row whose sum is wrong by more than this share of the largest difference of all rows
            gets more points, up to 2,048.

        Returns
        -------
        polars DataFrame
            A row for each row of X and a column for each column of X, by name (by number if X has
            no names). If samples are graphs: a row for each node, with ``sample``, ``node`` and
            ``attribution``.

        Notes
        -----
        The channels of a column are summed. A missing value of a row is not on the way: the change
        that hiding these values makes at the baseline is shared equally by the missing columns of
        the row.

        Examples
        --------
        >>> import numpy as np
        >>> import polars as pl
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> X = pl.DataFrame(X, schema=["north", "east", "south"])
        >>> model = GraphCNNRegressor("", graph=None, random_state=0).fit(X, 2 * X["east"] - 1)
        >>> shares = model.explain(X[:5])
        >>> shares.columns
        ['north', 'east', 'south']
        >>> mean = pl.DataFrame(model.scaling_.mean.T, schema=X.columns)
        >>> expected = model.predict(mean)
        >>> np.allclose(shares.sum_horizontal(), model.predict(X[:5]) - expected, atol=0.01)
        True
        """
        from walkconv.estimators.explaining import explain

        check_is_fitted(self)
        return explain(
            self, X, target=target, baseline=baseline, n_steps=n_steps, tolerance=tolerance
        )

    def importance(
        self,
        X: Any,
        y: Any = None,
        *,
        by: Literal["column", "neighborhood"] = "column",
        max_samples: int = 256,
        random_state: Any = 0,
    ) -> pl.DataFrame:
        """Return how much every column matters for the predictions, the most important first.

        Importance is the mean absolute attribution of `explain`. Its cost does not grow with the
        number of columns.

        Parameters
        ----------
        X : as in `predict`
            Rows to average over; best rows that the model was not trained on.
        y : array of shape (n_samples,) or (n_samples, n_outputs), optional
            Their targets: they add the field ``gain``.
        by : "column" or "neighborhood", default "column"
            Whether a row of the result stands for a column, or for a column together with its
            neighbours: then their attributions are summed before the absolute value is taken.
            Columns that share their information appear there with all of it.
        max_samples : int, default 256
            Largest number of rows; more rows are sampled.
        random_state : int, RandomState or None, default 0
            Seed of this sample.

        Returns
        -------
        polars DataFrame
            ``column``, its name (its number as text if X has no names; a node feature if samples
            are graphs); ``importance``, in the units of y, a probability for a classifier, or in
            standard deviations if there are several outputs, each row then for one of them;
            ``spread``, the standard deviation over the ensemble members, null if there is one; and
            with y ``gain``, the part of the loss that the column removes: over all columns the
            gains sum to the loss at the mean row minus the loss on X (the squared error over the
            variance of y, or the cross-entropy, averaged over the members). A negative gain means
            that the model uses the column to its harm.

        Notes
        -----
        On synthetic tables with known relevant columns this ranking was as good as permutation
        importance, which predicts again for every column.

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(300, 5))
        >>> model = GraphCNNRegressor("C4-FC16", random_state=0).fit(X, X[:, 2])
        >>> model.importance(X)["column"][0]
        '2'
        """
        from walkconv.estimators.explaining import rank_columns

        check_is_fitted(self)
        return rank_columns(self, X, y, by=by, max_samples=max_samples, random_state=random_state)

    def to_torch(self) -> nn.Module:
        """Return the fitted model as one plain module of torch, with all of `predict` inside.

        Scaling, soft clipping, missing values and the average over the ensemble members are part
        of it, and it uses only standard operators: `torch.export.export`,
        ``torch.compile(fullgraph=True)``, `copy.deepcopy` and ``state_dict`` work, and an exported
        program needs no walkconv. For one row at a time it is faster than `predict`. Its weights
        need no gradient, but gradients reach its input.

        Returns
        -------
        Module
            From a Tensor (n_samples, n_columns), or (n_samples, n_columns, n_channels), to a Tensor
            (n_samples, n_classes) of probabilities, or of predictions in the units and the shape of
            y. The columns are in the order of the fit, float32, and NaN is a missing value. It is
            on the CPU; ``module.to(device)`` moves it.

        Examples
        --------
        >>> import numpy as np
        >>> import torch
        >>> from walkconv import GraphCNNClassifier
        >>> X = np.random.default_rng(0).normal(size=(50, 6))
        >>> model = GraphCNNClassifier("C4", max_iter=1).fit(X, X[:, 5] > 0)
        >>> module = model.to_torch()
        >>> module(torch.tensor(X[:3], dtype=torch.float32)).shape
        torch.Size([3, 2])
        """
        from walkconv.estimators.exporting import table_model  # it imports the subclasses
        from walkconv.exports import plain_model

        check_is_fitted(self)
        return plain_model(table_model(self._fitted))

    def to_onnx(self, path: str | os.PathLike) -> None:
        """Write the fitted model as an ONNX file, for any language and without walkconv or torch.

        The graph has the input ``X``, float32 of shape (n_samples, n_columns) or (n_samples,
        n_columns, n_channels), with the columns in the order of the fit; NaN is a missing value.
        A classifier has the outputs ``label`` (n_samples,), the class as a number or text, and
        ``probabilities`` (n_samples, n_classes); a regressor has ``values`` in the shape of y. The
        names of the columns and the classes are in the metadata as JSON, ``columns`` and
        ``classes``. Before the file is written, onnxruntime must give the answers of this model up
        to 1e-5. Needs ``pip install walkconv[onnx]``.

        Parameters
        ----------
        path : path
            An existing file is replaced, whole or not at all.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import onnxruntime
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(50, 6))
        >>> model = GraphCNNRegressor("C4", n_members=1, max_iter=1).fit(X, X[:, 5])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_onnx(f"{folder}/model.onnx")
        ...     session = onnxruntime.InferenceSession(f"{folder}/model.onnx")
        >>> [values] = session.run(["values"], {"X": X.astype(np.float32)})
        >>> values.shape
        (50,)
        """
        from walkconv.estimators.exporting import answers_of, table_model
        from walkconv.exports import write_onnx

        check_is_fitted(self)
        write_onnx(table_model(self._fitted), path, answers_of(self))

    def report(
        self, path: str | os.PathLike, X: Any = None, y: Any = None, *, comparison: Any = None
    ) -> None:
        """Write a report on the model to one HTML file, which opens without a network.

        It says what was fitted and how well it predicts, with an interactive map of the columns and
        their neighbours, the filters, the training curves, the calibration or the errors, and the
        rows that are predicted worst.

        Parameters
        ----------
        path : path
            An existing file is replaced, whole or not at all. A name that ends in ``.md`` gets a
            model card in Markdown instead (`walkconv.render_card`).
        X, y : optional
            Test samples and their targets, as in `score`. Without them the report has no scores.
        comparison : optional
            What `walkconv.compare` returned, or a dict with ``verdict``, a sentence, and ``rows``,
            a list of dicts of plain values.

        Examples
        --------
        >>> import tempfile, numpy as np, pathlib
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(60, 6)).cumsum(axis=1)
        >>> model = GraphCNNRegressor("C2", max_iter=2, n_members=1).fit(X[:40], X[:40, 3])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = pathlib.Path(folder, "report.html")
        ...     model.report(page, X[40:], X[40:, 3])
        ...     "Largest errors" in page.read_text(encoding="utf-8")
        True
        """
        from walkconv.reports.render import write_report  # it needs jinja2

        check_writable(path)
        write_report(self.summarize(X, y, comparison=comparison), path)

    def summarize(self, X: Any = None, y: Any = None, *, comparison: Any = None) -> dict[str, Any]:
        """Return what `report` shows, as one dict of plain values that JSON can hold.

        `walkconv.render_report` makes the page from it, and `walkconv.render_card` the model card,
        without the model or the samples.

        Parameters
        ----------
        X, y, comparison : optional
            As in `report`.

        Returns
        -------
        dict
        """
        from walkconv.estimators.reporting import summarize_model

        check_is_fitted(self)
        return summarize_model(self, self._fitted, X, y, comparison, self._target_checks)

    def _repr_html_(self) -> str | None:
        """Return scikit-learn's box of the settings and, once fitted, a small map of the columns.

        A notebook shows it. The map has no script, and a column's name appears under the pointer.
        """
        if get_config()["display"] != "diagram":
            return None
        from walkconv.reports.notebook import notebook_map

        box = super()._repr_html_inner()
        return f"{box}{notebook_map(self)}" if hasattr(self, "_fitted") else box

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        page = self._repr_html_()
        return {"text/plain": repr(self)} | ({} if page is None else {"text/html": page})
