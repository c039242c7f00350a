"""The command that writes a report."""

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def files(run, tmp_path, tiny):
    """A model file, and a table of the rows it was fitted on; the columns change their order."""
    X = np.random.default_rng(0).normal(size=(40, 4)).cumsum(axis=1)
    kind = np.where(X[:, 1] > 0, "up", "down")
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"]).with_columns(kind=pl.Series(kind))
    frame.write_csv(tmp_path / "train.csv")
    frame.select("kind", "d", "c", "b", "a").write_csv(tmp_path / "test.csv")
    model = tmp_path / "model.safetensors"
    assert run("fit", tmp_path / "train.csv", "--target", "kind", "-o", model, "-q", *tiny)[0] == 0
    return model, tmp_path / "test.csv"


def test_a_report_is_written_from_a_model_and_test_rows(run, files, tmp_path):
    model, table = files
    page = tmp_path / "page.html"
    code, out, err = run("report", model, table, "--target", "kind", "-o", page)
    assert (code, out) == (0, "")
    assert err.endswith(f"report in {page}\n")
    text = page.read_text(encoding="utf-8")
    assert "On 40 test rows it predicts" in text
    assert ">up" in text


def test_a_report_without_test_rows_says_so(run, files, tmp_path):
    page = tmp_path / "page.html"
    assert run("report", files[0], "-o", page, "-q") == (0, "", "")
    assert "No test rows were given" in page.read_text(encoding="utf-8")


def test_a_table_without_its_target_is_refused(run, files, tmp_path):
    code, _, err = run("report", *files, "-o", tmp_path / "page.html")
    assert code == 1
    assert "FILE and --target must be given together" in err
    assert not (tmp_path / "page.html").exists()


def test_the_report_does_not_overwrite_the_model(run, files):
    code, _, err = run("report", files[0], "-o", files[0])
    assert code == 1
    assert "must be two different files" in err
