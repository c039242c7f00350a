"""Graphs as they come from the user, one for each sample."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_sample_weight, validate_data

from walkconv._samples import GraphSample, as_samples
from walkconv.estimators.inputs import Rows, drop_weightless
from walkconv.models.encoding import check_alike, what_is_known

KINDS = {False: "a table", True: "a list of graphs"}


def holds_graphs(X: Any) -> bool:
    """Tell whether checked samples are graphs: a checked table never holds objects."""
    return isinstance(X, np.ndarray) and X.dtype == object


def read_graphs(
    model: Any, graphs: Any, y: Any, sample_weight: Any, *, is_first: bool, **target: bool
) -> Rows:
    """Return checked graphs with their targets and weights; those of weight 0 are gone.

    `is_first` says whether they are to be learned from, whatever was fitted before.
    """
    samples = _as_objects(as_samples(graphs))
    if is_first:
        for name in ("n_features_in_", "feature_names_in_"):  # of an earlier fit on a table
            if hasattr(model, name):
                delattr(model, name)
        if len(samples) < 2:
            raise ValueError(f"There must be at least two graphs; got {len(samples)}.")
    y = validate_data(model, "no_validation", y, **target)
    check_consistent_length(samples, y)
    ones = np.ones(len(samples))
    if sample_weight is None:
        return Rows(samples, y, ones)
    weight = _check_sample_weight(
        sample_weight, ones[:, None], dtype=np.float64, ensure_non_negative=True
    )
    return drop_weightless(Rows(samples, y, weight))


def read_samples(graphs: Any) -> np.ndarray:
    """Return checked graphs (n_samples,) to predict for."""
    return _as_objects(as_samples(graphs))


def check_fitted_kind(model: Any, X: Any) -> None:
    """Refuse samples of another kind, or of which other things are known, than in fit."""
    is_graphs, wants_graphs = holds_graphs(X), model.encoding_ is not None
    if is_graphs != wants_graphs:
        raise ValueError(f"X must be {KINDS[wants_graphs]}, as in fit; got {KINDS[is_graphs]}.")
    if wants_graphs:
        check_alike(X.tolist(), model.encoding_.known)
        return
    n_channels, came = model.scaling_.mean.shape[1], _n_channels(X)
    if came != n_channels:
        raise ValueError(f"X must have {n_channels} channel(s), as in fit; got {came}.")


def check_same_kind(X: Any, training: Any) -> None:
    """Refuse validation samples that are of another kind than the training samples."""
    is_graphs, wants_graphs = holds_graphs(X), holds_graphs(training)
    if is_graphs != wants_graphs:
        raise ValueError(
            f"validation_data must hold {KINDS[wants_graphs]}, as the training samples do; "
            f"got {KINDS[is_graphs]}."
        )
    if wants_graphs:
        check_alike(X.tolist(), what_is_known(training[0]))
    elif _n_channels(X) != _n_channels(training):
        raise ValueError(
            f"validation_data must have {_n_channels(training)} channel(s), as the training rows "
            f"do; got {_n_channels(X)}."
        )


def _n_channels(table: Any) -> int:
    return table.shape[2] if table.ndim == 3 else 1


def _as_objects(samples: list[GraphSample]) -> np.ndarray:
    array = np.empty(len(samples), dtype=object)
    array[:] = samples
    return array
