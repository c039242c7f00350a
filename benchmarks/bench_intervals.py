"""How many test rows lie in their prediction intervals: `make bench-intervals`.

Each table is divided into training and test rows several times, at random or by drawing new rows.
Every fit is a line of `results/intervals.jsonl` as soon as it is done, and is not repeated. The
page `results/intervals.md` has the means over the divisions and their standard errors. Arguments
are the numbers of the divisions (0 to 9 by default).
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import provenance
from page import origin
from page import table as as_table
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

RESULTS = Path(__file__).parent / "results" / "intervals.jsonl"
PAGE = RESULTS.with_suffix(".md")
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
        "table": name,
        "division": division,
        "n_test": len(y_test),
        "coverage": held,
        "r2": model.score(X_test, y_test),
        "cpu_seconds": seconds,
        "made_with": provenance("scikit-learn"),
    }


def records() -> list[dict]:
    """Return what was measured so far."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def page(found: list[dict]) -> str:
    """Return the means over the divisions as Markdown."""
    lines = []
    for name in TABLES:
        same = [each for each in found if each["table"] == name]
        if len(same) < 2:
            continue
        held = np.array([[100 * each["coverage"][str(a)] for a in ASKED] for each in same])
        errors = held.std(axis=0, ddof=1) / len(same) ** 0.5
        cells = [f"{m:.1f} ± {e:.1f}" for m, e in zip(held.mean(axis=0), errors, strict=True)]
        r2 = np.mean([each["r2"] for each in same])
        lines.append([name, str(len(same)), *cells, f"{r2:.2f}"])
    header = ["", "divisions", *(f"{100 * asked:.0f} %" for asked in ASKED), "R2"]
    text = ", ".join(f"{name}={value!r}" for name, value in NETWORK.items())
    parts = [
        "# Intervals: how many test rows they hold",
        "Written by `make bench-intervals` from `intervals.jsonl`. "
        f"`GraphCNNRegressor({text})` with `calibrate=True` on {N_TRAIN} training rows: the share "
        "of the test rows inside their intervals, in per cent, by the coverage that was asked; "
        "means over divisions into training and test rows, with their standard errors.",
        as_table(header, lines),
        origin(found[-1]["made_with"]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure what is missing and write the page."""
    for division in map(int, sys.argv[1:] or range(N_DIVISIONS)):
        for name in TABLES:
            if any((each["table"], each["division"]) == (name, division) for each in records()):
                continue
            line = json.dumps(measure(name, division))
            with RESULTS.open("a") as file:
                file.write(line + "\n")
            print(line, flush=True)
            PAGE.write_text(page(records()))


if __name__ == "__main__":
    main()
