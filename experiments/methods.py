"""The methods that compute a row: each takes data and settings and returns a fitted model."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import TimeSeriesSplit

from experiments.data import Data
from experiments.estimators import KINDS, make_estimator, translated
from experiments.fitted import Fitted, Run
from experiments.forecasts import fit_daily, fit_last_value
from experiments.image import WindowConv
from experiments.preparation import STEPS
from walkconv.networks import NetworkPlan


def prepare(data: Data, settings: dict[str, Any]) -> tuple[Data, dict[str, Any]]:
    """Return the data after the steps under `prepare`, and the settings without it."""
    rest = dict(settings)
    for step in rest.pop("prepare", []):
        X_train, X_test = STEPS[step](data.X_train, data.X_test, data.y_train)
        data = replace(data, X_train=X_train, X_test=X_test)
    if data.source is not None:
        data = replace(data, source=prepare(data.source, settings)[0])
    return data, rest


def fit_network(
    data: Data, settings: dict[str, Any], run: Run, *, convolution: str | None = None
) -> Fitted:
    """Fit a Graph CNN; without C layers it is a fully connected network or a linear model.

    `convolution` names another to take the place of ours: one of `experiments.baselines`, or
    "image" for that of a regular CNN. The training is the same.
    """
    rest = dict(settings)
    if rest.get("graph") == "random":
        n_nodes, n_neighbors = data.X_train.shape[1], rest["n_neighbors"]
        rest["graph"] = random_graph(n_nodes, n_neighbors=n_neighbors, seed=run.seed)
    elif rest.get("graph") == "grid":
        rest["graph"] = data.grid()
    elif rest.get("graph") == "known":
        rest["graph"] = data.graph
    if rest.get("positions") == "grid":
        rest["positions"] = data.places()
    kind = _network_kind(convolution, data.task)
    model = make_estimator(kind, rest, random_state=run.seed, device="cpu")
    watch = _Watch(data, run)
    model.fit(data.X_train, data.y_train, checkpoint=run.checkpoint, after_epoch=watch.look)
    return Fitted(model.predict, model.n_parameters_, model.history_)


def fit_moved(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Fit a network whose filters were learned on the source, or never.

    `filters` is "frozen" or "tuned", as in `transfer`, or "random": as they were drawn. `source`
    holds what differs in the settings where filters are learned.
    """
    rest = dict(settings)
    filters, at_source = rest.pop("filters"), rest.pop("source", {})
    kind = _network_kind(None, data.task)
    common = {"random_state": run.seed, "device": "cpu"}
    if filters == "random":
        model = make_estimator(_with_random_filters(kind), rest, **common)
        model.fit(data.X_train, data.y_train)
    else:
        assert data.source is not None
        learned = make_estimator(kind, rest | at_source, **common)
        learned.fit(data.source.X_train, data.source.y_train).set_params(**translated(rest))
        model = learned.transfer(data.X_train, data.y_train, filters=filters)
    return Fitted(model.predict, model.n_parameters_, model.history_)


def _with_random_filters(kind: Any) -> Any:
    class RandomFilters(kind):
        def make_network(self, plan: NetworkPlan) -> Any:
            """Return a network of which only the layers after the convolutions learn."""
            network = super().make_network(plan)
            network.nodewise.requires_grad_(False)
            return network

    return RandomFilters


class _Watch:
    """What is noted after every epoch: core-seconds, and the test score where that is allowed."""

    def __init__(self, data: Data, run: Run):
        self.data, self.run, self.spent = data, run, time.process_time()

    def look(self, model: Any) -> dict[str, float]:
        """Return what goes into the history."""
        before, self.spent = self.spent, time.process_time()
        noted = {"core_seconds": self.spent - before}
        if self.run.watches_test:
            noted["test"] = self.data.score(model.predict(self.data.X_test))
        return noted


def _network_kind(convolution: str | None, task: str) -> Any:
    if convolution is None:
        return KINDS[task]
    from experiments.baselines import BASELINES, estimators_with

    return (BASELINES | {"image": estimators_with(WindowConv)})[convolution][task]


def random_graph(n_nodes: int, *, n_neighbors: int, seed: int) -> sp.csr_array:
    """Return a graph in which every node points to `n_neighbors - 1` others, drawn at random.

    The twin of a learned graph: a walk of one step finds the node itself and these.
    """
    rng = np.random.default_rng(seed)
    n_others = min(n_neighbors, n_nodes) - 1
    drawn = [rng.choice(n_nodes - 1, size=n_others, replace=False) for _ in range(n_nodes)]
    columns = np.array([others + (others >= node) for node, others in enumerate(drawn)])
    rows = np.repeat(np.arange(n_nodes), n_others)
    ones = np.ones(columns.size)
    return sp.csr_array((ones, (rows, columns.ravel())), shape=(n_nodes, n_nodes))


def fit_ols(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Fit ordinary least squares, the shortest solution where there are many."""
    model = LinearRegression(**settings).fit(data.X_train, data.y_train)
    return Fitted(model.predict, model.coef_.size + 1)


def fit_ridge(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Fit ridge regression, its penalty by leave-one-out on the training rows.

    Rows that follow each other in time are alike, so there whole later periods are held out.
    """
    left_out = TimeSeriesSplit() if data.period else None
    model = RidgeCV(alphas=np.logspace(0, 5, 21), cv=left_out, **settings)
    model.fit(_flat(data.X_train), data.y_train)
    n_parameters = model.coef_.size + np.size(model.intercept_)
    return Fitted(lambda X: model.predict(_flat(X)), n_parameters)


def _flat(X: np.ndarray) -> np.ndarray:
    """Return all that is known of a sample as one row."""
    return X.reshape(len(X), -1)


def fit_forest(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Fit a random forest."""
    kind = RandomForestClassifier if data.task == "classification" else RandomForestRegressor
    model = kind(**settings, random_state=run.seed, n_jobs=torch.get_num_threads())
    return Fitted(model.fit(data.X_train, data.y_train).predict)


def fit_boosting(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Fit LightGBM."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if data.task == "classification" else LGBMRegressor
    model = kind(**settings, random_state=run.seed, n_jobs=torch.get_num_threads(), verbosity=-1)
    return Fitted(model.fit(data.X_train, data.y_train).predict)


CONVOLUTIONS = ("spectral", "spectral-free", "chebnet", "gcn", "dcnn", "local", "image")
METHODS: dict[str, Callable[[Data, dict[str, Any], Run], Fitted]] = {
    "network": fit_network,
    **{name: partial(fit_network, convolution=name) for name in CONVOLUTIONS},
    "moved": fit_moved,
    "last value": fit_last_value,
    "daily": fit_daily,
    "ols": fit_ols,
    "ridge": fit_ridge,
    "forest": fit_forest,
    "boosting": fit_boosting,
}
