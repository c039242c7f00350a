"""A fit that was stopped and called again ends like one that never was."""

import json
import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone

from walkconv import GraphCNNRegressor, grid_graph, knn_graph
from walkconv.persistence import ModelFileError, read_file, write_file
from walkconv.training.loop import Training

VARIANTS = {
    "adamw": {},
    "adam": {"solver": "adam", "schedule": "constant"},
    "rmsprop without normalization": {
        "solver": "rmsprop",
        "schedule": "constant",
    },
    "members": {"n_members": 3, "max_iter": 4},
    "early stopping": {"early_stopping": 3, "max_iter": 20},
    "given graph": {"graph": grid_graph((7,)), "dropout": 0.5},
    "pooling": {"architecture": "C3-P2-C2"},
    "positions": {"order": np.arange(7.0)[:, None]},
}
RARE = {
    "pooling": {"ties": "random"},
    "rmsprop without normalization": {"normalization": None},
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


def fit_and_stop(model, X, y, n_epochs, path):
    with pytest.MonkeyPatch.context() as patch:
        fail_after(patch, n_epochs)
        with pytest.raises(PowerCutError):
            clone(model).fit(X, y, checkpoint=path)


def weights(model):
    arrays = [t.numpy().ravel() for m in model.modules_ for t in m.state_dict().values()]
    return np.concatenate(arrays)


def without_seconds(history):
    return [{k: v for k, v in record.items() if k != "seconds"} for record in history]


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_stopped_fit_continues_exactly(
    regressor, table, values, variant, tmp_path, with_attributes
):
    regressor = with_attributes(regressor.set_params(**VARIANTS[variant]), **RARE.get(variant, {}))
    expected = clone(regressor).fit(table, values)
    path = tmp_path / "c.safetensors"
    for n_epochs in (1, 0, 2, 3):
        fit_and_stop(regressor, table, values, n_epochs, path)
    found = clone(regressor).fit(table, values, checkpoint=path)
    np.testing.assert_array_equal(weights(found), weights(expected))
    assert without_seconds(found.history_) == without_seconds(expected.history_)
    np.testing.assert_array_equal(found.predict(table), expected.predict(table))


def test_a_finished_fit_is_not_repeated(regressor, table, values, tmp_path, monkeypatch):
    regressor.set_params(n_members=2, max_iter=3)
    path = tmp_path / "c.safetensors"
    first = clone(regressor).fit(table, values, checkpoint=path)
    fail_after(monkeypatch, 0)
    again = clone(regressor).fit(table, values, checkpoint=path)
    np.testing.assert_array_equal(weights(again), weights(first))
    assert again.history_ == first.history_


def test_without_a_seed_the_file_keeps_it(regressor, table, values, tmp_path):
    regressor.set_params(early_stopping=True, random_state=None)
    path = tmp_path / "c.safetensors"
    fit_and_stop(regressor, table, values, 2, path)
    _, settings = read_file(path, "checkpoint")
    found = clone(regressor).fit(table, values, checkpoint=path)
    assert read_file(path, "checkpoint")[1]["seed"] == settings["seed"]
    assert without_seconds(found.history_[:2]) == without_seconds(settings["members"][0]["history"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "c.safetensors"


@pytest.fixture
def stopped(regressor, table, values, path):
    """A regressor whose fit has left a checkpoint of two epochs."""
    fit_and_stop(regressor, table, values, 2, path)
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
        (
            {"graph": partial(knn_graph, n_neighbors=2)},
            "graph was 'correlation' and is .*knn_graph",
        ),
    ],
)
def test_other_arguments_are_refused(stopped, table, values, path, changes, message):
    with pytest.raises(ValueError, match=f"belongs to another fit: {message}.*Call fit with the"):
        stopped.set_params(**changes).fit(table, values, checkpoint=path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ties": "random"}, "ties was 'index' and is 'random'"),
        ({"ties": np.zeros((7, 1))}, "ties has changed"),
        ({"weighting": "signed_visits"}, "weighting was 'rank' and is 'signed_visits'"),
        ({"conv_dropped": "values"}, "conv_dropped was 'nodes' and is 'values'"),
        ({"normalization": None}, "normalization was 'batch' and is None"),
    ],
)
def test_other_class_attributes_are_refused(
    stopped, table, values, path, changes, message, with_attributes
):
    other = with_attributes(stopped, **changes)
    with pytest.raises(ValueError, match=f"belongs to another fit: {message}. Call fit with the"):
        other.fit(table, values, checkpoint=path)


def test_another_number_of_a_loss_is_refused(regressor, table, values, path):
    regressor.set_params(loss=("quantile", 0.9), max_iter=1).fit(table, values, checkpoint=path)
    regressor.fit(table, values, checkpoint=path)
    message = r"another fit: loss was \['quantile', 0.9\] and is \['quantile', 0.8\]"
    with pytest.raises(ValueError, match=message):
        regressor.set_params(loss=("quantile", 0.8)).fit(table, values, checkpoint=path)


