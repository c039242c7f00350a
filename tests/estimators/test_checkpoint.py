"""A fit that was stopped and called again ends like one that never was."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from walkconv import GraphCNNRegressor, grid_graph
from walkconv.models.training import Training
from walkconv.persistence import ModelFileError, read_file, write_file

VARIANTS = {
    "adamw": {},
    "adam": {"solver": "adam"},
    "rmsprop without normalization": {"solver": "rmsprop", "normalization": None},
    "members": {"n_members": 3, "max_iter": 4},
    "early stopping": {"early_stopping": True, "n_iter_no_change": 3, "max_iter": 20},
    "given graph": {"graph": grid_graph((7,)), "dropout": 0.5},
    "pooling": {"architecture": "C3-P2-C2", "ties": "random"},
    "positions": {"ties": np.arange(7.0)[:, None]},
}


class PowerCutError(Exception):
    """The lights went out."""


def fail_after(monkeypatch, n_epochs):
    """Let the process end, as far as fit is concerned, after some epochs."""
    run_epoch, done = Training.run_epoch, []

    def run(self, *arguments):
        if len(done) == n_epochs:
            raise PowerCutError
        done.append(self.epoch)
        run_epoch(self, *arguments)

    monkeypatch.setattr(Training, "run_epoch", run)


def fit_and_stop(model, X, y, n_epochs):
    with pytest.MonkeyPatch.context() as patch:
        fail_after(patch, n_epochs)
        with pytest.raises(PowerCutError):
            clone(model).fit(X, y)


def weights(model):
    arrays = [t.numpy().ravel() for m in model.modules_ for t in m.state_dict().values()]
    return np.concatenate(arrays)


def without_seconds(history):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stopped_fit_continues_exactly(regressor, table, values, variant, tmp_path):
    regressor.set_params(**VARIANTS[variant])
    expected = clone(regressor).fit(table, values)
    regressor.set_params(checkpoint=tmp_path / "c.safetensors")
    for n_epochs in (1, 0, 2, 3):
        fit_and_stop(regressor, table, values, n_epochs)
    found = clone(regressor).fit(table, values)
    np.testing.assert_array_equal(weights(found), weights(expected))
    assert without_seconds(found.history_) == without_seconds(expected.history_)
    np.testing.assert_array_equal(found.predict(table), expected.predict(table))


def test_a_finished_fit_is_not_repeated(regressor, table, values, tmp_path, monkeypatch):
    regressor.set_params(checkpoint=tmp_path / "c.safetensors", n_members=2, max_iter=3)
    first = clone(regressor).fit(table, values)
    fail_after(monkeypatch, 0)
    again = clone(regressor).fit(table, values)
    np.testing.assert_array_equal(weights(again), weights(first))
    assert again.history_ == first.history_


def test_without_a_seed_the_file_keeps_it(regressor, table, values, tmp_path):
    regressor.set_params(checkpoint=tmp_path / "c.safetensors", random_state=None)
    regressor.set_params(early_stopping=True)
    fit_and_stop(regressor, table, values, 2)
    _, settings = read_file(tmp_path / "c.safetensors", "checkpoint")
    found = clone(regressor).fit(table, values)
    assert read_file(tmp_path / "c.safetensors", "checkpoint")[1]["seed"] == settings["seed"]
    assert without_seconds(found.history_[:2]) == without_seconds(settings["members"][0]["history"])


@pytest.fixture
def stopped(regressor, table, values, tmp_path):
    """A regressor with a checkpoint of two epochs."""
    regressor.set_params(checkpoint=tmp_path / "c.safetensors")
    fit_and_stop(regressor, table, values, 2)
    return regressor


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.5}, "learning_rate was 0.02 and is 0.5"),
        ({"architecture": "C3"}, "architecture was 'C3-FC8' and is 'C3'"),
        ({"max_iter": 13}, "max_iter was 12 and is 13"),
        ({"random_state": 1}, "random_state was 0 and is 1"),
        ({"graph": "knn"}, "graph was 'correlation' and is 'knn'"),
        ({"graph": np.eye(7)}, "graph has changed"),
        ({"ties": "random"}, "ties was 'index' and is 'random'"),
        ({"ties": np.zeros((7, 1))}, "ties has changed"),
        ({"pooling": "mean"}, "pooling was 'max' and is 'mean'"),
    ],
)
def test_other_arguments_are_refused(stopped, table, values, changes, message):
    with pytest.raises(ValueError, match=f"belongs to another fit: {message}. Call fit with the"):
        stopped.set_params(**changes).fit(table, values)


def test_other_data_is_refused(stopped, table, values):
    table[3, 3] += 1e-9
    with pytest.raises(ValueError, match="another fit: X has changed"):
        stopped.fit(table, values)
    table[3, 3] -= 1e-9
    with pytest.raises(ValueError, match="another fit: validation_data has changed"):
        stopped.fit(table, values, validation_data=(table, values))
    with pytest.raises(ValueError, match="another fit: weight has changed"):
        stopped.fit(table, values, sample_weight=np.arange(1, 61))
    with pytest.raises(ValueError, match="another fit: y has changed"):
        stopped.fit(table, values + np.arange(60))


def test_what_changes_no_weight_may_change(stopped, table, values):
    expected = clone(stopped).set_params(checkpoint=None).fit(table, values)
    found = stopped.set_params(verbose=1, device="cpu", checkpoint=str(stopped.checkpoint))
    np.testing.assert_array_equal(weights(found.fit(table, values)), weights(expected))


def test_spoiled_checkpoints_are_refused(stopped, table, values):
    path = Path(stopped.checkpoint)
    arrays, settings = read_file(path, "checkpoint")
    for change in (
        lambda a, s: a.pop(next(name for name in a if "weights" in name)),
        lambda a, s: a.update({next(n for n in a if "solver" in n): np.zeros(99)}),
        lambda a, s: a.update({"member.0.other.x": np.zeros(1)}),
        lambda a, s: s.pop("members"),
        lambda a, s: s.pop("identity"),
        lambda a, s: s.update(members=[{}]),
        lambda a, s: s.update(members=s["members"] * 2),
    ):
        spoiled, told = dict(arrays), dict(settings)
        change(spoiled, told)
        write_file(path, "checkpoint", spoiled, told)
        with pytest.raises(ModelFileError, match=r"^c.safetensors"):
            clone(stopped).fit(table, values)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelFileError, match="cut short"):
        stopped.fit(table, values)


def test_a_checkpoint_does_not_go_with_a_warm_start(stopped, table, values):
    with pytest.raises(ValueError, match="checkpoint and warm_start do not go together"):
        stopped.set_params(warm_start=True).fit(table, values)


KILLED = """
import json, os, random, signal, sys, time
import numpy as np, torch
from walkconv import GraphCNNRegressor
from walkconv.persistence import read_file

