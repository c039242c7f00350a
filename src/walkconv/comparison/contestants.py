"""Who takes part: twins of the model that differ in the graph alone, and simple models."""

import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from walkconv.comparison.verdict import ALONE, RANDOM, RANKS
from walkconv.estimators.base import GraphCNN
from walkconv.estimators.trials import random_neighbors

RIDGE, LOGISTIC, LIGHTGBM = "ridge regression", "logistic regression", "LightGBM"
PENALTIES = np.logspace(-2, 5, 15)
"""Of ridge regression, which chooses one by leave-one-out."""
INVERSE_PENALTY = 0.1
"""Of logistic regression on standardized columns."""


def uses_graph(model: GraphCNN) -> bool:
    """Tell whether a layer of a fitted model uses a graph."""
    return bool(model._fitted.settings.nodewise)


def explicit(model: GraphCNN) -> GraphCNN:
    """Return an unfitted model with the settings that a fitted one has, found or given."""
    choice = model._fitted.choice
    return clone(model).set_params(**({} if choice is None else choice.settings))


def twins_of(model: GraphCNN, seed: int) -> dict[str, GraphCNN]:
    """Return unfitted models that differ from a fitted one in the graph alone, by name.

    Without neighbours a filter sees its own column only. With random ones it sees as many columns
    as in the model. Where layers pool, both twins pool random groups. A model whose slots are
    directions has a third twin: the same graph in the order of ranks.
    """
    if not uses_graph(model):
        return {}
    plain = explicit(model)
    if model.encoding_ is not None:  # graphs as samples bring their own graph
        return {ALONE: plain.set_params(n_neighbors=1)}
    in_ranks = {"order": "visits", "shift": 0}
    settings, n_nodes = model._fitted.settings, len(model.scaling_.mean)
    graph = random_neighbors(n_nodes, settings.n_neighbors, seed)
    found = {
        ALONE: clone(plain).set_params(**in_ranks, n_neighbors=1, n_steps=1, graph=graph),
        RANDOM: clone(plain).set_params(**in_ranks, n_steps=1, graph=graph),
    }
    if model.orientation_ is not None and model.orientation_.order == "direction":
        # What was learned from the training rows is learned once.
        found[RANKS] = clone(plain).set_params(**in_ranks, graph=model.graph_)
    return found


def simple_models(*, is_classification: bool, seed: int) -> dict[str, Callable[[], Any]]:
    """Return functions that make unfitted models without a graph, by name."""
    made: dict[str, Callable[[], Any]] = {}
    if is_classification:
        made[LOGISTIC] = lambda: _linear(LogisticRegression(C=INVERSE_PENALTY, max_iter=500))
    else:
        made[RIDGE] = lambda: _linear(RidgeCV(PENALTIES))
    if find_spec("lightgbm") is not None:
        made[LIGHTGBM] = lambda: _boosted(is_classification, seed)
    return made


def fit_simple(model: BaseEstimator, X: np.ndarray, y: np.ndarray) -> Any:
    """Fit a simple model; if it has not quite converged, it is still one to compare with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return cast(Any, model).fit(X, y)


def _linear(last: BaseEstimator) -> Any:
    return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(), last)


def _boosted(is_classification: bool, seed: int) -> Any:
    import lightgbm
    from sklearn.multioutput import MultiOutputRegressor

    settings: dict[str, Any] = {"random_state": seed, "n_jobs": 1, "verbose": -1}
    if is_classification:
        return lightgbm.LGBMClassifier(**settings)
    return MultiOutputRegressor(lightgbm.LGBMRegressor(**settings))
