"""Files that are not quite what they should be: one line says so, or they are read as meant."""

import gzip
import io
import zipfile

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def fit(run, fitted, tiny, tmp_path):
    def fit(data, *arguments):
        return run("fit", data, "--target", "y", "-o", tmp_path / "m", *tiny, *arguments)

    return fit


COMMAS = "Save it as CSV with commas between columns and decimal points in numbers."


@pytest.mark.parametrize(
    ("name", "content", "wanted", "found", "remedy"),
    [
        ("t.csv", "a;b;y\n1;2;yes\n", "','", "';'", COMMAS),
        ("t.csv", "a;b;y\n1,5;2,5;3\n", "','", "';'", COMMAS),
        ("t.csv", "a;b;y\n1,5;2;3\n", "','", "';'", COMMAS),
        ("t.csv", "a\tb\ty\n1\t2\tyes\n", "','", r"'\t'", "Rename it so that it ends in .tsv."),
        ("t.tsv", "a,b,y\n1,2,yes\n", r"'\t'", "','", "Rename it so that it ends in .csv."),
        ("t.tsv", "a;b;y\n1,5;2;3\n", r"'\t'", "';'", COMMAS),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_another_separator_is_recognised(
    run, fit, tmp_path, name, content, wanted, found, remedy, is_packed
):
    data = tmp_path / (f"{name}.gz" if is_packed else name)
    data.write_bytes(gzip.compress(content.encode()) if is_packed else content.encode())
    for code, _, err in (fit(data), run("neighbors", data)):
        assert code == 1
        assert err == (
            f"walkconv: error: {data} must have {wanted} between its columns; it seems to have "
            f"{found}. {remedy}\n"
        )


def test_another_separator_is_recognised_from_stdin(run, nameless):
    _, path = nameless(2)
    code, _, err = run("predict", path, "-", stdin=io.BytesIO(b"a\tb\n1\t2\n"))
    assert code == 1
    assert err.endswith(f"it seems to have '\\t'. {COMMAS}\n")


def test_a_single_column_may_have_any_name(run, nameless, tmp_path):
    model, path = nameless(1)
    (tmp_path / "t.csv").write_text("a;b\n3\n1\n2\n")
    code, out, _ = run("predict", path, tmp_path / "t.csv")
    assert code == 0
    predicted = pl.read_csv(io.StringIO(out))["prediction"]
    np.testing.assert_allclose(predicted, model.predict([[3.0], [1.0], [2.0]]), rtol=1e-6)


def test_cells_too_many_are_no_matter_of_the_separator(fit, tmp_path):
    (tmp_path / "t.csv").write_text("a;b,y\n1,2\n1,2,3\n")
    code, _, err = fit(tmp_path / "t.csv")
    assert code == 1
    assert "could not be read" in err
    assert "seems" not in err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "Größe,y\n1,2\n".encode("latin-1")),
        ("t.csv", "a,y\nGröße,2\n".encode("latin-1")),
        ("t.csv", "a,y\n1,2\n".encode("utf-16")),
        ("t.csv.gz", gzip.compress("Größe,y\n1,2\n".encode("latin-1"))),
        ("t.txt", "Köln Bonn\n".encode("latin-1")),
        ("t.edges.gz", gzip.compress("Köln Bonn\n".encode("latin-1"))),
    ],
    ids=["header", "cell", "utf-16", "packed", "edges", "packed edges"],
)
def test_text_must_be_utf8(run, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    code, _, err = run("neighbors", tmp_path / name)
    assert code == 1
    assert err == (
        f"walkconv: error: {tmp_path / name} must be text in UTF-8; it has another "
        "encoding. Save it as UTF-8.\n"
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_names_in_utf8_are_kept(fit, fitted, tmp_path, encoding):
    (tmp_path / "t.csv").write_text("Größe,y\n1,0.5\n2,1.5\n", encoding=encoding)
    assert fit(tmp_path / "t.csv")[0] == 0
    assert fitted[-1].X.columns == ["Größe"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_classes_that_are_true_or_false_have_one_spelling(run, fit, fitted, tmp_path, ending):
    frame = pl.DataFrame({"a": [1, 2], "y": [True, False]})
    data = tmp_path / f"t{ending}"
    frame.write_csv(data) if ending == ".csv" else frame.write_parquet(data)
    other = tmp_path / "other.csv"
    other.write_text("a,y\n1,True\n2,FALSE\n")
    code, _, err = fit(data, "--test", other)
    assert code == 0, err
    assert fitted[-1].y.dtype == bool
    expected = fitted[-1].model.predict(fitted[-1].X).tolist()
    head, *lines = run("predict", tmp_path / "m", data, "--keep", "y")[1].splitlines()
    assert head == "y,prediction,probability_False,probability_True"
    assert [line.split(",")[:2] for line in lines] == [
        ["true", str(expected[0])],
        ["false", str(expected[1])],
    ]
    written = tmp_path / "out.parquet"
    assert run("predict", tmp_path / "m", data, "-o", written)[0] == 0
    assert pl.read_parquet(written)["prediction"].to_list() == expected


def no_archive(path):
    path.write_bytes(b"no archive")


def another_archive(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "Dear all")


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (no_archive, "must be an npz file, as numpy.savez writes it; it is not one."),
        (another_archive, "must hold whole arrays; letter.txt has no header that can be read."),
        (
            lambda path: np.savez(path, X=X, y=[0.5, 1.5], feature_names=["a", "b"]),
            "must have a name in feature_names for each of the 3 columns of X; it has 2.",
        ),
        (
            lambda path: np.savez(path, X=X, y=[0.5, 1.5], feature_names="abc"),
            "must have a name in feature_names for each of the 3 columns of X; it has 1.",
        ),
        (
            lambda path: np.savez(path, X=X, y=[0.5, 1.5], feature_names=["a", "b", "y"]),
            "must have different names for all columns and arrays; found twice: 'y'.",
        ),
        (
            lambda path: np.savez(path, X=X, feature_names=["a", "b", "a"]),
            "must have different names for all columns and arrays; found twice: 'a'.",
        ),
        (
            lambda path: np.savez(path, X=X, feature_names=np.array(["a", "b", "c"], dtype=object)),
            "must hold numbers and text; its array feature_names holds Python objects. "
            "Save it with .astype(str) or .astype(float).",
        ),
        (
            lambda path: np.savez(path, X=X.astype(object)),
            "must hold numbers and text; its array X holds Python objects. "
            "Save it with .astype(str) or .astype(float).",
        ),
    ],
)
def test_an_npz_that_is_no_table_is_refused(run, fit, tmp_path, write, message):
    data = tmp_path / "t.npz"
    write(data)
    for code, _, err in (fit(data), run("neighbors", data)):
        assert code == 1
        assert err == f"walkconv: error: {data} {message}\n"
