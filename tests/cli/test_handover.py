"""What `fit`, `predict` and `info` hand to the estimators, and what they make of the answers."""

import gzip
import io

import numpy as np
import polars as pl
import pytest

import walkconv

TABLE = "id,a,b,kind\nr1,1,5,yes\nr2,,6,no\nr3,3,7,yes\nr4,NA,8,no\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


@pytest.fixture
def model_file(tmp_path):
    return tmp_path / "m.safetensors"


@pytest.fixture
def fit(run, fitted, tiny, table, model_file):
    """Fit without the id; returns exit code, stdout and stderr."""

    def fit(*arguments, target="kind", data=table):
        options = ["--target", target, "--drop", "id", "--output", model_file]
        return run("fit", data, *options, *tiny, *arguments)

    return fit


def settings_of(model):
    """Return the settings of a model that are not the default."""
    usual = type(model)().get_params()
    return {name: value for name, value in model.get_params().items() if value != usual[name]}


def test_only_the_settings_given_are_passed_on(fit, fitted):
    assert fit()[0] == 0
    tiny = {"architecture": "", "max_iter": 1, "n_members": 1, "random_state": 0}
    usual = walkconv.GraphCNNClassifier().get_params()
    tiny = {name: value for name, value in tiny.items() if value != usual[name]}
    assert settings_of(fitted[-1].model) == tiny | {"verbose": 1}
    code, _, err = fit(
        *("--architecture", "C2-FC3", "--n-neighbors", 2, "--n-steps", 2, "--n-members", 2),
        *("--max-iter", 3, "--random-state", 5, "--graph", "knn", "--order", "visits", "--quiet"),
    )
    assert (code, err) == (0, "")
    given = {
        "architecture": "C2-FC3",
        "graph": "knn",
        "n_neighbors": 2,
        "n_steps": 2,
        "order": "visits",
        "n_members": 2,
        "max_iter": 3,
        "random_state": 5,
        "verbose": 0,
    }
    found = fitted[-1].model.get_params()
    assert {name: found[name] for name in given} == given
    fit("-k", "auto", "--order", "direction", "--early-stopping")
    found = fitted[-1].model.get_params()
    assert (found["n_steps"], found["order"]) == ("auto", "direction")
    assert found["early_stopping"] is True


def test_features_are_numbers_with_nan_in_empty_cells(fit, fitted):
    fit()
    assert fitted[-1].X.columns == ["a", "b"]
    np.testing.assert_array_equal(fitted[-1].X["a"].to_numpy(), [1, np.nan, 3, np.nan])
    assert fitted[-1].X["a"].null_count() == 0
    assert fitted[-1].y.tolist() == ["yes", "no", "yes", "no"]


def test_messages_go_to_stderr(fit, model_file):
    code, out, err = fit()
    assert code == 0
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "classification ('kind' is not a number): 4 rows, 2 features"
    n_parameters = walkconv.load(model_file).n_parameters_
    assert lines[-1] == f"{n_parameters:,} parameters in {model_file}"
    assert fit("--quiet") == (0, "", "")


def test_the_task_may_be_asked_for(fit, fitted):
    fit("--task", "regression", "--drop", "kind", target="b")
    assert type(fitted[-1].model) is walkconv.GraphCNNRegressor
    assert fitted[-1].y.dtype == np.float64
    _, _, err = fit("--task", "classification", "--drop", "kind", target="b")
    assert type(fitted[-1].model) is walkconv.GraphCNNClassifier
    assert err.startswith("classification (as asked)")


def test_a_test_table_is_scored_on_the_same_columns(fit, fitted, tmp_path):
    test = tmp_path / "test.csv"
    test.write_text("b,more,kind,a\n1,x,no,2\n9,x,yes,3\n")
    _, _, err = fit("--test", test)
    X = pl.DataFrame({"a": [2.0, 3.0], "b": [1.0, 9.0]})
    score = fitted[-1].model.score(X, ["no", "yes"])
    assert err.splitlines()[-1] == f"accuracy on {test}: {score:.4f}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--target", "nothing"],
            "must have the column 'nothing'; it has 4 columns: 'id', 'a', 'b', 'kind'.\n",
        ),
        (["--target", "kin"], "'kind'. Did you mean 'kind'?\n"),
        (["--drop", "Kind"], "must have the column 'Kind'; it has 4"),
        (["--drop", "Kind"], "Did you mean 'kind'?\n"),
        (["-a", "C4-X3"], "FC512 or N1, joined by hyphens.\n  C4-X3\n     ^^\n"),
        (["--target", "a", "--drop", "kind"], "must have no empty cells; 2 row(s) are empty."),
        (["--category", "kinds"], "must have the column 'kinds'; it has 2 columns: 'a', 'b'."),
        (["--task", "regression"], "holds String"),
        (["--test", "none.csv"], "none.csv must be a file"),
    ],
)
def test_nothing_is_written_after_a_mistake(fit, model_file, arguments, message):
    code, _, err = fit(*arguments)
    assert code == 1
    assert err.count("walkconv: error:") == 1
    assert message in err
    assert not model_file.exists()


