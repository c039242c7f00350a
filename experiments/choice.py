"""Settings chosen inside the training rows of a run, before anything is tested."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from experiments.data import Data
from experiments.fitted import Fitted, Run

N_INNER_FOLDS = 5

Method = Callable[[Data, dict[str, Any], Run], Fitted]


def choose(fit: Method, data: Data, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the settings under `among` that cross-validation prefers; {} without `among`.

    `among` is a grid as scikit-learn takes it: lists of values by name, or a list of such grids.
    Scores are those of held-back training rows; of an ensemble one member is scored. The first of
    equal scores wins.
    """
    if "among" not in settings:
        return {}
    candidates = list(ParameterGrid(settings["among"]))
    splits = list(_inner_splits(data, seed))
    scores = []
    for candidate in candidates:
        tried = without_among(settings) | candidate
        if "n_members" in tried:
            tried["n_members"] = 1
        fitted = [(split, fit(split, tried, Run(seed))) for split in splits]
        scores.append(np.mean([split.score(f.predict(split.X_test)) for split, f in fitted]))
    best = np.argmax(scores) if data.more_is_better else np.argmin(scores)
    return candidates[int(best)]


def without_among(settings: dict[str, Any]) -> dict[str, Any]:
    """Return what the method itself is told."""
    return {name: value for name, value in settings.items() if name != "among"}


def with_tried(settings: dict[str, Any], tried: dict[str, Any]) -> dict[str, Any]:
    """Return settings with others in their place, which are then no longer chosen."""
    if not tried:
        return settings
    among = settings.get("among", [])
    left = [
        {name: values for name, values in grid.items() if name not in tried}
        for grid in (among if isinstance(among, list) else [among])
    ]
    return without_among(settings) | ({"among": left} if any(left) else {}) | tried


def _inner_splits(data: Data, seed: int) -> Iterator[Data]:
    X, y = data.X_train, data.y_train
    folds = StratifiedKFold(N_INNER_FOLDS, shuffle=True, random_state=seed)
    for kept, held in folds.split(y, y):
        yield replace(data, X_train=X[kept], y_train=y[kept], X_test=X[held], y_test=y[held])
