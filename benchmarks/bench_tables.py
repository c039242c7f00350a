"""Fit every method on every table with no settings: `make bench-tables`.

Each run is a line of `results/tables.jsonl`, written as soon as it is done; runs that are there
are not repeated. The page `tables.md` is written from them.
"""

import argparse
import time
import warnings

import numpy as np
import tables_page as page
from machine import provenance
from sklearn.metrics import accuracy_score, r2_score
from tables_methods import methods
from tables_suite import TABLES, Rows, Table
from threadpoolctl import threadpool_limits


def measure(table: Table, rows: Rows, split: int, name: str) -> dict:
    """Fit a method on the training rows of a split and score the test rows."""
    train, test = table.split(rows, split)
    start, core_start = time.perf_counter(), time.process_time()
    predicted, notes = methods()[name](
        rows.X[train], rows.y[train], rows.X[test], rows.is_classification, split
    )
    seconds, core_seconds = time.perf_counter() - start, time.process_time() - core_start
    score = accuracy_score if rows.is_classification else r2_score
    return {
        "table": table.name,
        "group": table.group,
        "half": table.half,
        "method": name,
        "split": split,
        "n_train": len(train),
        "n_columns": rows.X.shape[1],
        "n_classes": len(np.unique(rows.y)) if rows.is_classification else 0,
        "score": float(score(rows.y[test], predicted)),
        "seconds": seconds,
        "core_seconds": core_seconds,
        **notes,
        "made_with": provenance("scikit-learn"),
    }


def main() -> None:
    """Measure what was asked for and is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["tuning", "reported"], help="only this half")
    parser.add_argument("--tables", nargs="*", help="only tables whose names begin so")
    parser.add_argument("--methods", nargs="*", default=list(methods()), help="only these methods")
    parser.add_argument("--splits", type=int, default=3, help="at most so many splits of a table")
    settings = parser.parse_args()
    done = {(run["table"], run["method"], run["split"]) for run in page.read_runs()}
    for table in TABLES:
        if settings.half not in (None, table.half):
            continue
        if settings.tables and not table.name.startswith(tuple(settings.tables)):
            continue
        runs = [
            (name, split)
            for split in range(min(settings.splits, table.n_splits))
            for name in settings.methods
            if (table.name, name, split) not in done
        ]
        if not runs:
            continue
        try:
            rows = table.read()
        except OSError as error:
            print(f"{table.name:26} skipped: {str(error).splitlines()[0]}", flush=True)
            continue
        for name, split in runs:
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                run = measure(table, rows, split, name)
            page.add_run(run)
            figures = f"{run['score']:.4f} {run['core_seconds']:6.1f} s"
            print(f"{table.name:26} {split} {name:18} {figures}", flush=True)
    page.write_page()


if __name__ == "__main__":
    main()