@pytest.fixture
def model(fit, fitted):
    fit()
    return fitted[-1].model


def read(text):
    return pl.read_csv(io.StringIO(text))


X = pl.DataFrame({"a": [1.0, np.nan, 3.0, np.nan], "b": [5.0, 6.0, 7.0, 8.0]})


def test_predictions_come_with_probabilities(run, model, model_file, table):
    code, out, err = run("predict", model_file, table)
    assert (code, err) == (0, "")
    assert read(out).columns == ["prediction", "probability_no", "probability_yes"]
    assert read(out)["prediction"].to_list() == model.predict(X).tolist()
    probability = read(out).select("probability_no", "probability_yes").to_numpy()
    np.testing.assert_allclose(probability, model.predict_proba(X), rtol=1e-6)


def test_the_network_runs_once(run, model, model_file, table, monkeypatch):
    calls = []
    kind = walkconv.GraphCNNClassifier
    run_network = kind._outputs
    monkeypatch.setattr(kind, "_outputs", lambda *args: calls.append(1) or run_network(*args))
    assert run("predict", model_file, table)[0] == 0
    assert len(calls) == 1


@pytest.mark.usefixtures("model")
def test_columns_are_found_by_name_and_others_may_be_kept(run, model_file, table, tmp_path):
    stdin = io.BytesIO(b"other,b,id,a\nx,5,r9,1\n")
    output = tmp_path / "pred.csv.gz"
    code, out, _ = run(
        "predict", model_file, "-", "--keep", "id", "--keep", "b", "-o", output, stdin=stdin
    )
    assert (code, out) == (0, "")
    written = gzip.decompress(output.read_bytes()).decode()
    first = run("predict", model_file, table)[1].splitlines()[1]
    assert written.splitlines()[1] == f"r9,5,{first}"


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "must have the column 'b'; it has 3 columns: 'a', 'B', 'ident'.\n"),
        (["--keep", "idents"], "Did you mean 'ident'?\n"),
    ],
)
def test_a_missing_column_is_named_and_the_old_file_stays(
    run, model_file, tmp_path, arguments, message
):
    (tmp_path / "new.csv").write_text("a,B,ident\n1,2,r1\n")
    (tmp_path / "pred.csv").write_text("old")
    command = ["predict", model_file, tmp_path / "new.csv", "-o", tmp_path / "pred.csv"]
    code, _, err = run(*command, *arguments)
    assert code == 1
    assert err.endswith(message)
    assert (tmp_path / "pred.csv").read_text() == "old"


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", ["prediction", "probability_yes"])
def test_a_kept_column_that_has_the_name_of_an_answer_is_refused(run, model_file, tmp_path, name):
    (tmp_path / "new.csv").write_text(f"a,b,{name}\n1,2,3\n")
    code, out, err = run("predict", model_file, tmp_path / "new.csv", "--keep", name)
    assert (code, out) == (1, "")
    assert err == (
        f"walkconv: error: --keep must not name a column of the predictions; got {name}. "
        "Rename it in the table.\n"
    )


def test_regressions_have_one_column_for_each_output(run, nameless, tmp_path):
    new = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "new.npz", X=new)
    for n_outputs, columns in [(None, ["prediction"]), (2, ["prediction_0", "prediction_1"])]:
        model, path = nameless(3, n_outputs)
        code, out, err = run("predict", path, tmp_path / "new.npz")
        assert (code, err) == (0, "")  # names that the model never saw would be warned of
        assert read(out).columns == columns
        expected = model.predict(new).reshape(2, -1)
        np.testing.assert_allclose(read(out).to_numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(("graph", "said"), [("knn", "knn"), ("edges.txt", "given")])
def test_info_shows_the_facts(run, fit, model_file, tmp_path, monkeypatch, graph, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edges.txt").write_text("a b\n")
    code, _, err = fit("-a", "C1", "-p", 2, "--graph", graph)
    assert code == 0, err
    code, out, _ = run("info", model_file)
    assert code == 0
    facts = dict(line.strip().split("  ", 1) for line in out.splitlines())
    facts = {name: fact.strip() for name, fact in facts.items()}
    assert facts == {
        "estimator": "GraphCNNClassifier",
        "architecture": "C1",
        "features": "2",
        "parameters": str(walkconv.load(model_file).n_parameters_),
        "ensemble members": "1",
        "file size": f"{model_file.stat().st_size:,} bytes",
        "feature names": "'a', 'b'",
        "classes": "no, yes",
        "graph": said,
        "neighbors": "2 of each feature, walk of 1 step(s)",
    }
