"""`walkconv predict` on tables that are read in parts."""

import io

import numpy as np
import polars as pl
import pytest

import walkconv
from walkconv.io import parts


@pytest.fixture
def model(run, tmp_path, tiny, rng):
    frame = pl.DataFrame(rng.normal(size=(40, 3)), schema=["a", "b", "c"])
    frame = frame.with_columns(y=pl.col("a") > 0, id=pl.Series([f"r{i}" for i in range(40)]))
    frame.write_csv(tmp_path / "data.csv")
    path = tmp_path / "m.safetensors"
    data = tmp_path / "data.csv"
    assert run("fit", data, "--target", "y", "--drop", "id", "-o", path, *tiny, "-q")[0] == 0
    return path


@pytest.fixture
def small_parts(monkeypatch):
    """Let a part have about five rows."""
    read = parts.read_table_parts
    monkeypatch.setattr(
        "walkconv.io.read_table_parts", lambda path, **kw: read(path, **kw, n_bytes=300)
    )


def test_predictions_of_parts_are_those_of_the_whole_table(run, model, tmp_path, monkeypatch):
    data = tmp_path / "data.csv"
    whole = run("predict", model, data, "--keep", "id", "--keep", "y")
    assert whole[0] == 0
    read = parts.read_table_parts
    heights = []

    def watched(path, **kw):
        for part in read(path, **kw, n_bytes=300):
            heights.append(part.height)
            yield part

    monkeypatch.setattr("walkconv.io.read_table_parts", watched)
    assert run("predict", model, data, "--keep", "id", "--keep", "y") == whole
    assert len(heights) > 5
    stream = io.BytesIO(data.read_bytes())
    assert run("predict", model, "-", "--keep", "id", "--keep", "y", stdin=stream) == whole
    for ending in (".csv", ".csv.gz", ".parquet"):
        output = tmp_path / f"out{ending}"
        assert run("predict", model, data, "-o", output, "--keep", "id")[0] == 0
        found = pl.read_parquet(output) if ending == ".parquet" else pl.read_csv(output)
        assert found["id"].to_list() == [f"r{i}" for i in range(40)]
        wanted = pl.read_csv(io.StringIO(whole[1]))["probability_True"]
        np.testing.assert_allclose(found["probability_True"], wanted, rtol=1e-12)


@pytest.mark.parametrize(
    ("cell", "said"), [("x1", "(row 33: 'x1')"), ("inf", "infinity in row 33")]
)
def test_an_odd_cell_far_below_is_named_by_its_row(run, model, tmp_path, small_parts, cell, said):
    lines = (tmp_path / "data.csv").read_text().splitlines()
    lines[33] = f"0.5,{cell},0.5,true,r32"
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    code, _, err = run("predict", model, tmp_path / "odd.csv", "-o", tmp_path / "out.csv")
    assert code == 1
    assert said in err
    assert "'b'" in err
    assert not (tmp_path / "out.csv").exists()


def test_a_model_without_names_takes_the_columns_of_the_first_part(
    run, nameless, tmp_path, small_parts
):
    model, path = nameless(2)
    X = np.random.default_rng(1).normal(size=(60, 2))
    frame = pl.DataFrame(X, schema=["u", "v"]).insert_column(0, pl.Series("", range(60)))
    frame.write_csv(tmp_path / "new.csv")
    code, out, err = run("predict", path, tmp_path / "new.csv")
    assert (code, err.count("dropped column ''")) == (0, 1)
    found = pl.read_csv(io.StringIO(out))["prediction"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-6)


def test_a_large_parquet_file_is_fitted_in_blocks(run, tiny, tmp_path, monkeypatch, rng):
    frame = pl.DataFrame(rng.normal(size=(50, 3)), schema=["a", "b", "c"])
    frame = frame.with_columns(y=pl.col("a") * 2, id=pl.Series([f"r{i}" for i in range(50)]))
    data, models = tmp_path / "data.parquet", [tmp_path / "one.st", tmp_path / "two.st"]
    frame.write_parquet(data)
    words = ["fit", data, "--target", "y", "--drop", "id", *tiny, "--task", "regression", "-o"]
    assert run(*words, models[0])[0] == 0
    monkeypatch.setattr(parts, "LARGE_BYTES", 1000)
    code, _, err = run(*words, models[1])
    assert code == 0
    assert "50 rows, 3 features" in err
    assert "it is read in blocks" in err
    X = frame.select("a", "b", "c")
    found, wanted = (walkconv.load(model).predict(X) for model in models)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    code, _, err = run("fit", data, "--target", "z", "--drop", "id", "-o", models[1])
    assert code == 1
    assert "must have the column 'z'" in err