torch.set_num_threads(1)  # a process with threads must not fork
X = np.random.default_rng(0).normal(size=(40, 6))
y = X @ np.arange(6)

def fit(checkpoint, model):
    settings = {"n_members": 1, "max_iter": 120, "batch_size": 16}
    settings |= {"early_stopping": True, "n_iter_no_change": 120}
    estimator = GraphCNNRegressor("FC8", checkpoint=checkpoint, random_state=0, **settings)
    estimator.fit(X, y).save(model)

def start(*arguments):
    child = os.fork()
    if child:
        return child
    fit(*arguments)
    os._exit(0)

fit(None, "expected")  # loads all there is to load, once for all children

def stamp():
    return os.stat("c").st_mtime_ns if os.path.exists("c") else 0

moments, n_kills, n_grown = random.Random(0), 0, 0
while n_kills < 22 and not os.path.exists("found"):
    before = seen = stamp()
    child = start("c", "found")
    for _ in range(moments.randint(0, 4)):  # so many epochs, then a moment in the next
        while (now := stamp()) == seen and not os.path.exists("found"):
            time.sleep(0.0005)
        seen = now
    time.sleep(moments.uniform(0.0, 0.02))
    os.kill(child, signal.SIGKILL)
    n_kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    n_grown += stamp() != before
n_epochs = len(read_file("c", "checkpoint")[1]["members"][0]["history"])
assert os.waitpid(start("c", "found"), 0)[1] == 0
expected, found = (read_file(name, "model")[0] for name in ("expected", "found"))
print(json.dumps({
    "n_kills": n_kills,
    "n_grown": n_grown,
    "n_epochs": n_epochs,
    "is_same": all(np.array_equal(expected[name], found[name]) for name in expected),
    "files": sorted(os.listdir(".")),
}))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_at_any_moment_continues_exactly(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    outcome = json.loads(run.stdout)
    assert outcome["n_kills"] >= 20
    assert outcome["n_grown"] >= 10
    assert outcome["n_epochs"] < 120
    assert outcome["is_same"]
    assert outcome["files"] == ["c", "expected", "found"]


def test_a_checkpoint_is_no_model(stopped):
    assert isinstance(stopped, GraphCNNRegressor)
    with pytest.raises(ModelFileError, match="must be a model; it is a checkpoint"):
        read_file(stopped.checkpoint, "model")


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_first_epoch(
    regressor, table, values, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("no folder")
    fail_after(monkeypatch, 0)
    regressor.set_params(checkpoint=tmp_path / "file" / "checkpoint")
    with pytest.raises(OSError, match="checkpoint"):
        regressor.fit(table, values)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
