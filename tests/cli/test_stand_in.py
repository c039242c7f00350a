"""What `fit`, `predict` and `info` hand to the estimators and make of their answers.

The estimators are played by the stand-in of ``conftest.py``.
"""

import gzip
import io
import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import walkconv
from walkconv.cli.task import guess_task, target_values

TABLE = "id,a,b,kind\nr1,1,5,yes\nr2,,6,no\nr3,3,7,yes\nr4,NA,8,no\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def fit(run, made, table, tmp_path):
    """Fit with the id left out; returns exit code, stdout and stderr."""

    def fit(*arguments, target="kind", data=table):
        output = tmp_path / "m.safetensors"
        return run("fit", data, "--target", target, "--drop", "id", "--output", output, *arguments)

    return fit


def test_only_the_settings_given_are_passed_on(fit, made):
    assert fit()[0] == 0
    assert made[-1].settings == {"verbose": 1}
    code, _, _ = fit(
        *("--architecture", "C10-FC100", "--n-neighbors", 5, "--n-steps", 2, "--n-members", 3),
        *("--max-epochs", 7, "--random-state", 0, "--order", "direction", "--quiet"),
    )
    assert code == 0
    assert made[-1].settings == {
        "architecture": "C10-FC100",
        "n_neighbors": 5,
        "n_steps": 2,
        "order": "direction",
        "n_members": 3,
        "max_iter": 7,
        "random_state": 0,
        "verbose": 0,
    }
    fit("-k", "auto")
    assert made[-1].settings["n_steps"] == "auto"


def test_features_are_numbers_with_nan_in_empty_cells(fit, made):
    fit()
    assert made[-1].X.columns == ["a", "b"]
    np.testing.assert_array_equal(made[-1].X["a"].to_numpy(), [1, np.nan, 3, np.nan])
    assert made[-1].X["a"].null_count() == 0
    assert made[-1].y.tolist() == ["yes", "no", "yes", "no"]


def test_what_was_done_is_said_on_stderr(fit, tmp_path):
    code, out, err = fit()
    assert code == 0
    assert out == ""
    assert err.splitlines() == [
        "classification ('kind' is not a number): 4 rows, 2 features",
        f"1,234 parameters in {tmp_path / 'm.safetensors'}",
    ]
    assert (tmp_path / "m.safetensors").read_text() == "saved"
    assert fit("--quiet") == (0, "", "")


def test_the_task_may_be_asked_for(fit, made):
    fit("--task", "regression", "--drop", "kind", target="b")
    assert type(made[-1]).__name__ == "StandIn"
    assert made[-1].y.dtype == np.float64
    _, _, err = fit("--task", "classification", "--drop", "kind", target="b")
    assert type(made[-1]).__name__ == "StandInClassifier"
    assert err.startswith("classification (as asked)")


def test_a_test_table_is_scored_on_the_same_columns(fit, made, tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("b,more,kind,a\n1,x,no,2\n")
    _, _, err = fit("--test", test)
    X, y = made[-1].scored
    assert X.to_dict(as_series=False) == {"a": [2.0], "b": [1.0]}
    assert y.tolist() == ["no"]
    assert err.splitlines()[-1] == f"accuracy on {test}: 0.5000"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--target", "nothing"],
            "must have the column(s) 'nothing'; it has 4 column(s): 'id', 'a', 'b', 'kind'.",
        ),
        (["--drop", "nothing"], "must have the column(s) 'nothing'; it has 4"),
        (["-a", "C4-X3", "--target", "nothing"], "FC512 or N1, joined by hyphens.\n"),
        (["--target", "a", "--drop", "kind"], "The target 'a' must have no empty cells; 2 row(s)"),
        (
            ["--target", "a"],
            "else: 'kind' (row 1: 'yes'). Encode them as numbers or leave them out",
        ),
        (["--task", "regression"], "Regression needs numbers; 'kind' holds String"),
        (["--test", "none.csv"], "none.csv must be a file"),
    ],
)
def test_nothing_is_trained_after_a_mistake(fit, made, arguments, message):
    code, _, err = fit(*arguments)
    assert code == 1
    assert err.count("walkconv: error:") == 1
    assert message in err
    assert not any(hasattr(model, "X") for model in made)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b", "a"], "classification"),
        ([True, False], "classification"),
        ([0, 1] * 10, "classification"),
        ([0.0, 1.0] * 10, "classification"),
        (list(range(20)) * 2, "classification"),
        (list(range(21)) * 2, "regression"),
        (list(range(10)), "regression"),
        ([0.5, 1.5] * 10, "regression"),
        ([0.0, 1.5] * 10, "regression"),
    ],
)
def test_the_task_is_guessed(values, task):
    assert guess_task(pl.Series("y", values))[0] == task


