"""Columns that are features: each has a name and holds numbers, or the advice works where it is."""

import io
import re
import shlex

import numpy as np
import polars as pl
import pytest

ROWS = "1,5,0.5\n2,6,1.5\n3,7,2.5\n"
SAID = "dropped column '' of {}: it has no name and counts the rows\n"


@pytest.fixture
def write(tmp_path):
    """Write a text to a file; returns its path."""

    def write(text, name="t.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def fit(run, fitted, tiny, tmp_path):
    def fit(data, *arguments):
        return run("fit", data, "--target", "y", "-o", tmp_path / "m", *tiny, *arguments)

    return fit


def read(text):
    return pl.read_csv(io.StringIO(text))


def with_index(numbers, name=""):
    cells = [f"{number},{row}" for number, row in zip(numbers, ROWS.split(), strict=True)]
    return "\n".join([f"{name},a,b,y", *cells, ""])


@pytest.mark.parametrize("numbers", [[0, 1, 2], [1, 2, 3], [0.0, 1.0, 2.0]])
def test_a_column_without_a_name_that_counts_the_rows_is_left_out(fit, fitted, write, numbers):
    data = write(with_index(numbers))
    code, _, err = fit(data)
    assert code == 0, err
    assert fitted[-1].X.columns == ["a", "b"]
    assert err.startswith(SAID.format(data))
    assert fit(data, "--quiet") == (0, "", "")


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__"])
def test_what_pandas_calls_a_column_without_a_name_is_none(fit, fitted, write, name):
    data = write(with_index([0, 1, 2], name))
    assert fit(data)[2].startswith(SAID.format(data).replace("''", repr(name)))
    assert fitted[-1].X.columns == ["a", "b"]


@pytest.mark.parametrize(
    "numbers", [[2, 1, 0], [0, 1, 3], [5, 6, 7], ["r1", "r2", "r3"], ["0", "", 2]]
)
def test_any_other_column_without_a_name_is_refused(fit, fitted, write, numbers):
    data = write(with_index(numbers))
    code, _, err = fit(data)
    assert code == 1
    assert err == (
        f"walkconv: error: Columns of {data} must have names, unless they count the rows; these "
        "have no name: ''. Name them or drop them. To drop them: --drop ''\n"
    )
    assert fit(data, "--drop", "", "-q") == (0, "", "")
    assert fitted[-1].X.columns == ["a", "b"]


def test_a_column_that_is_dropped_is_not_spoken_of(fit, fitted, write):
    code, _, err = fit(write(with_index([0, 1, 2])), "--drop", "")
    assert (code, fitted[-1].X.columns) == (0, ["a", "b"])
    assert "dropped column" not in err


def test_a_second_column_without_a_name_is_refused_by_the_name_to_drop_it_by(fit, fitted, write):
    data = write(",a,,y\n0,1,7,0.5\n1,2,3,1.5\n")
    code, _, err = fit(data)
    assert code == 1
    assert err.endswith(
        "name: '_duplicated_0'. Name them or drop them. To drop them: --drop _duplicated_0\n"
    )
    assert fit(data, "--drop", "_duplicated_0", "-q")[0] == 0
    assert fitted[-1].X.columns == ["a"]


def test_a_column_with_a_name_may_count_the_rows(fit, fitted, write):
    assert "dropped column" not in fit(write(with_index([0, 1, 2], "id")))[2]
    assert fitted[-1].X.columns == ["id", "a", "b"]


def test_columns_are_found_by_name_beside_row_numbers(run, fit, fitted, write, tmp_path):
    train, new = write("a,b,y\n" + ROWS, "train.csv"), write(with_index([9, 4, 2]), "new.csv")
    code, _, err = fit(train, "--test", new)
    assert code == 0
    model, X = fitted[-1].model, fitted[-1].X
    assert f"R2 on {new}: {model.score(X, fitted[-1].y):.4f}\n" in err
    code, out, err = run("predict", tmp_path / "m", new)
    assert (code, err) == (0, "")
    np.testing.assert_allclose(read(out)["prediction"], model.predict(X), rtol=1e-6)


def test_a_model_without_names_takes_no_row_numbers_either(run, nameless, write):
    model, path = nameless(3)
    data = write(with_index([0, 1, 2]))
    code, out, err = run("predict", path, data)
    assert (code, err) == (0, SAID.format(data))
    X = np.array([[float(cell) for cell in row.split(",")] for row in ROWS.split()])
    np.testing.assert_allclose(read(out)["prediction"], model.predict(X), rtol=1e-6)
    other = write(with_index([7, 4, 2]))
    code, _, err = run("predict", path, other)
    assert code == 1
    assert err.endswith("name: ''. Name them or drop them. To drop them: --keep ''\n")
    code, kept, _ = run("predict", path, other, "--keep", "")
    assert code == 0
    assert read(kept)["prediction"].equals(read(out)["prediction"])


def test_the_neighbors_of_a_table_are_without_row_numbers(run, write, rng):
    frame = pl.DataFrame(rng.normal(size=(9, 3)), schema=["p", "q", "r"])
    plain = write(frame.write_csv(), "plain.csv")
    indexed = write(frame.with_row_index("").write_csv(), "indexed.csv")
    arguments = ["-p", 2, "--kind", "table"]
    _, wanted, said = run("neighbors", plain, *arguments)
    assert run("neighbors", indexed, *arguments) == (0, wanted, SAID.format(indexed) + said)
    shuffled = write(frame.insert_column(0, pl.Series("", range(9, 0, -1))).write_csv())
    assert "have no name: ''" in run("neighbors", shuffled, *arguments)[2]
    assert run("neighbors", shuffled, *arguments, "--drop", "")[1] == wanted


@pytest.mark.parametrize("head", ["source,target,weight", "source,target", "from,to,weight"])
def test_edges_are_without_row_numbers(run, write, head):
    rows = ["b,a,3", "b,c,-1", "d,d,1"]
    rows = rows if "weight" in head else [row.rsplit(",", 1)[0] for row in rows]
    kind = ["--kind", "edges"] if "from" in head else []
    plain = write("\n".join([head, *rows]), "plain.csv")
    numbered = [f"{number},{row}" for number, row in enumerate(rows)]
    indexed = write("\n".join([f",{head}", *numbered]), "indexed.csv")
    code, wanted, said = run("neighbors", plain, "-p", 2, *kind)
    assert code == 0
    assert run("neighbors", indexed, "-p", 2, *kind) == (0, wanted, SAID.format(indexed) + said)
    assert run("neighbors", indexed, "-p", 2, *kind, "-q") == (0, wanted, "")


def test_ends_of_edges_need_no_name(run, write):
    indexed = write(",parent,weight\n0,1,2\n1,2,1\n2,0,1\n", "tree.csv")
    named = write("source,target,weight\n0,1,2\n1,2,1\n2,0,1\n", "named.csv")
    wanted = run("neighbors", named, "-p", 2)
    assert run("neighbors", indexed, "-p", 2, "--kind", "edges") == wanted
    two = write(",parent\n0,1\n1,2\n", "two.csv")
    assert run("neighbors", two, "-p", 2, "--kind", "edges")[0] == 0


def test_a_weight_without_a_name_is_refused(run, write):
    data = write(",source,target\n0.5,a,b\n0.25,b,c\n")
    code, _, err = run("neighbors", data, "-p", 2)
    assert code == 1
    assert err.endswith("these have no name: ''. Name them or take them out of the file.\n")


def test_the_rows_of_a_matrix_may_be_numbered(run, write):
    data = write(",0,1,2\n0,0,3,0\n1,3,0,1\n2,0,1,0\n")
    code, out, err = run("neighbors", data, "-p", 1, "--kind", "matrix")
    assert (code, out.splitlines()[1:]) == (0, ["0,1,0,1.0,1", "1,1,1,1.0,1", "2,1,2,1.0,1"])
    assert "dropped column" not in err


def advice_of(err):
    """Return the options that an error ends with, as a shell would read them."""
    return shlex.split(err[err.index("To drop them: ") + len("To drop them: ") :])


def test_the_first_cell_that_is_no_number_is_shown(fit, fitted, write):
    data = write("a,b,my col,y\n1,4,5,0.5\n2,,6,1.5\n3,5,7,2.5\n4,?,-,3.5\n")
    code, _, err = fit(data)
    assert code == 1
    assert err == (
        f"walkconv: error: Columns of {data} must hold numbers; these hold something else: "
        "'b' (row 4: '?'), 'my col' (row 4: '-'). Correct or empty these cells or drop them. To "
        "drop them: --drop b --drop 'my col'\n"
    )
    assert fit(data, *advice_of(err), "-q") == (0, "", "")
    assert fitted[-1].X.columns == ["a"]


def test_a_long_cell_is_cut_and_a_date_is_shown(run, tmp_path):
    frame = pl.DataFrame({"a": ["x" * 99], "d": ["2020-02-01"], "n": [1], "y": [0.5]})
    frame.with_columns(pl.col("d").str.to_date()).write_parquet(tmp_path / "t.parquet")
    _, _, err = run("neighbors", tmp_path / "t.parquet", "--kind", "table")
    assert "'d' (row 1: '2020-02-01')" in err
    assert re.search(r"'a' \(row 1: 'x+\.\.\.x+'\)", err)
    assert len(err) < 400


def test_many_columns_are_counted(run, write):
    names = [f"t{i}" for i in range(7)]
    data = write(",".join([*names, "n", "y"]) + "\n" + "x," * 7 + "1,0.5\n")
    _, _, err = run("neighbors", data, "--kind", "table")
    assert "'t4' (row 1: 'x') and 2 more. Encode" in err
    assert err.endswith("--drop t3 --drop t4 and 2 more\n")


def test_no_advice_to_drop_the_last_column(run, write):
    _, _, err = run("neighbors", write("a\nx\n"), "--kind", "table")
    assert err.endswith("'a' (row 1: 'x'). Encode them as numbers.\n")


CELLS = "Correct these cells, or empty those whose value is missing.\n"


def test_what_a_model_needs_is_not_to_be_dropped(run, fit, write, tmp_path):
    train = write("a,b,y\n" + ROWS, "train.csv")
    assert fit(train, "-q")[0] == 0
    new = write("a,b,y\n1,x,0.5\n", "new.csv")
    for code, _, err in (run("predict", tmp_path / "m", new), fit(train, "--test", new, "-q")):
        assert code == 1
        assert err.endswith(
            f"Columns of {new} must hold numbers; these hold something else: 'b' (row 1: 'x'). "
            + CELLS
        )


def test_for_a_model_without_names_text_may_be_kept(run, nameless, write):
    model, path = nameless(1)
    data = write("id,a\nr1,1\n")
    code, _, err = run("predict", path, data)
    assert (code, advice_of(err)) == (1, ["--keep", "id"])
    code, out, err = run("predict", path, data, *advice_of(err))
    assert (code, err) == (0, "")
    assert read(out)["id"].to_list() == ["r1"]
    np.testing.assert_allclose(read(out)["prediction"], model.predict([[1.0]]), rtol=1e-6)


GRAPH = "If it is a graph, add --kind edges or --kind matrix."


def test_a_list_of_edges_under_other_names_is_told_of_its_kind(run, write):
    data = write("from,to\na,b\nb,c\n")
    code, _, err = run("neighbors", data)
    assert code == 1
    assert GRAPH in err
    assert "--drop" not in err
    assert run("neighbors", data, "--kind", "edges")[0] == 0
    weighted = write("from,to,weight\na,b,1\nb,c,2\n")
    err = run("neighbors", weighted)[2]
    assert err.index(GRAPH) < err.index("--drop from --drop to")
    assert GRAPH not in run("neighbors", weighted, "--kind", "table")[2]


def test_a_matrix_whose_rows_have_names_is_told_of_its_kind(run, write):
    data = write(",a,b\na,0,1\nb,1,0\n")
    code, _, err = run("neighbors", data)
    assert code == 1
    assert GRAPH in err
    assert run("neighbors", data, "--kind", "matrix")[0] == 0


@pytest.mark.parametrize("head", ["source,target,weight", "source,target,length"])
def test_weights_are_to_be_mended(run, fit, write, head):
    data = write(f"{head}\na,b,1\nb,c,much\n", "edges.csv")
    table = write("a,b,y\n" + ROWS)
    for code, _, err in (
        run("neighbors", data, "--kind", "edges"),
        fit(table, "--graph", data),
    ):
        assert code == 1
        assert err == (
            f"walkconv: error: Columns of {data} must hold numbers; these hold something else: "
            f"'{head.split(',')[2]}' (row 2: 'much'). Correct these cells.\n"
        )


def test_a_matrix_of_text_may_be_a_list_of_edges(run, fit, write):
    data = write("from,to\na,b\nb,c\n", "edges.csv")
    code, _, err = run("neighbors", data, "--kind", "matrix")
    assert code == 1
    assert err.endswith(
        f"Columns of {data} must hold numbers; these hold something else: 'from' (row 1: 'a'), "
        "'to' (row 1: 'b'). Correct these cells. If it is a list of edges, choose the kind edges.\n"
    )
    code, _, err = fit(write("a,b,y\n" + ROWS), "--graph", data)
    assert code == 1
    assert err.endswith(
        "'to' (row 1: 'b'). Correct these cells. If it is a list of edges, name its columns source "
        "and target.\n"
    )


def test_row_numbers_of_a_fit_are_no_nodes(fit, fitted, write):
    data = write(with_index([0, 1, 2]))
    graph = write(",source,target\n0,a,b\n", "edges.csv")
    code, _, err = fit(data, "--graph", graph)
    assert code == 0, err
    np.testing.assert_array_equal(fitted[-1].model.graph.toarray(), [[0, 1], [1, 0]])
    assert err.splitlines()[:2] == [SAID.format(path).strip() for path in (graph, data)]


def test_row_numbers_from_stdin(run, nameless):
    model, path = nameless(1)
    code, out, err = run("predict", path, "-", stdin=io.BytesIO(b",a\n0,5\n1,6\n"))
    assert (code, err) == (0, SAID.format("-"))
    np.testing.assert_allclose(read(out)["prediction"], model.predict([[5.0], [6.0]]), rtol=1e-6)
