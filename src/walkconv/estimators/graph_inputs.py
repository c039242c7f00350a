"""Graphs as they come from the user, one for each sample."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, validate_data

from walkconv._samples import GraphSample, as_samples
from walkconv.estimators.inputs import Rows, drop_weightless
from walkconv.models.encoding import check_alike


def holds_graphs(X: Any) -> bool:
    """Tell whether checked samples are graphs: a checked table never holds objects."""
    return isinstance(X, np.ndarray) and X.dtype == object


def read_graphs(
    model: Any, graphs: Any, y: Any, sample_weight: Any, *, is_first: bool, **target: bool
) -> Rows:
    """Return checked graphs with their targets and weights; those of weight 0 are gone.

    `is_first` says whether the encoding of nodes is learned from them or must be that of an
    earlier fit.
    """
    samples = _as_objects(as_samples(graphs))
    if is_first:
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit on a table
            if hasattr(model, name):
                delattr(model, name)
        if len(samples) < 2:
            raise ValueError(f"There must be at least two graphs; got {len(samples)}.")
    else:
        check_graphs(model, samples)
    y = validate_data(model, "no_validation", y, **target)
    check_consistent_length(samples, y)
    ones = np.ones(len(samples))
    if sample_weight is None:
        return Rows(samples, y, ones)
    weight = _check_sample_weight(
        sample_weight, ones[:, None], dtype=np.float64, ensure_non_negative=True
    )
    return drop_weightless(Rows(samples, y, weight))


def check_graphs(model: Any, samples: np.ndarray) -> np.ndarray:
    """Return graphs of whose nodes the same is known as in fit."""
    if model.encoding_ is None:
        raise ValueError(
            "X must be a table, as in fit; got graphs. Fit on graphs to predict for graphs."
        )
    check_alike(samples.tolist(), model.encoding_.known)
    return samples


def read_samples(model: Any, graphs: Any) -> np.ndarray:
    """Return checked graphs (n_samples,) to predict for."""
    return check_graphs(model, _as_objects(as_samples(graphs)))


def _as_objects(samples: list[GraphSample]) -> np.ndarray:
    array = np.empty(len(samples), dtype=object)
    array[:] = samples
    return array
