"""What an export needs to know of a fitted model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn


@dataclass(frozen=True, eq=False)
class Probabilities:
    """The answer of a classifier: the probability of each class.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        Numbers or strings; an output of the networks for each.
    """

    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Quantities:
    """The answer of a regressor: values in the units of y.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_outputs,), float64
        The networks predict scaled values.
    is_multi_output : bool
        Whether an answer has shape (n_samples, n_outputs), or (n_samples,).
    are_logarithms : bool
        Whether the networks predict logarithms of scaled values.
    """

    mean: np.ndarray
    deviation: np.ndarray
    is_multi_output: bool
    are_logarithms: bool = False


@dataclass(frozen=True, eq=False)
class TableModel:
    """A fitted model of tables.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_columns, n_channels), float64
        How the columns are scaled.
    soft_clip : float or None
        Soft clipping of scaled values z: ``z / sqrt(1 + (z / soft_clip)^2)``.
    is_count : ndarray of shape (n_columns, n_channels), bool, or None
        Columns replaced by the logarithm of 1 + value before the scaling.
    weight : ndarray of shape (n_columns, n_channels), float32, or None
        Factors of the columns after the clipping.
    names : list of str or None
        Names of the columns.
    networks : sequence of Module
        The ensemble members, whose outputs are averaged.
    answer : Probabilities or Quantities
    """

    mean: np.ndarray
    deviation: np.ndarray
    soft_clip: float | None
    is_count: np.ndarray | None
    weight: np.ndarray | None
    names: list[str] | None
    networks: Sequence[nn.Module]
    answer: Probabilities | Quantities
