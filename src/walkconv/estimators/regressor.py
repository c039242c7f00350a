"""The regressor, and what y means to it: values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from walkconv._checks import as_real, check_flag, check_integer, check_number
from walkconv.estimators.base import ATTRIBUTES, SETTINGS, GraphCNN, check_members
from walkconv.estimators.settings import Settings
from walkconv.tables.scaling import Scaling, learn_scaling
from walkconv.training.losses import REGRESSION, SQUARED_ERROR, Loss, check_loss, read_loss
from walkconv.training.scoring import PredictedValues

NORMAL_QUARTILES = 1.349
"""Deviations between the quartiles of a normal distribution."""


@dataclass(frozen=True, eq=False)
class Values:
    """The scale of y.

    Attributes
    ----------
    scaling : Scaling
        Of the columns of y; the networks predict scaled values.
    is_multi_output : bool
        Whether y has two dimensions.
    loss : Loss
    residuals : ndarray of shape (n_rows, n_outputs), float64, or None
        Sizes of the errors on rows that a network did not see, in the units of y, each column in
        order. None without calibration.
    """

    is_classification: ClassVar[bool] = False
    scaling: Scaling
    is_multi_output: bool
    loss: Loss = SQUARED_ERROR
    residuals: np.ndarray | None = None

    @property
    def n_outputs(self) -> int:
        """Number of values predicted for a sample."""
        return len(self.scaling.mean)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return scaled values (n_samples, n_outputs), float32."""
        n_outputs = self.n_outputs
        if y.shape[1:] != ((n_outputs,) if self.is_multi_output else ()):
            raise ValueError(f"y must have {n_outputs} output(s), as in fit; got shape {y.shape}.")
        with np.errstate(over="ignore"):
            scaled = self.scaling.scale(y.reshape(len(y), n_outputs, 1))[:, :, 0]
        if not np.isfinite(scaled).all():
            raise ValueError(
                f"y must have values like those of the first fit or part; it goes from {y.min():g} "
                f"to {y.max():g}, beyond what float32 can hold when scaled. Correct it."
            )
        return scaled

    def decode(self, outputs: np.ndarray) -> np.ndarray:
        """Return outputs (n_members, n_samples, n_outputs), averaged, in the units of y."""
        outputs = outputs.astype(np.float64)
        scaled = (np.exp(outputs) if self.loss.predicts_logarithms else outputs).mean(axis=0)
        values = self.scaling.undo(scaled[:, :, None])[:, :, 0]
        return values if self.is_multi_output else values[:, 0]

    def loss_weight(self, y: np.ndarray, weight: np.ndarray, class_weight: Any) -> np.ndarray:
        """Return the weights (n_samples,) of the rows."""
        return weight

    def row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss (m,), averaged over the outputs."""
        return self.loss.of_rows(outputs, target)

    def errors(self, outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss (m,) of scaled values, averaged over the outputs."""
        with torch.no_grad():
            return self.row_losses(torch.from_numpy(outputs), torch.from_numpy(y)).numpy()

    def score(self, outputs: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the coefficient of determination, or minus the loss where it is another."""
        if self.loss.name == "squared_error":
            return float(r2_score(y, outputs, sample_weight=weight))
        return -float(np.average(self.errors(outputs, y), weights=weight))

    def answers(self, outputs: np.ndarray) -> PredictedValues:
        """Return an estimator that knows the predictions of the outputs of a network."""
        return PredictedValues(self.decode(outputs[None]))

    def output_of(self, target: Any) -> int:
        """Return the number of an output."""
        return check_integer(target, "target", minimum=0, maximum=self.n_outputs - 1)

    def prediction(self, outputs: Tensor, which: Tensor) -> Tensor:
        """Return the value (m,) of output `which` (m,) of each row, in the units of y."""
        mean, deviation = (
            torch.from_numpy(part[:, 0]).to(outputs.device, outputs.dtype)[which]
            for part in (self.scaling.mean, self.scaling.deviation)
        )
        chosen = outputs.gather(1, which[:, None])[:, 0]
        scaled = chosen.exp() if self.loss.predicts_logarithms else chosen
        return scaled * deviation + mean

    def calibrated(self, outputs: np.ndarray, y: np.ndarray) -> "tuple[Values, float]":
        """Return the record with the residuals of unseen rows."""
        predicted = self.decode(outputs).reshape(y.shape)
        true = self.scaling.undo(y[:, :, None].astype(np.float64))[:, :, 0]
        return replace(self, residuals=np.sort(np.abs(predicted - true), axis=0)), 1.0

    def half_width(self, coverage: float) -> np.ndarray:
        """Return half the width (n_outputs,) of intervals that hold this share of the rows."""
        if self.residuals is None:
            raise ValueError(
                "Intervals need errors on rows that the networks did not see: fit(X, y, "
                "calibrate=True). A fit does so by itself if it chooses the architecture and has "
                "no time_limit."
            )
        n_rows = len(self.residuals)
        rank = math.ceil((n_rows + 1) * coverage - 1e-9)
        if rank > n_rows:
            raise ValueError(
                f"coverage must be at most {n_rows / (n_rows + 1):.4g} with {n_rows} calibration "
                f"rows; got {coverage}. Fit on more rows, or with calibrate=True."
            )
        return self.residuals[rank - 1]

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        return {"target_scaling_": self.scaling, "residuals_": self.residuals}

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the scaling and the residuals, for a file."""
        arrays = self.scaling.to_arrays()
        if self.residuals is not None:
            arrays["residuals"] = self.residuals
        return arrays, {"is_multi_output": self.is_multi_output, "loss": self.loss.to_plain()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any]) -> "Values":
        """Return the record that `to_arrays` wrote, checked."""
        scaling = Scaling.from_arrays(arrays)
        is_multi_output = check_flag(plain["is_multi_output"], "is_multi_output")
        n_outputs, n_channels = scaling.mean.shape
        if n_channels != 1 or not (is_multi_output or n_outputs == 1):
            raise ValueError("the outputs and their scaling must agree.")
        # Files of the first version have only the squared error.
        loss = read_loss(plain.get("loss", SQUARED_ERROR.to_plain()), REGRESSION)
        residuals = arrays.get("residuals")
        if residuals is not None:
            _check_residuals(residuals, n_outputs)
        return cls(scaling, is_multi_output, loss, residuals)


