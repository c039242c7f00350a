import json
import os
import subprocess
import sys
from textwrap import dedent

import numpy as np
import onnx
import pytest

from tests.exports.kinds import (
    KINDS,
    N_ROWS,
    answers,
    classifier,
    differ_by,
    fitted,
    plain_rows,
    regressor,
    table,
)
from walkconv import GraphCNNClassifier, GraphSample, load
from walkconv.exports import onnx_file

RUN = """
    import sys
    from pathlib import Path
    import numpy as np
    import onnxruntime

    for path in sorted(Path(sys.argv[1]).glob("*.onnx")):
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        X = np.load(path.with_suffix(".npy"))
        names = [output.name for output in session.get_outputs()]
        found = dict(zip(names, session.run(names, {"X": X})))
        one_by_one = [session.run(names, {"X": X[row : row + 1]}) for row in range(5)]
        for name, parts in zip(names, zip(*one_by_one)):
            found[name + " of single rows"] = np.concatenate(parts)
        text = {name: values.astype(str) for name, values in found.items() if values.dtype == "O"}
        np.savez(path.with_suffix(".npz"), **(found | text))
    assert not {"walkconv", "torch", "sklearn"} & set(sys.modules)
"""
"""Runs every model of a folder where there is neither walkconv nor torch."""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The folder, and each model with its rows and what onnxruntime answers, by kind."""
    folder = tmp_path_factory.mktemp("onnx")
    for number, kind in enumerate(KINDS):
        model, X = fitted(kind)
        model.to_onnx(folder / f"{number:02}.onnx")
        np.save(folder / f"{number:02}.npy", plain_rows(X))
    done = subprocess.run(
        [sys.executable, "-c", dedent(RUN), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    results = [dict(np.load(folder / f"{number:02}.npz")) for number in range(len(KINDS))]
    return {kind: (*fitted(kind), found) for kind, found in zip(KINDS, results, strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_onnxruntime_answers_as_the_model_does_without_walkconv_and_torch(exported, kind):
    model, X, found = exported[kind]
    wanted = answers(model, X)
    assert np.ptp(wanted, axis=0).max() > 1e-4  # the rows differ
    name = "probabilities" if hasattr(model, "classes_") else "values"
    assert differ_by(model, found[name], wanted) < 1e-5
    assert differ_by(model, found[f"{name} of single rows"], wanted[:5]) < 1e-5
    if hasattr(model, "classes_"):
        is_clear = np.ptp(np.sort(wanted, axis=1)[:, -2:], axis=1) > 1e-5
        labels = found["label"].astype(model.classes_.dtype)
        assert is_clear.sum() > 50
        np.testing.assert_array_equal(labels[is_clear], model.predict(X)[is_clear])


def test_many_neighbours_are_gathered_in_parts(exported):
    model, _, _ = exported["400 neighbours"]
    parts = model.to_torch().members[0][0].gathers
    assert len(parts) > 2
    assert sum(part.width for part in parts) == 400


def test_the_metadata_names_columns_and_classes(exported, tmp_path):
    model, _, _ = exported["named columns"]
    model.to_onnx(tmp_path / "named.onnx")
    notes = {each.key: each.value for each in onnx.load(tmp_path / "named.onnx").metadata_props}
    assert json.loads(notes["columns"]) == list(model.feature_names_in_)
    assert json.loads(notes["classes"]) == ["high", "low"]


def test_equal_models_write_equal_files_also_after_they_were_saved(exported, tmp_path):
    model, _, _ = exported["rank"]
    model.save(tmp_path / "model.safetensors")
    model.to_onnx(tmp_path / "one.onnx")
    load(tmp_path / "model.safetensors").to_onnx(tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_a_graph_that_answers_otherwise_is_not_written(tmp_path, monkeypatch):
    model, _ = regressor(table(), "C4")
    (tmp_path / "model.onnx").write_bytes(b"what was there")
    monkeypatch.setattr(onnx_file, "TOLERANCE", 1e-30)
    with pytest.raises(RuntimeError, match=r"answers of the model up to 1e-30; onnxruntime .* by"):
        model.to_onnx(tmp_path / "model.onnx")
    assert os.listdir(tmp_path) == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_bytes() == b"what was there"


def test_a_model_that_is_too_large_for_one_file_is_refused(tmp_path, monkeypatch):
    model, _ = regressor(table(), "C4")
    monkeypatch.setattr(onnx_file, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match="less than 2 GiB to be one ONNX file"):
        model.to_onnx(tmp_path / "model.onnx")


def test_graph_samples_are_refused_with_the_reason(tmp_path):
    path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    samples = [GraphSample(path, x=[[i], [2.0], [i + 1]]) for i in range(20)]
    model = GraphCNNClassifier("C4-G", max_iter=1).fit(samples, np.arange(20) % 2)
    with pytest.raises(TypeError, match="graphs as samples vary in size"):
        model.to_onnx(tmp_path / "model.onnx")
    with pytest.raises(TypeError, match="graphs as samples vary in size"):
        model.to_torch()


def test_a_network_of_the_user_is_refused_with_the_reason(tmp_path):
    import torch

    class Mine(GraphCNNClassifier):
        def make_network(self, plan):
            return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2))

    model, _ = classifier(table(), "", kind=Mine)
    with pytest.raises(TypeError, match="make_network returned Sequential"):
        model.to_onnx(tmp_path / "model.onnx")


@pytest.mark.parametrize("shift", [1e300, 1e41])
def test_columns_that_float32_cannot_hold_are_refused(tmp_path, shift):
    X = table()
    X[:, 4] *= shift
    model, _ = regressor(X, "C4", table()[:, 0])
    with pytest.raises(ValueError, match=r"up to 3\.4e38"):
        model.to_onnx(tmp_path / "model.onnx")


def test_classes_that_int64_cannot_hold_are_refused(tmp_path):
    y = np.array([1, 2**64 - 1], dtype=np.uint64)[np.arange(N_ROWS) % 2]
    model, _ = classifier(table(), "", y)
    with pytest.raises(ValueError, match="fit into int64"):
        model.to_onnx(tmp_path / "model.onnx")


def test_the_missing_extra_is_named(tmp_path, monkeypatch):
    model, _ = regressor(table(), "")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install walkconv\[onnx\]"):
        model.to_onnx(tmp_path / "model.onnx")
    assert not os.listdir(tmp_path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    model, _ = regressor(table(), "")
    with pytest.raises(FileNotFoundError, match="folder that exists"):
        model.to_onnx(tmp_path / "nowhere" / "model.onnx")
