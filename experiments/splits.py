"""The data of a run: one division into training and test rows, or one for each fold."""

from dataclasses import replace

import numpy as np

from experiments.data import Data, load_data
from experiments.folds import load_folds
from experiments.moved import load_other_half, load_small_digits
from experiments.small import SMALL_TABLES, load_small_table
from experiments.traffic import load_traffic

COLLECTIONS = ("mutag", "proteins", "enzymes")


def load_splits(
    table: str, *, seed: int = 0, merck_set: str | None = None, is_smoke: bool = False
) -> list[Data]:
    """Return the data of a table; the seed matters where it draws rows, columns or folds."""
    if table in COLLECTIONS:
        return load_folds(table.upper(), seed=seed, is_smoke=is_smoke)
    if table in SMALL_TABLES:
        return [load_small_table(table, seed=seed)]
    if table == "traffic":
        return [load_traffic(is_smoke=is_smoke)]
    if table == "transfer-digits":
        return [load_small_digits(seed=seed, is_smoke=is_smoke)]
    if table == "transfer-metab":
        return [load_other_half(seed=seed, is_smoke=is_smoke)]
    return [load_data(table, merck_set=merck_set, is_smoke=is_smoke)]


def hold_out(data: Data, seed: int) -> Data:
    """Return the training rows alone, some of them in the place of the test rows.

    A sixth of them, drawn at random; of moments one after the other the last eighth.
    """
    if data.source is not None:
        raise ValueError(
            "--validate is not for tables with a source: it has the rows that would be held back."
        )
    n_rows = len(data.y_train)
    if data.period:
        kept, held = np.split(np.arange(n_rows), [n_rows - n_rows // 8])
    else:
        order = np.random.default_rng(seed).permutation(n_rows)
        kept, held = np.split(order, [n_rows - n_rows // 6])
    X, y = data.X_train, data.y_train
    return replace(data, X_train=X[kept], y_train=y[kept], X_test=X[held], y_test=y[held])
