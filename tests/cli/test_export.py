import numpy as np
import onnxruntime
import pytest

import walkconv


def test_an_exported_model_answers_as_the_model_does(run, nameless, tmp_path):
    model, path = nameless(4, n_outputs=2)
    code, out, err = run("export", path, tmp_path / "model.onnx")
    assert (code, out) == (0, "")
    assert f"bytes in {tmp_path / 'model.onnx'}" in err
    X = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    [values] = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(["values"], {"X": X})
    np.testing.assert_allclose(values, model.predict(X), rtol=1e-5, atol=1e-5)


def test_what_is_not_a_model_and_what_is_not_an_onnx_file_are_refused(run, nameless, tmp_path):
    _, path = nameless(4)
    assert run("export", path, tmp_path / "model.onx")[0] == 1
    code, _, err = run("export", path, tmp_path / "nowhere" / "model.onnx")
    assert code == 1
    assert "must be in a folder that exists" in err
    (tmp_path / "text.safetensors").write_text("text")
    assert run("export", tmp_path / "text.safetensors", tmp_path / "model.onnx")[0] == 1
    assert not (tmp_path / "model.onnx").exists()


def test_a_model_of_graphs_is_refused_with_the_reason(run, tmp_path):
    samples = [walkconv.GraphSample([[0, 1], [1, 0]], x=[[i], [2.0]]) for i in range(20)]
    model = walkconv.GraphCNNClassifier("C2-G", max_iter=1).fit(samples, np.arange(20) % 2)
    model.save(tmp_path / "graphs.safetensors")
    code, _, err = run("export", tmp_path / "graphs.safetensors", tmp_path / "model.onnx")
    assert code == 1
    assert "graphs as samples vary in size" in err


@pytest.mark.parametrize("words", [[], ["one.safetensors"]])
def test_a_call_without_both_files_is_a_wrong_call(run, words):
    assert run("export", *words)[0] == 2
