"""What `compare` says of the graph on MNIST and METAB: `make bench-verdicts`.

Networks and settings are those of the paper's tables, set beforehand. MNIST is the first 4,000
training digits with the 717 pixels that vary in the whole training set; METAB is its training
molecules. With shuffled targets there is nothing to learn. Writes `results/verdicts.json` after
every table, and the page `results/verdicts.md`.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import provenance
from page import origin, table

import walkconv as wc

RESULTS = Path(__file__).parent / "results" / "verdicts.json"
PAGE = RESULTS.with_suffix(".md")
N_DIGITS = 4_000
Table = tuple[np.ndarray, np.ndarray]


def _mnist() -> Table:
    mnist = wc.datasets.load_mnist()
    varying = np.ptp(mnist.X_train, axis=0) > 0
    X = mnist.X_train[:N_DIGITS, varying].astype(np.float32) / np.float32(255)
    return X, mnist.y_train[:N_DIGITS]


def _metab() -> Table:
    metab = wc.datasets.load_merck("METAB")
    return metab.X_train, metab.y_train


def _shuffled(read: Callable[[], Table]) -> Table:
    X, y = read()
    return X, np.random.default_rng(0).permutation(y)


def _digits() -> wc.GraphCNNClassifier:
    settings = {"n_neighbors": 6, "conv_dropout": 0.2, "learning_rate": 3e-3, "max_iter": 10}
    return wc.GraphCNNClassifier("C20", **settings)


def _molecules(n_neighbors: int) -> wc.GraphCNNRegressor:
    settings = {"standardize": "relevance", "n_members": 1, "max_iter": 20}
    return wc.GraphCNNRegressor("C10-FC100", n_neighbors=n_neighbors, **settings)


Task = tuple[Callable[[], wc.GraphCNNClassifier | wc.GraphCNNRegressor], Callable[[], Table], dict]
WHOLE, SHORT = {"n_repeats": 2}, {"n_repeats": 1, "simple_models": False}
TABLES: dict[str, Task] = {
    "MNIST, C20, p = 6": (_digits, _mnist, {"n_repeats": 1}),
    "METAB, C10-FC100, p = 5": (lambda: _molecules(5), _metab, WHOLE),
    "MNIST, shuffled digits": (_digits, lambda: _shuffled(_mnist), SHORT),
    "METAB, shuffled activities": (lambda: _molecules(5), lambda: _shuffled(_metab), SHORT),
    "METAB, C10-FC100, p = 400": (lambda: _molecules(400), _metab, SHORT),
}
"""Model, table and splits of each question."""


def measure(name: str) -> dict:
    """Return what `compare` finds."""
    make, read, splits = TABLES[name]
    X, y = read()
    started = time.process_time()
    found = wc.compare(make(), X, y, verbose=1, **splits)
    print(found, flush=True)
    return {
        "table": name,
        "rows": len(X),
        "columns": X.shape[1],
        "splits": splits,
        "cpu_seconds": time.process_time() - started,
        **found.to_plain(),
    }


def page(results: dict) -> str:
    """Return the results as Markdown."""
    lines = []
    for found in results["tables"]:
        errors = {row["contestant"]: row for row in found["rows"]}
        twins = [errors["no neighbours"], errors["random neighbours"]]
        beside = [
            f"{row['difference']:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})" for row in twins
        ]
        lines.append([found["table"], f"{errors['model']['error']:.1f}", *beside, found["finding"]])
    header = ["", "error in %", "beside no neighbours", "beside random neighbours", "verdict"]
    parts = [
        "# Verdicts: what `compare` says of the graph",
        "Written by `make bench-verdicts` from `verdicts.json`. Five folds, once, and twice for "
        "METAB with p = 5. The error is the share of wrong classes, or of the variance that is not "
        "explained, in per cent. Beside a twin: by how many points its error is higher than that "
        "of the model, with the interval of 95 %.",
        table(header, lines),
        origin(results["made_with"]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Ask about all tables and write what was found."""
    results: dict = {"made_with": provenance("scikit-learn", "lightgbm"), "tables": []}
    for name in TABLES:
        print(name, flush=True)
        results["tables"].append(measure(name))
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
