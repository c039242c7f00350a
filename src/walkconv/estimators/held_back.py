"""Training rows that are held back for early stopping."""

import math
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from walkconv.estimators.inputs import Rows


def hold_back(model: Any, rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and the rows to score after every epoch."""
    if rows.y.dtype.kind == "i":
        _check_every_class_is_split(model, rows)
    train, apart = train_test_split(
        np.arange(len(rows.y)),
        test_size=model.validation_fraction,
        random_state=seed,
        stratify=rows.y if rows.y.dtype.kind == "i" else None,
    )
    return rows.take(train), rows.take(apart)


def _check_every_class_is_split(model: Any, rows: Rows) -> None:
    """Refuse classes of which not both parts of the rows can hold some."""
    present, counts = np.unique(rows.y, return_counts=True)
    if counts.min() < 2:
        rarest = model.classes_.tolist()[present[counts.argmin()]]
        raise ValueError(
            f"early_stopping needs two rows of each class; {rarest!r} has {counts.min()}. Add "
            "some, leave it out, or give validation_data."
        )
    n_apart = math.ceil(model.validation_fraction * len(rows.y))
    n_fewest = min(n_apart, len(rows.y) - n_apart)
    if n_fewest < len(counts):
        raise ValueError(
            "early_stopping needs at least as many rows to score, and to train on, as there are "
            f"classes ({len(counts)}); got {n_fewest}. Change validation_fraction or give "
            "validation_data."
        )
