"""Rows divided into those to train on and those to score, and how long a short training is."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from walkconv.estimators.search import Round
from walkconv.training.loop import TrainingSettings

Division = tuple[np.ndarray, np.ndarray]
"""Numbers of the rows to train on, and of the rows to score."""
FEWEST_ROWS = 10
"""With fewer rows nothing can be held back."""
MOST_ROWS = 3000
"""Rows that a search uses at most."""
FEWEST_EPOCHS, FEWEST_STEPS = 4, 150
"""Epochs and steps of a short training, unless the candidate has fewer."""
FEW_ROWS, SOME_ROWS = 500, 2000
"""Tables with at most so many rows are divided several times, if a fit costs little."""
CHEAP = 2**20
"""Values of a table on which a fit costs little."""


def divide(y: np.ndarray, n_values: int, seed: int, *, is_classification: bool) -> list[Division]:
    """Return divisions of the rows; none if there are too few rows.

    Parameters
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Codes of classes, which every part gets if there are five rows of each; or values.
    n_values : int
        Values of the whole table.
    seed : int
    is_classification : bool
    """
    n_rows = len(y)
    if n_rows < FEWEST_ROWS:
        return []
    classes = y if is_classification else None
    is_balanced = classes is not None and np.bincount(classes).min() >= 5
    if n_rows <= SOME_ROWS and n_values <= CHEAP:
        folds = (StratifiedKFold if is_balanced else KFold)(5, shuffle=True, random_state=seed)
        divisions = list(folds.split(np.empty(n_rows), classes))
        return divisions[:4] if n_rows <= FEW_ROWS else divisions[:2]
    n_used = min(n_rows, MOST_ROWS)
    train, apart = train_test_split(
        np.arange(n_rows),
        train_size=round(0.75 * n_used),
        test_size=round(0.25 * n_used),
        random_state=seed,
        stratify=classes if is_balanced else None,
    )
    return [(train, apart)]


def list_rounds(n_divisions: int) -> list[Round]:
    """Return the rounds of a search.

    With several divisions every training has the same length, so that the second round needs only
    the divisions that the first has not seen.
    """
    if n_divisions == 1:
        return [Round(1, 0.25, 2), Round(1, 0.5, 1)]
    return [Round(2, 0.5, 2), Round(n_divisions, 0.5, 1)]


def short_training(n_rows: int, share: float, training: TrainingSettings) -> int:
    """Return a share of the epochs, and more if these have few steps."""
    n_steps = n_rows / training.rows_at_once(n_rows)
    least = max(FEWEST_EPOCHS, round(FEWEST_STEPS / max(1, n_steps)))
    return min(max(least, round(share * training.max_iter)), training.max_iter)
