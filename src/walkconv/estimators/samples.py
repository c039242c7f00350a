"""The two kinds of samples behind one protocol: rows of a table, and graphs.

`fitting.read_samples` decides once which kind X is. Training uses the protocol (the search
and the report ask for the kind again, to list what suits it):
``Samples.learn`` returns a frozen record of what precedes the weights (`Learned`). This record
reads further samples, makes batches, says what network they need, and writes itself to arrays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Number
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from walkconv._checks import describe, is_missing, refuse_masked
from walkconv.estimators.settings import Settings
from walkconv.networks.network import NetworkPlan
from walkconv.training.batches import Batches

if TYPE_CHECKING:
    from walkconv.estimators.relations import Relations  # it takes a `Lesson`

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is known besides the samples when something is learned about them.

    Attributes
    ----------
    settings : Settings
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The targets as they were given.
    is_classification : bool
    weight : ndarray of shape (n_samples,), float64
        Weight of each sample in the loss.
    seed : int
        Decides ties at random, and trains the network behind a supervised graph.
    relations : Relations, optional
        What is already known of the columns of a table.
    """

    settings: Settings
    y: np.ndarray
    is_classification: bool
    weight: np.ndarray
    seed: int
    relations: "Relations | None" = None


class Samples(Protocol):
    """Checked samples of one kind."""

    kind: ClassVar[str]

    @property
    def is_lazy(self) -> bool:
        """Whether the samples are read when they are needed; `take` then takes ascending rows."""
        ...

    def __len__(self) -> int: ...

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of each sample."""
        ...

    def take(self, rows: np.ndarray) -> Self:
        """Return some of the samples."""
        ...

    def read_like(self, X: Any) -> Self:
        """Return checked samples of the same kind and columns, to validate on."""
        ...

    def parts(self) -> list[Any]:
        """Return the arrays that the samples consist of, to tell them from other samples."""
        ...

    def learn(self, lesson: Lesson, like: "Learned | None") -> "Learned":
        """Learn what precedes the weights, encoding the samples as `like` does if it is given."""
        ...


class Learned(Protocol):
    """What is learned about samples before any weight, frozen."""

    kind: ClassVar[str]

    def read(self, X: Any) -> Samples:
        """Return checked samples that go with those of the fit."""
        ...

    def check(self, samples: Any, name: str = "X") -> None:
        """Refuse samples that do not go with those of the fit."""
        ...

    def plan(self, settings: Settings, n_outputs: int) -> NetworkPlan:
        """Return what the networks are made from."""
        ...

    def batches(self, samples: Any, device: torch.device) -> Batches:
        """Return samples as batches for the networks."""
        ...

    def training_batches(self, samples: Any, settings: Settings) -> Batches:
        """Return training samples as batches, augmented if the settings say so."""
        ...

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        ...

    def input_names(self) -> list[str]:
        """Return the names of what users give for each sample: columns or node features."""
        ...

    def by_input(self, shares: np.ndarray) -> np.ndarray:
        """Return the sum (n_inputs,) of shares (n_nodes, n_channels) over each input."""
        ...

    def neighborhoods(self) -> sp.csr_array:
        """Return which inputs (n_inputs, n_inputs) are neighbours of each input, 1 or 0."""
        ...

    def list_shares(self, samples: Any, shares: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the shares (n_nodes, n_channels) of each sample as the columns of a table."""
        ...

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the record as arrays and plain values, for a file."""
        ...

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any], settings: Settings
    ) -> Self:
        """Return the record that `to_arrays` wrote, or raise an error if it is not whole."""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples with their targets and weights.

    Attributes
    ----------
    samples : Samples
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weight : ndarray of shape (n_samples,), float64
    given : ndarray of the shape of y, or None
        The targets of validation rows as they were given, if y is encoded.
    """

    samples: Samples
    y: np.ndarray
    weight: np.ndarray
    given: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.samples.take(rows), self.y[rows], self.weight[rows])


def read_rows(
    X: Any, y: Any, sample_weight: Any, read: Callable[[Any], Samples], **target: bool
) -> Rows:
    """Return samples with their targets and weights; rows of weight 0 are dropped.

    Parameters
    ----------
    X, y, sample_weight
        As `fit` takes them.
    read : callable
        `read_samples`; or `Learned.read` or `Samples.read_like`, if they must match other samples.
    **target : bool
        Of scikit-learn's checks of y: `multi_output`, `y_numeric`.
    """
    refuse_masked(y, "y")
    refuse_masked(sample_weight, "sample_weight")
    if sp.issparse(y):
        raise TypeError(f"y must be a dense array; got {describe(y)}. Call y.toarray() first.")
    _refuse_missing(y)
    samples = read(X)
    y = validate_data(NeedsTarget(), "no_validation", y, **target)
    weight = np.ones(len(samples))
    check_consistent_length(weight, y)
    if sample_weight is None:
        return Rows(samples, y, weight)
    weight = _check_weight(sample_weight, len(samples))
    is_kept = weight > 0
    if is_kept.sum() < 2:
        raise ValueError(
            f"At least two rows must have a sample_weight above zero; got {is_kept.sum()}."
        )
    rows = Rows(samples, y, weight)
    return rows if is_kept.all() else rows.take(np.flatnonzero(is_kept))


def _refuse_missing(y: Any) -> None:
    """Refuse None, NaN and pandas.NA among objects: they cannot be compared with labels."""
    if y is None or not hasattr(y, "__len__"):
        return
    values = y if isinstance(y, np.ndarray) else np.asarray(y)
    if values.dtype != object:
        return
    missing = [is_missing(value) for value in values.flat]
    if any(missing):
        raise ValueError(
            f"y must have no missing values; {sum(missing)} of {len(missing)} are missing, the "
            f"first at {missing.index(True)}. Drop these rows."
        )


class NeedsTarget(BaseEstimator):
    """Stands for the estimator in scikit-learn's checks, so that these set nothing on it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


NeedsTarget.__name__ = "GraphCNN"  # scikit-learn's messages show the name of the class


def _check_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one for each row; got {weight.shape}."
        )
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative; got {weight.min():g}.")
    return weight