def test_whole_numbers_written_with_a_point_are_classes_of_integers():
    values = target_values(pl.Series("y", [0.0, 1.0]), "classification")
    assert values.dtype == np.int64


@pytest.fixture
def fitted(fit, made):
    fit()
    return made[-1]


def test_predictions_come_with_probabilities(run, fitted, table):
    code, out, err = run("predict", "m.safetensors", table)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "prediction,probability_no,probability_yes",
        "no,0.25,0.75",
        "yes,0.25,0.75",
        "no,0.25,0.75",
        "yes,0.25,0.75",
    ]


def test_columns_are_found_by_name_and_others_may_be_kept(run, fitted, tmp_path):
    stdin = io.BytesIO(b"other,b,id,a\nx,1,r9,\n")
    output = tmp_path / "new" / "pred.csv.gz"
    code, out, _ = run(
        "predict", "m", "-", "--keep", "id", "--keep", "b", "-o", output, stdin=stdin
    )
    assert (code, out) == (0, "")
    assert fitted.asked.columns == ["a", "b"]
    np.testing.assert_array_equal(fitted.asked.to_numpy(), [[np.nan, 1]])
    written = gzip.decompress(output.read_bytes()).decode()
    assert written.splitlines()[1] == "r9,1,no,0.25,0.75"


def test_a_missing_column_is_named_and_the_old_file_stays(run, fitted, tmp_path):
    (tmp_path / "new.csv").write_text("a\n1\n")
    (tmp_path / "pred.csv").write_text("old")
    code, _, err = run("predict", "m", tmp_path / "new.csv", "-o", tmp_path / "pred.csv")
    assert code == 1
    assert "must have the column(s) 'b'; it has 1 column(s): 'a'.\n" in err
    assert (tmp_path / "pred.csv").read_text() == "old"


@pytest.mark.parametrize("name", ["prediction", "probability_yes"])
def test_a_kept_column_that_has_the_name_of_an_answer_is_refused(run, fitted, tmp_path, name):
    (tmp_path / "new.csv").write_text(f"a,b,{name}\n1,2,3\n")
    code, out, err = run("predict", "m", tmp_path / "new.csv", "--keep", name)
    assert (code, out) == (1, "")
    assert err == (
        f"walkconv: error: --keep must name no column that is predicted; got '{name}'. "
        "Rename it in the table.\n"
    )


def test_regressions_have_one_column_for_each_output(run, made, tmp_path):
    np.savez(tmp_path / "new.npz", X=np.ones((2, 3)))
    model = walkconv.GraphCNNRegressor()
    assert run("predict", "m", tmp_path / "new.npz")[1] == "prediction\n3.0\n3.0\n"
    assert isinstance(model.asked, np.ndarray)  # names it never saw would only be warned of
    model.predict = lambda X: X[:, :2] * [1, 2]
    out = run("predict", "m", tmp_path / "new.npz")[1]
    assert out == "prediction_0,prediction_1\n1.0,2.0\n1.0,2.0\n"


@pytest.mark.parametrize(("graph", "said"), [("knn", "knn"), (np.eye(2), "given")])
def test_info_shows_the_facts(run, fitted, tmp_path, graph, said):
    fitted.graph = graph
    fitted.neighbors_ = SimpleNamespace(n_neighbors=6, n_steps=1)
    (tmp_path / "m").write_text(json.dumps(1))
    code, out, _ = run("info", tmp_path / "m")
    assert code == 0
    facts = dict(line.strip().split("  ", 1) for line in out.splitlines())
    facts = {name: fact.strip() for name, fact in facts.items()}
    assert facts == {
        "estimator": "StandInClassifier",
        "architecture": "C1",
        "features": "2",
        "parameters": "1,234",
        "members": "2",
        "file size": "1 bytes",
        "feature names": "'a', 'b'",
        "classes": "no, yes",
        "graph": said,
        "neighbors": "6 of each feature, walk of 1 step(s)",
    }
