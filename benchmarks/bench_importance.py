"""How well rankings of columns find those that matter: `make bench-importance`.

On tables of which it is known which columns matter, `importance` stands beside permutation
importance and a random order. Two scores: the area under the ROC curve of telling relevant columns,
and the rise of the loss on test rows, averaged while columns are shuffled, most important first.
Writes `results/importance.json` after every kind of table.
"""

import json
import time
from pathlib import Path

import numpy as np
from machine import provenance
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score

import walkconv as wc

RESULTS = Path(__file__).parent / "results" / "importance.json"
N_TRAIN, N_TEST, N_COLUMNS, N_SEEDS = 400, 200, 60, 3
NETWORK = {"architecture": "C8-FC128", "dropout": 0.2, "learning_rate": 3e-3, "n_members": 2}
KINDS = ("independent", "chain", "blocks", "classes")


def make(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and which columns matter, bool."""
    rng = np.random.default_rng([seed, *kind.encode()])
    n_rows = N_TRAIN + N_TEST
    X, noise = rng.normal(size=(n_rows, N_COLUMNS)), rng.normal(size=n_rows)
    if kind == "independent":
        relevant = [3, 10, 20, 30, 40]
        y = X[:, relevant] @ [3, 2, 1.5, 1, 0.7] + noise
    elif kind == "chain":
        X, relevant = X.cumsum(axis=1), [10, 11, 30, 31, 50]
        y = 2 * np.abs(X[:, 10] - X[:, 11]) + 0.1 * X[:, 30] * X[:, 31] + 0.3 * X[:, 50]
        y += 0.5 * noise
    elif kind == "blocks":
        relevant = [*range(5), *range(20, 25)]
        X = np.repeat(rng.normal(size=(n_rows, 12)), 5, axis=1) + 0.5 * X
        y = 3 * X[:, :5].mean(axis=1) + 3 * np.maximum(X[:, 20:25].mean(axis=1), 0) + noise
    else:
        relevant = [1, 2, 30, 31]
        score = X[:, 1] - X[:, 2] + 2 * np.tanh(X[:, 30] + X[:, 31])
        y = np.where(score + 0.5 * noise > 0, "high", "low")
    return X, y, np.isin(np.arange(N_COLUMNS), relevant)


def loss(
    model: wc.GraphCNNClassifier | wc.GraphCNNRegressor, X: np.ndarray, y: np.ndarray
) -> float:
    """Return the loss on some rows: cross-entropy, or squared error over the variance of y."""
    if isinstance(model, wc.GraphCNNClassifier):
        return log_loss(y, model.predict_proba(X), labels=model.classes_)
    return mean_squared_error(y, model.predict(X)) / y.var()


def rise(model: wc.GraphCNNClassifier | wc.GraphCNNRegressor, X, y, order, rng) -> float:
    """Return the mean rise of the loss while columns are shuffled in an order, three at a time."""
    shuffled, changed, losses = X[rng.permutation(len(X))], X.copy(), []
    for start in range(0, len(order), 3):
        some = order[start : start + 3]
        changed[:, some] = shuffled[:, some]
        losses.append(loss(model, changed, y))
    return float(np.mean(losses) - loss(model, X, y))


def measure(kind: str, seed: int) -> list[dict]:
    """Return the scores of the rankings on one table."""
    X, y, is_relevant = make(kind, seed)
    estimator = wc.GraphCNNClassifier if kind == "classes" else wc.GraphCNNRegressor
    model = estimator(**NETWORK, random_state=seed).fit(X[:N_TRAIN], y[:N_TRAIN])
    X, y = X[N_TRAIN:], y[N_TRAIN:]
    rng, found = np.random.default_rng(seed), []
    for name in ("attribution", "permutation", "random order"):
        started = time.perf_counter()
        if name == "attribution":
            ranking = model.importance(X)
            worth = np.empty(N_COLUMNS)
            worth[ranking["column"].cast(int).to_numpy()] = ranking["importance"].to_numpy()
        elif name == "permutation":
            permuted = permutation_importance(model, X, y, n_repeats=3, random_state=seed)
            worth = permuted.importances_mean
        else:
            worth = rng.random(N_COLUMNS)
        seconds = time.perf_counter() - started
        found.append(
            {
                "kind": kind,
                "seed": seed,
                "ranking": name,
                "auc": float(roc_auc_score(is_relevant, worth)),
                "rise": rise(model, X, y, np.argsort(-worth), np.random.default_rng(0)),
                "seconds": seconds,
            }
        )
    return found


def main() -> None:
    """Measure all kinds of tables."""
    records: list[dict] = []
    for kind in KINDS:
        for seed in range(N_SEEDS):
            records += measure(kind, seed)
        for name in ("attribution", "permutation", "random order"):
            some = [r for r in records if r["kind"] == kind and r["ranking"] == name]
            auc, up = (np.mean([each[score] for each in some]) for score in ("auc", "rise"))
            print(f"{kind:12} {name:13} AUC {auc:.3f}  rise {up:.3f}", flush=True)
        content = {**provenance("scikit-learn"), "network": NETWORK, "tables": records}
        RESULTS.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
