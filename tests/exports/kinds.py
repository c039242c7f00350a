"""A fitted model of every kind that can be exported, with rows to predict."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from walkconv import GraphCNNClassifier, GraphCNNRegressor, grid_graph

QUICK = {"max_iter": 2, "n_members": 1, "random_state": 0}
N_ROWS, N_TRAINED = 64, 40
LINE = np.arange(12.0)[:, None]
GRID = np.stack(np.divmod(np.arange(15.0), 5), axis=1)


def table(n_columns: int = 12, *, missing: float = 0.0) -> np.ndarray:
    """Return rows whose neighbouring columns agree, as float32 holds them."""
    rng = np.random.default_rng(n_columns)
    X = rng.normal(size=(N_ROWS, n_columns)).cumsum(axis=1)
    X[rng.random(X.shape) < missing] = np.nan
    return X.astype(np.float32).astype(np.float64)


def sign_of(X: np.ndarray, words: tuple[Any, Any] = ("low", "high")) -> np.ndarray:
    """Return a class for each row."""
    return np.where(np.nan_to_num(X[:, 3]) > 0, words[1], words[0])


def classifier(X, architecture, y=None, kind=GraphCNNClassifier, **settings):
    y = sign_of(np.asarray(X).reshape(len(X), -1)) if y is None else y
    model = kind(architecture, **({"n_neighbors": 4} | QUICK | settings))
    return model.fit(X[:N_TRAINED], y[:N_TRAINED]), X


def regressor(X, architecture, y=None, **settings):
    y = 50 + 20 * np.nan_to_num(np.asarray(X).reshape(len(X), -1)[:, 2]) if y is None else y
    model = GraphCNNRegressor(architecture, **({"n_neighbors": 4} | QUICK | settings))
    return model.fit(X[:N_TRAINED], y[:N_TRAINED]), X


class SignedVisits(GraphCNNClassifier):
    weighting = "signed_visits"


class Unnormalized(GraphCNNClassifier):
    normalization = None


def far_from_zero():
    X = table() + np.linspace(-1e5, 1e5, 12)
    return X.astype(np.float32).astype(np.float64)


KINDS: dict[str, Callable[[], tuple]] = {
    "rank": lambda: classifier(table(), "C4-FC8"),
    "several steps": lambda: classifier(table(), "C4-C3", n_steps=2),
    "directional": lambda: classifier(table(), "C4-FC8", order=LINE),
    "signed visits": lambda: classifier(table(missing=0.1), "C4-FC8", kind=SignedVisits, n_steps=2),
    "pooled by the maximum": lambda: classifier(table(), "C4-P4-C3-FC8"),
    "pooled by the mean": lambda: classifier(table(), "C4-P4mean-C3-P2mean-FC8"),
    "pooled at once": lambda: classifier(table(missing=0.1), "P4-FC8"),
    "pooled on a grid": lambda: classifier(
        table(15), "C4-P2x2-C3-FC8", graph=grid_graph((3, 5)), order=GRID
    ),
    "400 neighbours": lambda: regressor(
        table(420, missing=0.05), "C3-FC8", n_neighbors=400, dropout=0.0
    ),
    "missing values": lambda: classifier(table(missing=0.3), "C4-C3-FC8"),
    "missing values in directions": lambda: classifier(table(missing=0.3), "C4-FC8", order=LINE),
    "missing values in a linear model": lambda: regressor(table(missing=0.3), ""),
    "members of a classifier": lambda: classifier(table(missing=0.1), "C4-FC8", n_members=3),
    "members of a regressor": lambda: regressor(table(), "C4-FC8", n_members=3),
    "one output": lambda: regressor(table(), "C4-FC8"),
    "one output in two dimensions": lambda: regressor(table(), "C4", table()[:, :1]),
    "several outputs": lambda: regressor(table(), "C4-FC8", 1e3 * table()[:, :3] - 7),
    "an output for every node": lambda: regressor(table(), "C4-N1", table()[:, ::-1]),
    "classes that are numbers": lambda: classifier(table(), "FC8", sign_of(table(), (-3, 40))),
    "classes that are bytes": lambda: classifier(
        table(), "FC8", sign_of(table(), (2, 200)).astype(np.uint8)
    ),
    "classes that are floats": lambda: classifier(table(), "FC8", sign_of(table(), (0.0, 2.0))),
    "classes that are true or false": lambda: classifier(table(), "FC8", table()[:, 3] > 0),
    "three classes of objects": lambda: classifier(
        table(), "C4", np.array(["a", "bb", "Zürich"], dtype=object)[np.arange(N_ROWS) % 3]
    ),
    "linear": lambda: classifier(table(), ""),
    "no normalization": lambda: classifier(table(), "C4-P4-FC8", kind=Unnormalized),
    "no clipping": lambda: classifier(table(), "C4-FC8", soft_clip=None),
    "no scaling": lambda: classifier(table(), "C4-FC8", standardize=False, soft_clip=50.0),
    "columns by relevance": lambda: regressor(
        table(missing=0.1), "C4-FC8", standardize="relevance"
    ),
    "counts by relevance": lambda: classifier(
        np.abs(table()).round(), "C4-FC8", sign_of(table()), standardize="relevance"
    ),
    "columns far from zero": lambda: classifier(far_from_zero(), "C4-FC8", sign_of(table())),
    "channels": lambda: classifier(table(24, missing=0.2).reshape(N_ROWS, 8, 3), "C4-P2-FC8"),
    "readout by the mean": lambda: classifier(table(), "C4-G-FC8"),
    "readout by the logarithm": lambda: classifier(table(), "C4-Glog_sum"),
    "readout by the maximum": lambda: classifier(table(), "C4-P2mean-Gmax"),
    "named columns": lambda: classifier(
        pl.DataFrame(table(), schema=[f"column {i}" for i in range(12)]), "C4-FC8"
    ),
}


@cache
def fitted(kind: str) -> tuple:
    """Return the fitted model of a kind, and rows to predict."""
    return KINDS[kind]()


def plain_rows(X) -> np.ndarray:
    """Return rows as an array of float32."""
    return (X.to_numpy() if isinstance(X, pl.DataFrame) else X).astype(np.float32)


def answers(model, X) -> np.ndarray:
    """Return the probabilities, or the predictions, of a model."""
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def differ_by(model, found, wanted) -> float:
    """Return the largest error: of a probability, or of a value in units of its size."""
    found = np.asarray(found, dtype=np.float64)
    assert found.shape == wanted.shape
    if hasattr(model, "predict_proba"):
        return np.abs(found - wanted).max()
    spread = model.target_scaling_.deviation[:, 0]
    unit = np.maximum(spread if wanted.ndim == 2 else spread[0], np.abs(wanted))
    return (np.abs(found - wanted) / unit).max()
