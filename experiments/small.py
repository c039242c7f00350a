"""Small tables that come with scikit-learn, whose columns lie in no plane."""

from functools import cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import train_test_split

from experiments.data import Data

SMALL_TABLES = {"breast-cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}


@cache
def load_small_table(name: str, *, seed: int) -> Data:
    """Return a table, three tenths of its rows to test on; the seed divides it."""
    X, y = SMALL_TABLES[name](return_X_y=True)
    is_classes = name != "diabetes"
    X_train, X_test, y_train, y_test = train_test_split(
        X.astype(np.float32),
        y,
        test_size=0.3,
        random_state=seed,
        stratify=y if is_classes else None,
    )
    task = "classification" if is_classes else "regression"
    return Data(X_train, y_train, X_test, y_test, task)
