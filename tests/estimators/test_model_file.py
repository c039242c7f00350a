"""save, load, and what a changed file can do: nothing."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import walkconv
from walkconv import grid_graph
from walkconv.persistence import ModelFileError, read_file, write_file

VARIANTS = {
    "plain": {},
    "members": {"n_members": 2},
    "no graph": {"architecture": "FC8", "graph": None},
    "linear": {"architecture": ""},
    "given graph": {"graph": grid_graph((7,)), "n_steps": "auto"},
    "two layers": {"architecture": "C3-C2", "graph": "knn"},
    "loss with a number": {"loss": ("quantile", 0.9)},
    "pooled": {"architecture": "C3-P2mean-C2-P2-FC4", "n_steps": 2},
    "pooled first": {"architecture": "P2-C2"},
    "given positions": {"architecture": "C3-P2-C3", "order": np.arange(14.0).reshape(7, 2)},
    "path and generator": {"random_state": np.random.RandomState(0), "dropout": np.float64(0.1)},
}


def round_trip(model, folder):
    path = folder / "model.safetensors"
    model.save(path)
    return walkconv.load(path)


@pytest.mark.parametrize("variant", VARIANTS)
def test_predictions_are_the_same_bit_for_bit(regressor, table, values, variant, tmp_path):
    model = regressor.set_params(**VARIANTS[variant]).fit(table, values)
    loaded = round_trip(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded.history_ == [{k: r[k] for k in r if k != "seconds"} for r in model.history_]
    for name in ("n_iter_", "n_parameters_", "n_features_in_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert len(loaded.levels_) == len(model.levels_)
    for ours, theirs in zip(loaded.levels_, model.levels_, strict=True):
        np.testing.assert_array_equal(ours.groups, theirs.groups)
        for name in ("index", "visits", "sign", "n_steps"):
            np.testing.assert_array_equal(
                getattr(ours.neighbors, name, None), getattr(theirs.neighbors, name, None)
            )
    assert loaded.neighbors_ is (loaded.levels_[0].neighbors if loaded.levels_ else None)
    again = clone(loaded).set_params(random_state=0).fit(table, values)
    expected = clone(model).set_params(random_state=0).fit(table, values)
    np.testing.assert_array_equal(again.predict(table), expected.predict(table))


@pytest.mark.parametrize(
    "changed",
    [
        {"architecture": "C5"},
        {"architecture": "C3-P2mean-C2"},
        {"order": "direction"},
        {"graph": np.eye(7)},
        {"soft_clip": 0.1},
        {"shift": 1},
        {"solver": "nonsense"},
    ],
    ids=str,
)
def test_settings_that_are_changed_after_a_fit_wait_for_the_next(
    regressor, table, values, changed, tmp_path
):
    model = regressor.set_params(architecture="C3-P2-C2").fit(table, values)
    expected = model.predict(table)
    model.set_params(**changed)
    np.testing.assert_array_equal(model.predict(table), expected)
    loaded = round_trip(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(table), expected)
    assert loaded.architecture == "C3-P2-C2"
    assert loaded.graph == "correlation"


def test_a_file_without_normalization_is_refused(regressor, table, values, tmp_path):
    path = tmp_path / "model.safetensors"
    regressor.fit(table, values).save(path)
    arrays, content = read_file(path, "model")
    content["parameters"]["normalization"] = None
    write_file(path, "model", arrays, content)
    with pytest.raises(ModelFileError, match=r"normalization must be 'batch'.* got None"):
        walkconv.load(path)


def test_a_subclass_is_not_written_since_it_could_not_be_read(table, values, tmp_path):
    class Other(walkconv.GraphCNNRegressor):
        def make_network(self, plan):
            linear = torch.nn.Linear(plan.n_nodes, plan.n_outputs)
            return torch.nn.Sequential(torch.nn.Flatten(), linear)

    model = Other(max_iter=1).fit(table, values)
    with pytest.raises(TypeError, match=r"GraphCNNRegressor.*; got Other.*state_dict"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())


def test_a_subclass_may_have_settings_of_its_own(table, values):
    class Wide(walkconv.GraphCNNRegressor):
        def __init__(self, width=16):
            super().__init__(f"C{width}", max_iter=2)
            self.width = width

    model = Wide(width=3).fit(table, values)
    assert np.isfinite(model.predict(table)).all()
    assert model.module_.convolutions[0].c_out == 3


def test_what_else_is_written_on_a_model_is_not_in_its_file(regressor, table, values, tmp_path):
    regressor.note = "mine"
    loaded = round_trip(regressor.fit(table, values), tmp_path)
    assert not hasattr(loaded, "note")


def test_of_a_graph_the_file_holds_what_was_given_and_used(regressor, table, values, tmp_path):
    line = grid_graph((7,))
    given = round_trip(regressor.set_params(graph=line, max_iter=1).fit(table, values), tmp_path)
    np.testing.assert_array_equal(given.graph_.toarray(), line.toarray())
    assert given.graph is given.graph_
    unused = round_trip(regressor.set_params(architecture="FC8").fit(table, values), tmp_path)
    assert unused.graph is unused.graph_ is None
    learned = regressor.set_params(architecture="C3", graph="knn").fit(table, values)
    learned = round_trip(learned, tmp_path)
    assert (learned.graph, learned.graph_) == ("knn", None)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["low", "high"]),
        np.array(["low", "high"], dtype=object),
        np.array([-1, 7]),
        np.array([1.0, 2.0]),
        np.array([False, True]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_of_every_type(classifier, table, labels, tmp_path):
    y = labels[(table[:, 3] > 0).astype(int)]
    model = classifier.set_params(class_weight={labels[0]: 2.0, labels[1]: 1}).fit(table, y)
    loaded = round_trip(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
    assert loaded.get_params()["class_weight"] == model.class_weight


def test_names_outputs_and_channels(regressor, table, values, tmp_path):
    X = pd.DataFrame(table, columns=list("abcdefg"))
    model = regressor.fit(X, np.stack([values, -values], axis=1))
    loaded = round_trip(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == list("abcdefg")
    np.testing.assert_array_equal(loaded.predict(X[list("gfedcba")]), model.predict(X))
    channels = np.stack([table, table**2], axis=2)
    model = clone(regressor).fit(channels, values)
    np.testing.assert_array_equal(
        round_trip(model, tmp_path).predict(channels), model.predict(channels)
    )


@pytest.mark.slow
def test_a_new_process_predicts_the_same_bits(classifier, table, classes, tmp_path):
    model = classifier.fit(table, classes)
    model.save(tmp_path / "m.safetensors")
    np.save(tmp_path / "X.npy", table)
    np.save(tmp_path / "p.npy", model.predict_proba(table))
    program = (
        "import torch, numpy as np, walkconv\n"
        f"torch.set_num_threads({torch.get_num_threads()})\n"
        "model = walkconv.load('m.safetensors')\n"
        "assert (model.predict_proba(np.load('X.npy')) == np.load('p.npy')).all()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_a_loaded_model_can_be_trained_further(regressor, table, values, tmp_path):
    model = regressor.set_params(warm_start=True, max_iter=3).fit(table, values)
    loaded = round_trip(model, tmp_path)
    np.testing.assert_array_equal(
        loaded.fit(table, values).predict(table), model.fit(table, values).predict(table)
    )


def test_loading_leaves_the_global_generator_alone(regressor, table, values, tmp_path):
    model = regressor.fit(table, values)
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    round_trip(model, tmp_path)
    assert torch.rand(2).tolist() == expected


def without(name):
    return lambda arrays, content: arrays.pop(name)


def replaced(name, change):
    def spoil(arrays, content):
        arrays[name] = change(arrays[name])

    return spoil


def stated(change, *place):
    def spoil(arrays, content):
        for key in place[:-1]:
            content = content[key]
        content[place[-1]] = change

    return spoil


SPOILED = {
    "no weights": (without("module.0.dense.0.weight"), "the weights must be"),
    "no neighbours": (without("samples.level.0.neighbors.index"), "neighbors.index' is missing"),
    "no scaling": (without("samples.scaling.mean"), "'mean' is missing"),
    "no target": (without("target.mean"), "mean' is missing"),
    "shape of a weight": (
        replaced("module.0.dense.0.weight", lambda a: a[:, :-1]),
        r"dense.0.weight must be torch.float32 of shape \(8, 21\); it is",
    ),
    "type of a weight": (
        replaced("module.0.dense.0.weight", lambda a: a.astype(np.float64)),
        "it is torch.float64",
    ),
    "index too large": (
        replaced("samples.level.0.neighbors.index", lambda a: a + 7),
        "lie between -1 and 6",
    ),
    "index too small": (
        replaced("samples.level.0.neighbors.index", lambda a: a - 2),
        "lie between -1 and 6",
    ),
    "type of the index": (
        replaced("samples.level.0.neighbors.index", lambda a: a.astype(np.float64)),
        "the neighbours must be int64",
    ),
    "shape of the index": (
        replaced("samples.level.0.neighbors.index", lambda a: a[:-1]),
        "tables of one shape",
    ),
    "shape of the signs": (
        replaced("samples.level.0.neighbors.sign", lambda a: a[:, 1:]),
        "tables of one shape",
    ),
    "NaN in the scaling": (
        replaced("samples.scaling.mean", lambda a: a * np.nan),
        "finite float64",
    ),
    "zero deviation": (
        replaced("samples.scaling.deviation", lambda a: a * 0),
        "positive deviation",
    ),
    "one column less": (replaced("samples.scaling.mean", lambda a: a[1:]), "a scaling must have"),
    "targets": (replaced("target.mean", lambda a: np.ones((2, 1))), "a scaling must have"),
    "estimator": (stated("os.system", "estimator"), "'os.system' is missing"),
    "estimator type": (stated(["a"], "estimator"), "unhashable"),
    "architecture": (stated("C3-FC9", "parameters", "architecture"), "must be torch.float32"),
    "huge architecture": (
        stated("C3-FC900000000", "parameters", "architecture"),
        "must be torch.float32",
    ),
    "bad setting": (stated(-1.0, "parameters", "dropout"), "dropout must be at least 0"),
    "unknown setting": (stated(1, "parameters", "evil"), "those of a model; got also 'evil'"),
    "settings of no kind": (stated(3, "parameters"), "no attribute 'items'"),
    "too many members": (stated(10**9, "n_modules"), "n_modules must be at most"),
    "members as text": (stated("2", "n_modules"), "n_modules must be an integer"),
    "steps": (stated(["many"], "samples", "n_steps"), "n_steps must be an integer"),
    "names": (stated(["a"], "samples", "names"), "a name for each of 7 columns"),
    "history": (stated([3], "history"), "the history must be a list of epochs"),
    "history without end": (stated([{}], "history"), "'member' is missing"),
    "history of another member": (
        stated([{"member": 1, "epoch": 1, "loss": 0.5}], "history"),
        "member must be at most 0",
    ),
    "history of text": (
        stated([{"member": 0, "epoch": 1, "loss": "0.5"}], "history"),
        "loss must be a number",
    ),
    "NaN in a weight": (
        replaced("module.0.dense.0.weight", lambda a: a * np.nan),
        "dense.0.weight must be finite",
    ),
    "infinity in a weight": (
        replaced("module.0.dense.0.bias", lambda a: a + np.inf),
        "dense.0.bias must be finite",
    ),
    "negative variance": (
        replaced("module.0.dense.1.running_var", lambda a: a - 9),
        "running_var must not be negative",
    ),
    "device": (stated("meta", "parameters", "device"), "those of a model; got also 'device'"),
    "endless walk": (stated(10**9, "parameters", "n_steps"), "n_steps must be at most 10000"),
    "twenty thousand layers": (
        stated("C1-" * 20_000 + "C1", "parameters", "architecture"),
        "at most 1000 layers; got 20001",
    ),
    "a number beyond floats": (stated(10**400, "parameters", "dropout"), "too large"),
    "list in place of a record": (stated([], "samples"), "list indices"),
    "outputs": (stated("no", "target", "is_multi_output"), "is_multi_output must be True"),
    "another loss": (
        stated({"name": "poisson", "parameter": 0.0}, "target", "loss"),
        "must be that of the settings",
    ),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_changed_file_is_refused(regressor, table, values, spoiled, tmp_path):
    path = tmp_path / "model.safetensors"
    regressor.set_params(max_iter=1).fit(table, values).save(path)
    arrays, content = read_file(path, "model")
    spoil, message = SPOILED[spoiled]
    spoil(arrays, content)
    write_file(path, "model", arrays, content)  # the digest is right again
    with pytest.raises(ModelFileError, match=rf"(?s)^model.safetensors is not a whole .*{message}"):
        walkconv.load(path)


SPOILED_LEVELS = {
    "no groups": (without("samples.level.0.groups"), "'groups' is missing"),
    "groups too large": (
        replaced("samples.level.0.groups", lambda a: a + 1),
        "from 0 without gaps",
    ),
    "groups too small": (
        replaced("samples.level.0.groups", lambda a: a - 1),
        "from 0 without gaps",
    ),
    "a gap": (replaced("samples.level.0.groups", lambda a: 2 * a), "from 0 without gaps"),
    "too few nodes": (
        replaced("samples.level.0.groups", lambda a: a[:-1]),
        "a group for each of 7 nodes",
    ),
    "other groups": (
        replaced("samples.level.0.groups", lambda a: np.arange(7)),
        "the neighbours of 7 nodes must be tables of one shape",
    ),
    "type of the groups": (
        replaced("samples.level.0.groups", lambda a: a + 0.5),
        "must be integers",
    ),
    "groups in two axes": (
        replaced("samples.level.0.groups", lambda a: a[None]),
        "must be integers",
    ),
    "no neighbours": (without("samples.level.1.neighbors.visits"), "neighbors.visits' is missing"),
    "neighbours of another level": (
        replaced("samples.level.1.neighbors.index", lambda a: a + 4),
        "lie between -1 and 3",
    ),
    "no steps": (stated([1], "samples", "n_steps"), "one entry for each of 2 levels"),
    "more poolings": (stated("C3-P2-C2-P2", "parameters", "architecture"), "each of 3 levels"),
    "kind": (stated("pictures", "kind"), "'pictures' is missing"),
}


@pytest.mark.parametrize("spoiled", SPOILED_LEVELS)
def test_changed_levels_are_refused(regressor, table, values, spoiled, tmp_path):
    path = tmp_path / "model.safetensors"
    model = regressor.set_params(max_iter=1, architecture="C3-P2-C2")
    model.fit(table, values).save(path)
    arrays, content = read_file(path, "model")
    spoil, message = SPOILED_LEVELS[spoiled]
    spoil(arrays, content)
    write_file(path, "model", arrays, content)
    with pytest.raises(ModelFileError, match=rf"(?s)^model.safetensors is not a whole .*{message}"):
        walkconv.load(path)


def test_changed_classes_and_graphs_are_refused(classifier, table, classes, tmp_path):
    path = tmp_path / "model.safetensors"
    classifier.set_params(max_iter=1, graph=grid_graph((7,))).fit(table, classes).save(path)
    arrays, content = read_file(path, "model")
    for target in (["low"], ["low", "high"], ["high", "high"], [1, 2]):
        write_file(path, "model", arrays, {**content, "target": {"classes": target, "type": "U"}})
        with pytest.raises(ModelFileError, match="the classes must be"):
            walkconv.load(path)
    arrays["samples.graph.indices"] = arrays["samples.graph.indices"] + 5
    write_file(path, "model", arrays, content)
    with pytest.raises(ModelFileError, match="indices"):
        walkconv.load(path)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"classes": ["a", "b"], "type": "<U400000000"}, "must be numbers or strings"),
        ({"classes": ["a" * 10_000] + ["b"] * 10_000, "type": "U"}, "at most 16777216 characters"),
        ({"classes": ["a", "b"], "type": "U", "more": 1}, "unexpected keyword argument 'more'"),
    ],
    ids=["type", "one long", "more"],
)
def test_a_small_file_cannot_ask_for_much_memory(classifier, table, target, message, tmp_path):
    path = tmp_path / "model.safetensors"
    labels = np.where(table[:, 3] > 0, "a", "b")
    classifier.set_params(max_iter=1).fit(table, labels).save(path)
    arrays, content = read_file(path, "model")
    write_file(path, "model", arrays, {**content, "target": target})
    with pytest.raises(ModelFileError, match=message):
        walkconv.load(path)


def test_classes_that_are_not_finite_are_refused(classifier, table, tmp_path):
    path = tmp_path / "model.safetensors"
    classifier.set_params(max_iter=1).fit(table, np.where(table[:, 3] > 0, 1.0, 2.0)).save(path)
    arrays, content = read_file(path, "model")
    for labels in ([1.0, np.nan], [1.0, np.inf], [np.nan, np.nan]):
        write_file(path, "model", {**arrays, "target.classes": np.array(labels)}, content)
        with pytest.raises(ModelFileError, match="the classes must be finite"):
            walkconv.load(path)


def test_equal_fits_write_equal_files(regressor, table, values, tmp_path):
    for name in ("a", "b"):
        clone(regressor).fit(table, values).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(ModelFileError, match="must be a whole safetensors file"):
        walkconv.load(path)
    write_file(path, "checkpoint", {}, {})
    with pytest.raises(ModelFileError, match="must be a model; it is a checkpoint"):
        walkconv.load(path)


def test_only_fitted_models_with_plain_classes_are_saved(classifier, table, tmp_path):
    with pytest.raises(NotFittedError):
        classifier.save(tmp_path / "m")
    y = np.array([b"a", b"b"] * 30, dtype=object)
    model = classifier.set_params(max_iter=1).fit(table, np.array(["a", "b"] * 30))
    object.__setattr__(model._fitted.target, "labels", np.unique(y))
    with pytest.raises(TypeError, match="Classes must be numbers or strings to be saved"):
        model.save(tmp_path / "m")
