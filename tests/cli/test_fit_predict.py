"""The whole way with the real estimators: table, model file, predictions."""

import io
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import walkconv

pytestmark = pytest.mark.slow

SETTINGS = ["--architecture", "C2-FC4", "-p", 3, "--max-iter", 3, "--random-state", 0, "--quiet"]


@pytest.fixture
def frame(rng):
    """Sixty rows of six related columns with an id, a class, a number, and an empty cell."""
    X = rng.normal(size=(60, 6)).cumsum(axis=1)
    frame = pl.DataFrame(X, schema=[f"f{i}" for i in range(6)]).with_columns(
        id=pl.Series([f"r{i}" for i in range(60)]),
        sort=pl.Series(np.where(X[:, 2] > 0, "up", "down")),
        amount=pl.Series(X[:, 3] * 2 + 1),
    )
    frame[4, "f1"] = None
    return frame


@pytest.mark.parametrize(
    ("target", "other", "suffix"),
    [("sort", "amount", ".csv"), ("amount", "sort", ".csv.gz"), ("sort", "amount", ".parquet")],
)
def test_the_command_line_predicts_what_the_library_predicts(
    run, frame, tmp_path, target, other, suffix
):
    data, model = tmp_path / f"data{suffix}", tmp_path / "m.safetensors"
    if suffix == ".parquet":
        frame.write_parquet(data)
    else:
        frame.write_csv(data, compression="gzip" if suffix == ".csv.gz" else "uncompressed")
    dropped = ["--drop", "id", "--drop", other]
    assert run("fit", data, "--target", target, "-o", model, *dropped, *SETTINGS) == (0, "", "")
    code, out, err = run("predict", model, data, "--keep", "id")
    assert (code, err) == (0, "")

    written = pl.read_csv(io.StringIO(out))
    fitted = walkconv.load(model)
    X = frame.select([f"f{i}" for i in range(6)]).fill_null(float("nan"))
    assert written["id"].to_list() == frame["id"].to_list()
    if target == "sort":
        assert written["prediction"].to_list() == fitted.predict(X).tolist()
        chances = written.select("probability_down", "probability_up").to_numpy()
        np.testing.assert_allclose(chances, fitted.predict_proba(X), rtol=1e-6)
    else:
        np.testing.assert_allclose(written["prediction"], fitted.predict(X), rtol=1e-6)


def test_the_same_seed_gives_the_same_model_from_npz(run, rng, tmp_path):
    X = rng.normal(size=(40, 5)).cumsum(axis=1)
    data = tmp_path / "data.npz"
    np.savez(data, X=X, y=(X[:, 0] > 0).astype(int))
    predictions = []
    for seed in (0, 0, 1):
        model = tmp_path / "m.safetensors"
        code, _, err = run(
            "fit", data, "--target", "y", "-o", model, *SETTINGS, "--random-state", seed
        )
        assert code == 0, err
        predictions.append(run("predict", model, data)[1])
    assert predictions[0].startswith("prediction,probability_0,probability_1\n")
    assert predictions[0] == predictions[1] != predictions[2]


def test_fit_says_the_task_and_the_score_and_info_the_facts(run, frame, tmp_path):
    data, model = tmp_path / "data.csv", tmp_path / "m.safetensors"
    frame.write_csv(data)
    code, _, err = run(
        *("fit", data, "--target", "sort", "-o", model, "--drop", "id", "--drop", "amount"),
        *("--test", data, *SETTINGS[:-1]),
    )
    assert code == 0, err
    assert "classification ('sort' is not a number): 60 rows, 6 features" in err
    accuracy = float(err.split(f"accuracy on {data}: ")[1])
    assert 0 <= accuracy <= 1
    code, out, _ = run("info", model)
    assert code == 0
    assert "GraphCNNClassifier" in out
    assert "C2-FC4" in out
    assert "down, up" in out
    assert "3 of each feature, walk of 1 step(s)" in out


def test_a_file_that_is_no_model_is_one_line(run, frame, tmp_path):
    (tmp_path / "m.safetensors").write_text("no model")
    frame.write_csv(tmp_path / "data.csv")
    code, out, err = run("predict", tmp_path / "m.safetensors", tmp_path / "data.csv")
    assert (code, out) == (1, "")
    assert err.startswith("walkconv: error: ")
    assert "unexpected" not in err
    assert err.count("\n") == 1


def test_a_pipe_from_another_process(frame, run, tmp_path):
    data, model = tmp_path / "data.csv", tmp_path / "m.safetensors"
    frame.write_csv(data)
    dropped = ["--drop", "id", "--drop", "sort"]
    assert run("fit", data, "--target", "amount", "-o", model, *dropped, *SETTINGS)[0] == 0
    done = subprocess.run(
        [sys.executable, "-m", "walkconv", "predict", str(model), "-"],
        input=data.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == run("predict", model, data)[1]


def test_the_order_of_the_slots_is_chosen_said_and_shown(run, tmp_path):
    sites = np.argwhere(np.ones((6, 7)))
    gap = np.linalg.norm(sites[:, None] - sites, axis=2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 42)) @ np.linalg.cholesky(np.exp(-(gap**2) / 4) + 0.01 * np.eye(42)).T
    frame = pl.DataFrame(X, schema=[f"f{i}" for i in range(42)]).with_columns(y=pl.Series(X[:, 0]))
    data, model = tmp_path / "data.csv", tmp_path / "m.safetensors"
    frame.write_csv(data)
    settings = ["-a", "C2", "-p", 9, "--max-iter", 1, "--random-state", 0]
    code, _, err = run("fit", data, "--target", "y", "-o", model, *settings, "--order", "auto")
    assert code == 0
    assert "slots in order of direction: a plane fits: stress" in err
    assert "directions; a plane fits" in " ".join(run("info", model)[1].split())
