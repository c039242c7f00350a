"""What `compare` says of the graph on MNIST and METAB: `make bench-verdicts`.

MNIST is the first 4,000 training digits with the 717 pixels that vary in the whole training set;
METAB is its training molecules. With shuffled targets there is nothing to learn. Writes
`results/verdicts.json` after every question, and the page `results/verdicts.md`. Arguments are the
questions to ask (all by default); the answers to the others stay.
"""

import json
import sys
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


def _digits(n_neighbors: int, order: str) -> wc.GraphCNNClassifier:
    settings = {"conv_dropout": 0.2, "learning_rate": 3e-3, "max_iter": 10}
    return wc.GraphCNNClassifier("C20", n_neighbors=n_neighbors, order=order, **settings)


def _molecules(n_neighbors: int) -> wc.GraphCNNRegressor:
    settings = {"standardize": "relevance", "n_members": 1, "max_iter": 20}
    return wc.GraphCNNRegressor("C10-FC100", n_neighbors=n_neighbors, **settings)


Question = tuple[
    Callable[[], wc.GraphCNNClassifier | wc.GraphCNNRegressor], Callable[[], Table], bool
]
QUESTIONS: dict[str, Question] = {
    "digits-ranks": (lambda: _digits(6, "visits"), _mnist, True),
    "digits-directions": (lambda: _digits(9, "auto"), _mnist, False),
    "digits-shuffled": (lambda: _digits(6, "visits"), lambda: _shuffled(_mnist), False),
    "molecules-5": (lambda: _molecules(5), _metab, False),
    "molecules-400": (lambda: _molecules(400), _metab, False),
    "molecules-shuffled": (lambda: _molecules(5), lambda: _shuffled(_metab), False),
}
"""Model, table, and whether simple models take part."""
NAMES = {
    "digits-ranks": "MNIST, C20, p = 6, ranks",
    "digits-directions": "MNIST, C20, p = 9, directions",
    "digits-shuffled": "MNIST with shuffled digits, C20, p = 6, ranks",
    "molecules-5": "METAB, C10-FC100, p = 5",
    "molecules-400": "METAB, C10-FC100, p = 400",
    "molecules-shuffled": "METAB with shuffled activities, C10-FC100, p = 5",
}


def measure(name: str) -> dict:
    """Return what `compare` finds."""
    make, read, has_simple_models = QUESTIONS[name]
    X, y = read()
    made_with = provenance("scikit-learn", "lightgbm")
    started = time.process_time()
    found = wc.compare(make(), X, y, n_repeats=1, simple_models=has_simple_models, verbose=1)
    print(name, found, sep="\n", flush=True)
    return {
        "question": name,
        "n_rows": len(X),
        "n_columns": X.shape[1],
        "cpu_seconds": time.process_time() - started,
        "made_with": made_with,
        **found.to_plain(),
    }


def page(answers: list[dict]) -> str:
    """Return the answers as Markdown."""
    lines = []
    for found in answers:
        errors = {row["contestant"]: row for row in found["rows"]}
        twins = [errors["no neighbours"], errors["random neighbours"]]
        beside = [
            f"{row['difference']:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})" for row in twins
        ]
        error = f"{errors['model']['error']:.1f}"
        lines.append([NAMES[found["question"]], error, *beside, found["finding"]])
    header = ["", "error in %", "beside no neighbours", "beside random neighbours", "verdict"]
    parts = [
        "# Verdicts: what `compare` says of the graph",
        "Written by `make bench-verdicts` from `verdicts.json`: the first 4,000 training digits of "
        "MNIST, and the training molecules of METAB, five folds. The error is the share of wrong "
        "classes, or of the variance that is not explained, in per cent. Beside a twin: how many "
        "points its error is above that of the model, with the interval of 95 %.",
        table(header, lines),
        origin(answers[-1]["made_with"]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Ask the questions and write the answers."""
    for name in sys.argv[1:] or QUESTIONS:
        answer = measure(name)
        known = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        by_name = {each["question"]: each for each in [*known, answer]}
        answers = [by_name[each] for each in QUESTIONS if each in by_name]
        RESULTS.write_text(json.dumps(answers, indent=1) + "\n")
        PAGE.write_text(page(answers))


if __name__ == "__main__":
    main()
