"""Text, categories and dates on the command line, in CSV and in Parquet."""

import io

import numpy as np
import polars as pl
import pytest

import walkconv

FIT = ["--target", "y", "-a", "", "--max-iter", 1, "--n-members", 1, "--random-state", 0]


@pytest.fixture
def table(rng):
    """Forty rows with a name, a colour that may be missing, a size, a day and a code."""
    days = [f"2023-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(40)]
    return pl.DataFrame(
        {
            "name": [f"owner {row}" for row in range(40)],
            "colour": ["red", "green", None, "red"] * 10,
            "size": rng.normal(size=40).round(2),
            "day": days,
            "code": [10, 20, 30, 20] * 10,
            "y": rng.normal(size=40),
        }
    )


def read(text):
    return pl.read_csv(io.StringIO(text))


@pytest.fixture
def fit(run, table, tmp_path):
    def fit(*arguments, ending=".csv"):
        walkconv.io.write_table(table, tmp_path / f"t{ending}")
        return run("fit", tmp_path / f"t{ending}", *FIT, "-o", tmp_path / "m", *arguments)

    return fit


@pytest.mark.filterwarnings("always:Columns of X are not used")
def test_a_csv_with_text_is_fitted_and_predicted(run, fit, table, tmp_path):
    code, _, err = fit("--quiet", "--category", "code")
    assert code == 0
    assert err == (
        "walkconv: warning: Columns of X are not used because their text differs in nearly every "
        "row: 'name'. Drop them, or encode what they tell about the rows.\n"
    )
    model = walkconv.load(tmp_path / "m")
    assert model.node_names_.tolist() == [
        *("colour=green", "colour=red", "colour=(missing)", "size"),
        *("day", "day:year_sin", "day:year_cos", "day:week_sin", "day:week_cos"),
        *("code=10", "code=20", "code=30"),
    ]
    new = table.drop("name", "y").with_columns(colour=pl.lit("pink"), extra=1).reverse()
    new.write_csv(tmp_path / "new.csv")
    code, out, err = run("predict", tmp_path / "m", tmp_path / "new.csv", "--keep", "colour")
    assert (code, err) == (0, "")
    expected = model.predict(new.drop("extra"))
    np.testing.assert_allclose(read(out)["prediction"], expected, rtol=1e-6)
    assert read(out)["colour"].to_list() == ["pink"] * 40


def test_csv_and_parquet_give_the_same_model(fit, table, tmp_path):
    found = []
    for ending in (".csv", ".tsv.gz", ".parquet"):
        assert fit("--drop", "name", "--quiet", ending=ending)[0] == 0
        found.append(walkconv.load(tmp_path / "m").predict(table.drop("name", "y")))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_a_test_table_may_hold_other_categories(fit, table, tmp_path):
    table.with_columns(colour=pl.lit("pink")).write_csv(tmp_path / "test.csv")
    code, _, err = fit("--drop", "name", "--test", tmp_path / "test.csv")
    assert code == 0, err
    assert "R2 on" in err


def test_a_cell_that_is_no_number_is_shown_when_it_comes_to_predict(run, fit, table, tmp_path):
    assert fit("--drop", "name", "-q")[0] == 0
    sizes = ["?" if row == 2 else str(size) for row, size in enumerate(table["size"])]
    table.with_columns(size=pl.Series(sizes)).write_csv(tmp_path / "new.csv")
    code, _, err = run("predict", tmp_path / "m", tmp_path / "new.csv")
    assert code == 1
    assert err.endswith(
        "hold something else: 'size' (row 3: '?'). Correct these cells, or empty those whose "
        "value is missing.\n"
    )


def test_a_graph_of_the_columns_is_one_of_their_nodes(fit, tmp_path):
    (tmp_path / "edges.txt").write_text("colour size 3\n")
    code, _, err = fit("--drop", "name", "--graph", tmp_path / "edges.txt", "-a", "C1", "-p", 2)
    assert code == 0, err
    nodes = walkconv.load(tmp_path / "m").neighbors_table().filter(node="colour=red", rank=2)
    assert nodes["neighbor"].to_list() == ["colour=green"]


def test_codes_that_are_categories_may_be_many_and_written_as_text(run, table, tmp_path):
    many = table.with_columns(code=pl.Series([1000 + row // 2 for row in range(40)]) * 3)
    many.write_csv(tmp_path / "t.csv")
    arguments = ["fit", tmp_path / "t.csv", *FIT, "-o", tmp_path / "m", "-q", "--drop", "name"]
    assert run(*arguments, "--category", "code")[0] == 0
    model = walkconv.load(tmp_path / "m")
    assert "code=3000" in model.node_names_
    many.with_columns(code=pl.Series(range(3000, 3040))).write_csv(tmp_path / "new.csv")
    code, out, err = run("predict", tmp_path / "m", tmp_path / "new.csv")
    assert (code, err) == (0, "")
    expected = model.predict(many.drop("name", "y").with_columns(code=pl.Series(range(3000, 3040))))
    np.testing.assert_allclose(read(out)["prediction"], expected, rtol=1e-6)


def test_a_report_and_a_comparison_take_columns_of_text(run, table, tmp_path):
    rows, model, page = (tmp_path / name for name in ("rows.csv", "m.safetensors", "page.html"))
    table.drop("name").write_csv(rows)
    assert run("fit", rows, *FIT, "-o", model, "-q")[0] == 0
    code, _, err = run("report", model, rows, "--target", "y", "-o", page, "-q")
    assert (code, err) == (0, "")
    assert 'data-column="colour">colour<' in page.read_text(encoding="utf-8")
    code, out, err = run("compare", rows, "--target", "y", "-a", "", "--max-iter", 1, "-q")
    assert code == 0, err
    assert "uses no graph" in out
