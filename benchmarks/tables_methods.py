"""The methods that `bench_tables.py` compares, each with its usual settings.

A method takes training rows, labels or values, and rows to predict for; it returns predictions.
"""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from walkconv import GraphCNNClassifier, GraphCNNRegressor

Method = Callable[[np.ndarray, np.ndarray, np.ndarray, bool, int], tuple[np.ndarray, dict]]
OURS = "walkconv"


def walkconv_default(X, y, X_test, is_classification: bool, seed: int):
    """Fit with no settings."""
    model = (GraphCNNClassifier if is_classification else GraphCNNRegressor)(random_state=seed)
    model.fit(X, y)
    return model.predict(X_test), {"choices": model.choices_}


def lightgbm_default(X, y, X_test, is_classification: bool, seed: int):
    """Fit LightGBM with its own defaults."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if is_classification else LGBMRegressor
    model = kind(random_state=seed, verbose=-1, n_jobs=1).fit(X, y)
    return model.predict(X_test), {}


def forest(X, y, X_test, is_classification: bool, seed: int):
    """Fit a random forest of 300 trees."""
    kind = RandomForestClassifier if is_classification else RandomForestRegressor
    max_features = "sqrt" if is_classification else 1 / 3
    model = kind(300, max_features=max_features, random_state=seed, n_jobs=1).fit(X, y)
    return model.predict(X_test), {}


def linear(X, y, X_test, is_classification: bool, seed: int):
    """Fit ridge regression with a chosen penalty, or logistic regression.

    The penalty of the logistic regression is chosen by cross-validation if there are at most
    a million values and ten rows of each class.
    """
    if not is_classification:
        model = RidgeCV(alphas=np.logspace(-2, 5, 15))
    elif X.size > 2**20 or np.bincount(y).min() < 10:
        model = LogisticRegression(max_iter=500)
    else:
        model = LogisticRegressionCV(
            Cs=6, max_iter=500, cv=3, l1_ratios=(0.0,), use_legacy_attributes=False
        )
    return make_pipeline(StandardScaler(), model).fit(X, y).predict(X_test), {}


def _pytabkit(name: str) -> Method:
    def fit(X, y, X_test, is_classification: bool, seed: int):
        import pytabkit

        kind = getattr(pytabkit, f"{name}_{'Classifier' if is_classification else 'Regressor'}")
        model = kind(random_state=seed, n_threads=1, device="cpu").fit(X, y)
        return model.predict(X_test), {}

    return fit


def methods() -> dict[str, Method]:
    """Return the methods that are installed, ours first."""
    found: dict[str, Method] = {
        OURS: walkconv_default,
        "LightGBM": lightgbm_default,
        "random forest": forest,
        "ridge or logistic": linear,
    }
    if find_spec("pytabkit") is not None:
        found |= {"RealMLP": _pytabkit("RealMLP_TD"), "TabM": _pytabkit("TabM_D")}
    return found
