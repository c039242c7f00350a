"""Time predictions for one row and for many, beside other runtimes: `make bench-latency`.

The model is that of `make demo` on MNIST with shuffled pixels, trained for one epoch: times do not
depend on the weights. The same model answers through `predict`, `to_torch`, and
ONNX; LightGBM and a plain torch network are beside it. Writes `results/latency.json` and, as a
page, `results/latency.md`.
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import onnxruntime
import torch
from machine import provenance
from page import origin, table
from timing import interleaved

import walkconv

RESULTS = Path(__file__).parent / "results" / "latency.json"
PAGE = RESULTS.with_suffix(".md")
THREADS, N_TRAINED, N_TREES = 1, 10_000, 100
ROUNDS = {1: 300, 100: 60, 10_000: 5}
"""Rounds for each number of rows."""


def demo_model() -> tuple[walkconv.GraphCNNClassifier, np.ndarray, np.ndarray]:
    """Return the network of the demo, and the shuffled pixels with their digits."""
    mnist = walkconv.datasets.load_mnist()
    varying = np.random.default_rng(0).permutation(np.flatnonzero(np.ptp(mnist.X_train, axis=0)))
    X = np.asarray(mnist.X_train[:, varying], dtype=np.float32) / np.float32(255)
    model = walkconv.GraphCNNClassifier("C20", n_neighbors=6, max_iter=1, random_state=0)
    return model.fit(X[:N_TRAINED], mnist.y_train[:N_TRAINED]), X, mnist.y_train


def contestants(
    model: walkconv.GraphCNNClassifier, X: np.ndarray, y: np.ndarray
) -> dict[str, Callable[[np.ndarray], object]]:
    """Return the ways to predict rows (n, n_columns), float32."""
    module = model.to_torch()
    plain = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    ).requires_grad_(False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    with tempfile.TemporaryDirectory() as folder:
        model.to_onnx(f"{folder}/demo.onnx")
        session = onnxruntime.InferenceSession(f"{folder}/demo.onnx", options)
    trees = lightgbm.LGBMClassifier(n_estimators=N_TREES, n_jobs=THREADS, verbose=-1)
    booster = trees.fit(X[:N_TRAINED], y[:N_TRAINED]).booster_

    def through_torch(network: torch.nn.Module) -> Callable[[np.ndarray], object]:
        return lambda rows: network(torch.from_numpy(rows)).numpy()

    return {
        "walkconv `predict_proba`": model.predict_proba,
        "walkconv `to_torch`": through_torch(module),
        "walkconv `to_onnx`, onnxruntime": lambda rows: session.run(None, {"X": rows}),
        f"LightGBM, {N_TREES} trees for each of 10 classes": lambda rows: booster.predict(
            rows, num_threads=THREADS
        ),
        "torch, Linear(128)-ReLU-Linear(10), no scaling": through_torch(plain),
    }


def page(results: dict) -> str:
    """Return the results as Markdown."""
    sizes = list(results["seconds"])
    ways = list(results["seconds"][sizes[0]])
    lines = [[way, *(_shown(results["seconds"][n][way], int(n)) for n in sizes)] for way in ways]
    header = ["", *("1 row" if n == "1" else f"{int(n):,} rows" for n in sizes)]
    parts = [
        "# Latency: what was measured",
        "Written by `make bench-latency` from `latency.json`. The network of `make demo`: C20 with "
        f"6 neighbours on {results['n_columns']} pixels of MNIST. One thread. Medians of calls "
        "that took turns, from a numpy array to a numpy array; in brackets rows per second. "
        "`predict_proba` cuts a table into batches of 128 rows, the others take it at once.",
        table(header, lines),
        origin(results["made_with"]),
    ]
    return "\n\n".join(parts) + "\n"


def _shown(seconds: float, n_rows: int) -> str:
    time = f"{1e3 * seconds:.3f} ms" if seconds < 0.01 else f"{1e3 * seconds:.0f} ms"
    return time if n_rows == 1 else f"{time} ({n_rows / seconds:,.0f})"


def main() -> None:
    """Measure, print the page and write it."""
    torch.set_num_threads(THREADS)
    made_with = provenance("onnxruntime", "lightgbm")
    model, X, y = demo_model()
    ways = contestants(model, X, y)
    measured = {}
    for n_rows, rounds in ROUNDS.items():
        rows = np.ascontiguousarray(X[-n_rows:])
        calls = {name: lambda way=way, rows=rows: way(rows) for name, way in ways.items()}
        measured[str(n_rows)] = interleaved(calls, rounds)
    results = {"made_with": made_with, "n_columns": X.shape[1], "seconds": measured}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
