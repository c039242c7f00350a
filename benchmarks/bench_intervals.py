"""How many test rows lie in their prediction intervals: `make bench-intervals`.

Each table is divided into training and test rows several times, at random or by drawing new rows;
the record holds the mean over the divisions and its standard error. Every division goes through all
tables. Writes `results/intervals.json` after every table.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import provenance
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_regression,
    make_sparse_uncorrelated,
)
from sklearn.model_selection import train_test_split

import walkconv as wc

RESULTS = Path(__file__).parent / "results" / "intervals.json"
ASKED = (0.8, 0.9, 0.95)
N_DIVISIONS, N_TRAIN, N_ROWS = 10, 330, 2330
NETWORK = {"architecture": "C8-FC32", "batch_size": 32, "learning_rate": 3e-3}
Table = tuple[np.ndarray, np.ndarray]


def _noise(seed: int, kind: str) -> Table:
    """Return columns in a row and y of two of them, with noise that is not plain."""
    rng = np.random.default_rng([seed, *kind.encode()])
    X = rng.normal(size=(N_ROWS, 20)).cumsum(axis=1)
    y = np.abs(X[:, 8] - X[:, 9]) + 0.2 * X[:, 15]
    if kind == "growing":
        noise = (0.2 + np.abs(X[:, 3])) * rng.normal(size=N_ROWS)
    elif kind == "heavy":
        noise = rng.standard_t(3, size=N_ROWS)
    else:
        noise = rng.exponential(size=N_ROWS)
    return X, y + 0.5 * noise


def _blocks(seed: int) -> Table:
    """Return twelve blocks of five similar columns; two of the blocks matter."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(N_ROWS, 12)), 5, axis=1) + 0.5 * rng.normal(size=(N_ROWS, 60))
    y = 3 * X[:, :5].mean(axis=1) + 3 * np.maximum(X[:, 20:25].mean(axis=1), 0)
    return X, y + rng.normal(size=N_ROWS)


def _diabetes(seed: int) -> Table:
    return load_diabetes(return_X_y=True)


def _missing(seed: int) -> Table:
    """Return a Friedman table with a tenth of the values missing."""
    X, y = make_friedman1(N_ROWS, 15, noise=1.0, random_state=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X, y


def _metab(seed: int) -> Table:
    data = wc.datasets.load_merck("METAB")
    common = (data.X_train != 0).sum(axis=0).argsort()[-300:]
    return data.X_train[:, common], data.y_train


TABLES: dict[str, Callable[[int], Table]] = {
    "diabetes": _diabetes,
    "friedman1": lambda seed: make_friedman1(N_ROWS, 15, noise=1.0, random_state=seed),
    "friedman2": lambda seed: make_friedman2(N_ROWS, noise=100.0, random_state=seed),
    "friedman3": lambda seed: make_friedman3(N_ROWS, noise=0.1, random_state=seed),
    "linear": lambda seed: make_regression(N_ROWS, 40, noise=50.0, random_state=seed),
    "sparse": lambda seed: make_sparse_uncorrelated(N_ROWS, 20, random_state=seed),
    "blocks": _blocks,
    "growing noise": lambda seed: _noise(seed, "growing"),
    "heavy noise": lambda seed: _noise(seed, "heavy"),
    "skew noise": lambda seed: _noise(seed, "skew"),
    "missing values": _missing,
    "METAB, its 300 fullest columns": _metab,
}


def measure(name: str, division: int) -> dict:
    """Return the coverage of the intervals of a table, and their width, for one division."""
    X, y = TABLES[name](division)
    X, X_test, y, y_test = train_test_split(X, y, train_size=N_TRAIN, random_state=division)
    started = time.process_time()
    model = wc.GraphCNNRegressor(**NETWORK, random_state=division).fit(X, y, calibrate=True)
    seconds = time.process_time() - started
    held = {}
    for asked in ASKED:
        low, high = model.predict_interval(X_test, coverage=asked).T
        held[str(asked)] = float(((low <= y_test) & (y_test <= high)).mean())
    return {
        "n_test": len(y_test),
        "coverage": held,
        "width_95_in_deviations": float((high - low).mean() / y.std()),
        "r2": model.score(X_test, y_test),
        "cpu_seconds": seconds,
    }


def summarize(name: str, found: list[dict]) -> dict:
    """Return the means of what the divisions gave, and the standard errors of the coverages."""
    held = {str(a): np.array([each["coverage"][str(a)] for each in found]) for a in ASKED}
    record: dict = {"table": name, "divisions": len(found), "n_test": found[0]["n_test"]}
    record["coverage"] = {asked: float(each.mean()) for asked, each in held.items()}
    if len(found) > 1:
        error = {asked: float(each.std(ddof=1)) for asked, each in held.items()}
        record["standard_error"] = {k: v / len(found) ** 0.5 for k, v in error.items()}
    means = ("width_95_in_deviations", "r2", "cpu_seconds")
    return record | {key: float(np.mean([each[key] for each in found])) for key in means}


def main() -> None:
    """Measure all tables."""
    found: dict[str, list[dict]] = {name: [] for name in TABLES}
    made_with = provenance("scikit-learn")
    for division in range(N_DIVISIONS):
        for name in TABLES:
            found[name].append(measure(name, division))
            record = summarize(name, found[name])
            each = "  ".join(f"{k}: {100 * v:.1f}" for k, v in record["coverage"].items())
            print(f"{division} {name:30} {each}  R2 {record['r2']:.2f}", flush=True)
            tables = [summarize(name, each) for name, each in found.items() if each]
            content = made_with | {"network": NETWORK, "training_rows": N_TRAIN, "tables": tables}
            RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
