"""Processes that fit together end with the model of one process.

The file is also the script that they run: alone, in two processes of which one is killed, and in
two once more.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from walkconv import (
    GraphCNNClassifier,
    GraphCNNRegressor,
    GraphSample,
    graph_from_edges,
    join_processes,
)

pytestmark = pytest.mark.slow

COMMON = {
    "architecture": "C4-FC6",
    "n_neighbors": 3,
    "n_members": 1,
    "max_iter": 3,
    "learning_rate": 0.02,
    "random_state": 0,
}


class Classifier(GraphCNNClassifier):
    normalization = None


class Regressor(GraphCNNRegressor):
    normalization = None


class DropsValues(Classifier):
    conv_dropped = "values"


VARIANTS = {
    "plain with dropout": (
        Classifier,
        {
            "architecture": "C6-C6-FC8",
            "dropout": 0.5,
            "conv_dropout": 0.3,
            "batch_size": 15,
        },
    ),
    "batch norm and pooling": (
        GraphCNNRegressor,
        {
            "architecture": "C4-P2-C4-FC8",
            "dropout": 0.2,
            "conv_dropout": 0.2,
            "batch_size": 7,
        },
    ),
    "class weights, rmsprop and single values": (
        DropsValues,
        {
            "class_weight": "balanced",
            "solver": "rmsprop",
            "schedule": "constant",
            "learning_rate": 0.001,
            "conv_dropout": 0.2,
        },
    ),
    "early stopping": (
        Classifier,
        {"early_stopping": 1, "max_iter": 9, "learning_rate": 0.1},
    ),
    "members": (Regressor, {"n_members": 2, "max_iter": 2}),
    "missing values": (Regressor, {}),
    "shifted rows": (
        Regressor,
        {"order": np.arange(9.0)[:, None], "shift": 1},
    ),
    "supervised graph": (Classifier, {"graph": "supervised", "max_iter": 1}),
    "graphs": (
        GraphCNNRegressor,
        {
            "architecture": "C6-P2-C6-G-FC6",
            "conv_dropout": 0.2,
            "batch_size": 11,
        },
    ),
    "a search": (
        Classifier,
        {"architecture": "auto", "graph": "supervised", "max_iter": 1, "n_neighbors": "auto"},
    ),
    "no seed": (Regressor, {"random_state": None, "max_iter": 1}),
}
HAS_ONE_CURVE = [name for name in VARIANTS if name != "no seed"]
HAS_ONE_PREDICTION = [name for name in HAS_ONE_CURVE if VARIANTS[name][0].normalization is None]
"""The gradient of a bias before batch normalisation is rounding, and Adam makes whole steps of it;
the running mean follows, late, so that predictions differ after a few epochs and losses do not."""
KILLED_IN = 2


def make_data(name):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(33, 9)).cumsum(axis=1)
    y = X[:, 2] * X[:, 4] + X[:, 0]
    if name == "missing values":
        X[::9, 3] = np.nan
    if issubclass(VARIANTS[name][0], GraphCNNClassifier):
        y = np.digitize(y, [-1, 2])
    if name == "graphs":
        sizes = rng.integers(3, 12, size=len(y))
        X = [
            GraphSample(
                graph_from_edges(rng.integers(n, size=(2, 2 * n)), n_nodes=n), rng.normal(size=n)
            )
            for n in sizes
        ]
    weight = rng.random(len(y)) if "pooling" in name else None
    return X, y, weight


def describe(model, X):
    states = [
        tensor.numpy() for module in model.modules_ for tensor in module.state_dict().values()
    ]
    return {
        "losses": [record["loss"] for record in model.history_],
        "scores": [record.get("validation_score") for record in model.history_],
        "weights": hashlib.sha256(b"".join(array.tobytes() for array in states)).hexdigest(),
        "predictions": np.asarray(model._outputs(X)).tolist(),
    }


def fit(name, checkpoint=None, after_epoch=None):
    kind, settings = VARIANTS[name]
    X, y, weight = make_data(name)
    model = kind(**{**COMMON, **settings})
    model.fit(X, y, weight, checkpoint=checkpoint, after_epoch=after_epoch)
    return describe(model, X)


def main(folder, *words):
    """Fit one variant with a checkpoint, to its end or until one process is killed, then all."""
    checkpoint, ran = Path(folder, "checkpoint.safetensors"), []

    def after_epoch(model):
        ran.append(len(model.history_))
        if words == ("kill",) and processes.is_first and len(ran) == KILLED_IN:
            os.kill(os.getpid(), signal.SIGKILL)

    with join_processes() as processes:
        found = {"killed": fit(HAS_ONE_CURVE[1], checkpoint, after_epoch), "ran": ran}
        found |= {name: fit(name) for name in VARIANTS}
    Path(folder, f"{processes.rank}.json").write_text(json.dumps(found))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    subprocess.run([sys.executable, __file__, folder], check=True)
    return json.loads((folder / "0.json").read_text())


@pytest.fixture(scope="module")
def together(run_together, tmp_path_factory):
    folder = tmp_path_factory.mktemp("together")
    killed = run_together(__file__, folder, "kill")
    assert killed.returncode == 1, killed.stderr
    assert "SIGKILL" in killed.stderr, killed.stderr
    done = run_together(__file__, folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        "0.json",
        "1.json",
        "checkpoint.safetensors",
    ]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("name", HAS_ONE_CURVE)
def test_the_losses_and_scores_are_those_of_one_process(alone, together, name):
    expected, found = alone[name], together[0][name]
    assert len(set(expected["losses"])) == len(expected["losses"])
    np.testing.assert_allclose(found["losses"], expected["losses"], rtol=1e-5)
    assert found["scores"] == expected["scores"]


@pytest.mark.parametrize("name", HAS_ONE_PREDICTION)
def test_the_predictions_are_those_of_one_process(alone, together, name):
    np.testing.assert_allclose(
        together[0][name]["predictions"], alone[name]["predictions"], rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_every_process_has_the_same_weights_to_the_bit(together, name):
    assert len({outcome[name]["weights"] for outcome in together}) == 1


def test_training_stopped_early(alone):
    assert len(alone["early stopping"]["losses"]) < 9


def test_a_killed_fit_that_is_started_again_ends_like_one_that_was_not(together):
    for outcome in together:
        assert outcome["ran"] == [KILLED_IN, KILLED_IN + 1]  # what had been done was not repeated
        assert outcome["killed"] == outcome[HAS_ONE_CURVE[1]]


if __name__ == "__main__":
    main(*sys.argv[1:])
