"""How often `compare` says that a graph helps: `make bench-compare`.

On tables whose target follows a planted graph it should, on tables with a random graph and on
shuffled targets it should not. Writes `results/compare.json` after every table.
"""

import json
import time
from collections import Counter
from pathlib import Path

import numpy as np
from machine import provenance
from tqdm import tqdm

import walkconv as wc

RESULTS = Path(__file__).parent / "results" / "compare.json"
N_ROWS, N_COLUMNS = 300, 30
TABLES = {"planted": 10, "random": 40, "shuffled": 10}
"""Number of tables of each kind."""
NETWORK = {
    "architecture": "C8-G-FC16",
    "n_neighbors": 3,
    "max_iter": 15,
    "learning_rate": 0.01,
    "dropout": 0.1,
    "n_members": 1,
    "batch_size": 32,
}
SPLITS = {"n_splits": 5, "n_repeats": 2, "simple_models": False}


def make(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, object]:
    """Return X, y and the graph of a table.

    y is the length of the way from column to column along a path, with noise of a tenth of its
    variance. The planted graph is that path. A random graph is another path through the columns.
    """
    rng = np.random.default_rng([seed, *kind.encode()])
    X = rng.normal(size=(N_ROWS, N_COLUMNS))
    y = np.abs(np.diff(X, axis=1)).sum(axis=1)
    y += np.sqrt(0.1) * y.std() * rng.normal(size=N_ROWS)
    if kind == "shuffled":
        y = rng.permutation(y)
    order = rng.permutation(N_COLUMNS) if kind == "random" else np.arange(N_COLUMNS)
    edges = np.stack([order[:-1], order[1:]])
    return X, y, wc.graph_from_edges(edges, n_nodes=N_COLUMNS)


def measure(kind: str, seed: int) -> dict:
    """Return what `compare` finds on a table."""
    X, y, graph = make(kind, seed)
    started = time.perf_counter()
    found = wc.compare(
        wc.GraphCNNRegressor(graph=graph, **NETWORK), X, y, random_state=seed, **SPLITS
    )
    return {
        "kind": kind,
        "seed": seed,
        "finding": found.finding,
        "verdict": found.verdict,
        "errors": dict(found.table.select("contestant", "error").iter_rows()),
        "seconds": time.perf_counter() - started,
    }


def main() -> None:
    """Measure all tables and print how often each verdict was given."""
    records = []
    tables = [(kind, seed) for kind, n_tables in TABLES.items() for seed in range(n_tables)]
    for kind, seed in tqdm(tables):
        records.append(measure(kind, seed))
        record = {"network": NETWORK, "splits": SPLITS, "rows": N_ROWS, "columns": N_COLUMNS}
        content = {**provenance("scikit-learn"), **record, "tables": records}
        RESULTS.write_text(json.dumps(content, indent=1) + "\n")
    for kind in TABLES:
        print(kind, dict(Counter(each["finding"] for each in records if each["kind"] == kind)))


if __name__ == "__main__":
    main()
