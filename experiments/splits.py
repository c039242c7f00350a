"""The data of a run: one division into training and test rows, or one for each fold."""

from experiments.data import Data, load_data
from experiments.folds import load_folds
from experiments.moved import load_other_half, load_small_digits
from experiments.small import SMALL_TABLES, load_small_table
from experiments.traffic import load_traffic

COLLECTIONS = ("mutag", "proteins", "enzymes")


def load_splits(
    table: str, *, seed: int = 0, merck_set: str = "METAB", is_smoke: bool = False
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