def test_other_data_is_refused(stopped, table, values, path):
    table[3, 3] += 1e-9
    with pytest.raises(ValueError, match="another fit: X has changed"):
        stopped.fit(table, values, checkpoint=path)
    table[3, 3] -= 1e-9
    with pytest.raises(ValueError, match="another fit: validation_data has changed"):
        stopped.fit(table, values, checkpoint=path, validation_data=(table, values))
    with pytest.raises(ValueError, match="another fit: weight has changed"):
        stopped.fit(table, values, np.arange(1, 61), checkpoint=path)
    with pytest.raises(ValueError, match="another fit: y has changed"):
        stopped.fit(table, values + np.arange(60), checkpoint=path)


def test_what_changes_no_weight_may_change(stopped, table, values, path):
    expected = clone(stopped).fit(table, values)
    found = stopped.set_params(verbose=1, device="cpu").fit(table, values, checkpoint=str(path))
    np.testing.assert_array_equal(weights(found), weights(expected))


def test_spoiled_checkpoints_are_refused(stopped, table, values, path):
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
            clone(stopped).fit(table, values, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(ModelFileError, match="cut short"):
        stopped.fit(table, values, checkpoint=path)


def test_a_checkpoint_does_not_go_with_a_warm_start(stopped, table, values, path):
    with pytest.raises(ValueError, match="checkpoint and warm_start do not go together"):
        stopped.set_params(warm_start=True).fit(table, values, checkpoint=path)


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
    settings |= {"early_stopping": 120}
    estimator = GraphCNNRegressor("FC8", random_state=0, **settings)
    estimator.fit(X, y, checkpoint=checkpoint).save(model)

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


def test_a_checkpoint_is_no_model(stopped, path):
    assert isinstance(stopped, GraphCNNRegressor)
    with pytest.raises(ModelFileError, match="must be a model; it is a checkpoint"):
        read_file(path, "model")


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_first_epoch(
    regressor, table, values, tmp_path, monkeypatch
):
    (tmp_path / "file").write_text("no folder")
    fail_after(monkeypatch, 0)
    with pytest.raises(OSError, match="checkpoint"):
        regressor.fit(table, values, checkpoint=tmp_path / "file" / "checkpoint")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_checkpoint_belongs_to_the_graph_that_a_callable_returned(tmp_path, table, values):
    def learner(n_neighbors):
        return lambda X: knn_graph(X, n_neighbors=n_neighbors)

    def fit(n_neighbors):
        model = GraphCNNRegressor("C2", graph=learner(n_neighbors), max_iter=1, random_state=0)
        return model.fit(table, values, checkpoint=tmp_path / "stopped.ckpt")

    np.testing.assert_array_equal(weights(fit(2)), weights(fit(2)))
    with pytest.raises(ValueError, match="belongs to another fit: graph has changed"):
        fit(3)


def test_a_second_fit_on_one_checkpoint_is_refused_and_the_first_goes_on(
    regressor, table, values, path
):
    other = clone(regressor).set_params(learning_rate=0.5)

    def fit_beside(model):
        with pytest.raises(BlockingIOError, match="must have one user at a time"):
            clone(other).fit(table, values, checkpoint=path)

    found = clone(regressor).fit(table, values, checkpoint=path, after_epoch=fit_beside)
    np.testing.assert_array_equal(weights(found), weights(clone(regressor).fit(table, values)))
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_another_number_of_threads_is_refused_as_the_last_bits_depend_on_it(
    stopped, table, values, path
):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(before + 1)
        message = rf"threads of torch \(torch.set_num_threads\) was {before} and is {before + 1}"
        with pytest.raises(ValueError, match=message):
            stopped.fit(table, values, checkpoint=path)
    finally:
        torch.set_num_threads(before)


SPOILED = {
    "NaN weights": lambda a, s: _each(a, "weight", lambda x: x * np.nan),
    "NaN moments": lambda a, s: _each(a, "exp_avg_sq", lambda x: x * np.nan),
    "negative squares": lambda a, s: _each(a, "exp_avg_sq", lambda x: x - 9),
    "no steps": lambda a, s: _each(a, ".step", lambda x: x * 0),
    "other moments": lambda a, s: a.pop("member.0.solver.0.exp_avg"),
    "moments of no weight": lambda a, s: a.update({"member.0.solver.99.step": np.float32(1)}),
    "huge seed": lambda a, s: s.update(seed=10**30),
    "negative seed": lambda a, s: s.update(seed=-1),
    "infinite epoch": lambda a, s: s["members"][0].update(best_epoch=float("inf")),
    "epoch to come": lambda a, s: s["members"][0].update(best_epoch=9),
    "history of another member": lambda a, s: s["members"][0]["history"][0].update(member=1),
    "history without a loss": lambda a, s: s["members"][0]["history"][0].pop("loss"),
    "long history": lambda a, s: s["members"][0].update(history=[{}] * 99),
}


def _each(arrays, part, change):
    for name in arrays:
        if part in name and arrays[name].dtype.kind == "f":
            arrays[name] = change(arrays[name]).astype(arrays[name].dtype)


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_checkpoint_of_impossible_values_is_refused(stopped, table, values, path, spoiled):
    arrays, content = read_file(path, "checkpoint")
    arrays = {name: array.copy() for name, array in arrays.items()}
    SPOILED[spoiled](arrays, content)
    write_file(path, "checkpoint", arrays, content)
    with pytest.raises(ModelFileError, match=r"^c.safetensors (does not fit|is not a whole)"):
        stopped.fit(table, values, checkpoint=path)