@dataclass(eq=False, repr=False, kw_only=True)
class GraphCNNRegressor(RegressorMixin, GraphCNN):  # noqa: D101 (the docstring is put together)
    __doc__ = f"""A regressor whose network convolves over related columns.

    Parameters
    ----------{SETTINGS}
    loss : str, pair or callable, default "squared_error"
        What training makes small: "squared_error" (predicts the mean), "absolute_error" (the
        median), "huber" (squared up to one scaled unit, absolute beyond), ``("quantile", 0.9)``
        (predicts what is above 90 % of the values; "quantile" alone means 0.5) or "poisson" (for
        counts: y must not be negative, predictions are above 0). Or a function of torch
        ``(outputs, target) -> (m,)`` that gets scaled values (m, n_outputs) and returns the loss of
        each row; `save` does not keep it: a loaded model predicts as before and has loss None.

    Attributes
    ----------
    target_scaling_ : Scaling
        Mean and deviation of y; the networks predict scaled values, `predict` scales them back.
        With "absolute_error", "huber" and "quantile" it holds the median and the deviation that
        the quartiles of a normal distribution would show; with "poisson" 0 and the mean.
    residuals_ : ndarray of shape (n_rows, n_outputs) or None
        Sizes of the errors on rows that a network did not see, in order; None without calibration.
    {ATTRIBUTES.strip()}

    Notes
    -----
    With an architecture of yours `dropout` is 0.5 and `n_members` 3 by default, unlike in the
    classifier. On held-back training rows (three splits each) dropout of 0.5 gave R2 of 0.375
    on diabetes, 0.2 gave 0.335; on METAB they were equal (0.645, 0.646). Three members added 0.009
    on METAB and 0.014 on diabetes.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import GraphCNNRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 8)).cumsum(axis=1)  # neighbours agree
    >>> y = np.abs(X[:, 3] - X[:, 4])
    >>> model = GraphCNNRegressor("C4-FC32", learning_rate=0.01, random_state=0, dropout=0.1)
    >>> bool(model.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.5)
    True
    """

    _target_checks: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}
    _fixed: ClassVar[dict[str, Any]] = {"dropout": 0.5, "n_members": 3}
    loss: Any = "squared_error"

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a part of a stream: one epoch over its rows.

        The first part decides the graph, the layout, the scaling and the units of y: some
        hundred rows or more, in random order, serve best. Later parts continue with the weights
        and the solver of the parts before, or with the weights of a `fit`. The learning rate is
        constant: `schedule`, `max_iter` and `early_stopping` are not used. A model from a file
        continues with a new solver.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; at least two rows.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import GraphCNNRegressor
        >>> X = np.random.default_rng(0).normal(size=(600, 6)).cumsum(axis=1)
        >>> model = GraphCNNRegressor("FC16", learning_rate=0.01, random_state=0)
        >>> for start in range(0, 500, 100):
        ...     _ = model.partial_fit(X[start : start + 100], X[start : start + 100, 3])
        >>> bool(model.score(X[500:], X[500:, 3]) > 0.5)
        True
        """
        return self._fit_part(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction of each row, of the shape of y, averaged over the members."""
        outputs = np.stack(self._outputs(X))  # (n_members, n_samples, n_outputs)
        target = self._fitted.target
        assert isinstance(target, Values)
        return target.decode(outputs)

    def predict_interval(self, X: Any, *, coverage: float = 0.9) -> np.ndarray:
        """Return intervals that hold the true values of this share of new rows.

        The interval of a row is its prediction plus and minus a number, the same for all rows: a
        quantile of the errors on rows that a network did not see. New rows must come from where
        the training rows came from. `fit` learns the errors by itself if it chooses the
        architecture and has no `time_limit`, otherwise with ``calibrate=True``.

        Parameters
        ----------
        X : as in `predict`
        coverage : float, default 0.9
            Between 0 and 1. On average over rows; single groups of rows may be covered less.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; (n_samples, n_outputs, 2) if y has two dimensions. Then the
            coverage is that of each output alone.

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import GraphCNNRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(400, 6))
        >>> y = X[:, 0] + rng.normal(size=400)
        >>> model = GraphCNNRegressor("FC8", max_iter=10, random_state=0)
        >>> model = model.fit(X[:200], y[:200], calibrate=True)
        >>> low, high = model.predict_interval(X[200:], coverage=0.8).T
        >>> bool(0.75 < ((low <= y[200:]) & (y[200:] <= high)).mean() < 0.9)
        True
        """
        check_is_fitted(self)
        coverage = check_number(coverage, "coverage", minimum=0, below=1, is_open=True)
        target = self._fitted.target
        assert isinstance(target, Values)
        half = target.half_width(coverage)
        middle = self.predict(X)
        half = half if target.is_multi_output else half[0]
        return np.stack([middle - half, middle + half], axis=-1)

    def predict_spread(self, X: Any) -> np.ndarray:
        """Return the standard deviation of the members' predictions, of the shape of y.

        It says where the members disagree, not how large the error is: see `predict_interval`.
        """
        outputs = np.stack(self._outputs(X))
        check_members(outputs)
        target = self._fitted.target
        assert isinstance(target, Values)
        values = np.stack([target.decode(each[None]) for each in outputs])
        return values.std(axis=0, ddof=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _learn_target(self, y: np.ndarray, settings: Settings) -> Values:
        y = as_real(y, "y")
        loss = settings.loss
        with np.errstate(over="ignore", invalid="ignore"):
            scaling = _scaling_for(y.reshape(len(y), -1), loss)
        if not (np.isfinite(scaling.mean).all() and np.isfinite(scaling.deviation).all()):
            raise ValueError(
                f"y must have a spread that a float can hold; it goes from {y.min():g} to "
                f"{y.max():g}. Divide it by a constant."
            )
        return Values(scaling, y.ndim == 2, loss)

    def _check_loss(self) -> Loss:
        return check_loss(self.loss, REGRESSION)


def _scaling_for(y: np.ndarray, loss: Loss) -> Scaling:
    """Return the scaling of y (n_samples, n_outputs) that goes with a loss."""
    scaling = learn_scaling(y, "y")
    if loss.predicts_logarithms:
        mean = y.mean(axis=0, keepdims=True).T
        if y.min() < 0 or mean.min() <= 0:
            raise ValueError(
                "loss='poisson' needs y without negative values, and a value above 0; got "
                f"{y.min():g} as the lowest value. Use another loss, or shift y."
            )
        return Scaling(np.zeros_like(mean), mean)
    if loss.is_robust:
        low, middle, high = np.quantile(y, [0.25, 0.5, 0.75], axis=0)[:, :, None]
        spread = (high - low) / NORMAL_QUARTILES
        return Scaling(middle, np.where(spread > 0, spread, scaling.deviation))
    return scaling


def _check_residuals(residuals: np.ndarray, n_outputs: int) -> None:
    """Refuse residuals that are not as `calibrated` makes them."""
    if residuals.dtype != np.float64 or residuals.ndim != 2 or residuals.shape[1] != n_outputs:
        raise ValueError("the residuals must be float64, a column for each output.")
    if not np.isfinite(residuals).all() or (residuals < 0).any() or not len(residuals):
        raise ValueError("the residuals must be finite and not negative.")
    if (residuals[1:] < residuals[:-1]).any():
        raise ValueError("the residuals must be in order.")
