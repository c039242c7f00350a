import gzip
import io
import sys

import numpy as np
import polars as pl
import pytest

from walkconv.io import read_table, read_table_parts, write_table_parts

FRAME = pl.DataFrame(
    {
        "height": [1.5, None, 3.0, 4.0, 5.25, 6.0, 7.0],
        "colour": ["red", 'a "deep" blue', "two\nlines", "green, mixed", "", "Zürich", "red"],
        "count": [1, 2, 3, 4, 5, 6, 7],
    }
)
AS_TEXT = FRAME.with_columns(pl.col("colour").replace("", None))
"""In text an empty cell is a missing value."""


@pytest.mark.parametrize("n_bytes", [1, 7, 20, 50, 10_000])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet", "-"])
def test_the_parts_of_a_table_are_the_table(tmp_path, monkeypatch, ending, n_bytes):
    path = str(tmp_path / f"table{ending}")
    separator = "\t" if ending == ".tsv" else ","
    text = FRAME.write_csv(separator=separator).encode()
    if ending == ".parquet":
        FRAME.write_parquet(path)
    elif ending == ".csv.gz":
        (tmp_path / "table.csv.gz").write_bytes(gzip.compress(text))
    elif ending == "-":
        path = "-"
        monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": io.BytesIO(text)}))
    else:
        (tmp_path / f"table{ending}").write_bytes(text)
    parts = list(read_table_parts(path, numbers=["height"], n_bytes=n_bytes))
    assert (len(parts) > 1) == (n_bytes < 10_000)
    assert all(part.height for part in parts)
    whole = (
        FRAME if ending == ".parquet" else FRAME.with_columns(pl.col("colour").replace("", None))
    )
    assert pl.concat(parts).equals(whole)


def test_an_npz_is_read_in_parts_too(tmp_path):
    X = np.arange(12.0).reshape(6, 2)
    np.savez(tmp_path / "table.npz", X=X)
    parts = list(read_table_parts(tmp_path / "table.npz", n_bytes=32))
    assert [part.height for part in parts] == [2, 2, 2]
    np.testing.assert_array_equal(pl.concat(parts).to_numpy(), X)


def test_the_first_part_decides_the_types_as_long_as_the_cells_fit(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("code,x,n\n" + "a,1,1\n" * 3 + "7,2,1.5\n" * 3)
    first, *others = read_table_parts(path, n_bytes=18, numbers=["x"])
    assert first.schema == {"code": pl.String, "x": pl.Float64, "n": pl.Int64}
    assert pl.concat([each.select("code") for each in (first, *others)]).height == 6
    assert {each.schema["n"] for each in others} == {pl.Float64}


def test_blank_lines_before_the_header_and_between_rows_are_no_rows(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n\nx,y\n1,2\n\n3,4\n\n\n5,6\n")
    found = pl.concat(read_table_parts(path, n_bytes=5))
    assert found.equals(read_table(path))
    assert found["x"].to_list() == [1, 3, 5]


def test_a_header_of_a_space_is_a_header(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("\n \n1\n\n2\n")
    found = pl.concat(read_table_parts(path, n_bytes=2))
    assert found.equals(read_table(path))
    assert found.columns == [" "]


def test_a_table_without_rows_is_refused(tmp_path):
    (tmp_path / "table.csv").write_text("x,y\n")
    pl.DataFrame(schema={"x": pl.Float64}).write_parquet(tmp_path / "table.parquet")
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(ValueError, match="at least one row"):
            list(read_table_parts(tmp_path / name))


def test_a_wrong_file_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file"):
        read_table_parts(tmp_path / "nothing.csv")
    (tmp_path / "table.doc").write_text("x\n1\n")
    with pytest.raises(ValueError, match=r"must end in \.csv"):
        read_table_parts(tmp_path / "table.doc")


def test_a_row_that_cannot_be_read_is_placed(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("x,y\n" + "1,2\n" * 10 + "1,2,3,4\n")
    with pytest.raises(ValueError, match=r"table\.csv could not be read") as caught:
        list(read_table_parts(path, n_bytes=40))
    assert caught.value.__notes__ == ["(This is in the rows after row 10.)"]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_parts_are_written_as_one_table(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    whole = FRAME.with_columns(pl.col("height").fill_null(0.0))
    write_table_parts(whole.iter_slices(2), path)
    wanted = FRAME if ending == ".parquet" else AS_TEXT
    assert read_table(path).equals(wanted.with_columns(pl.col("height").fill_null(0.0)))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_nothing_is_written_if_a_later_part_fails(tmp_path, ending):
    def parts():
        yield FRAME
        yield FRAME
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_table_parts(parts(), tmp_path / f"table{ending}")
    assert not list(tmp_path.iterdir())


def test_a_parquet_column_of_two_types_is_refused(tmp_path):
    parts = [pl.DataFrame({"x": [1]}), pl.DataFrame({"x": ["a"]})]
    with pytest.raises(ValueError, match=r"'x' holds Int64 in the first rows and String later"):
        write_table_parts(parts, tmp_path / "table.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["a\n1\n ", "a,b\n1,2\n\t ,3\n", 'a,b\n1,2\n3," "\n'])
def test_a_cell_of_spaces_is_not_an_empty_cell(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text)
    whole = read_table(path)
    parts = list(read_table_parts(path, numbers=whole.columns, n_bytes=4))
    found = pl.concat([part.cast(pl.String) for part in parts])
    assert found.null_count().sum_horizontal().item() == 0
    assert [part.schema for part in parts][-1] != parts[0].schema
    assert found.select(pl.all().str.strip_chars() == "").sum().sum_horizontal().item() == 1


def test_a_row_that_never_ends_is_refused_early(tmp_path, monkeypatch):
    monkeypatch.setattr("walkconv.io.parts.MOST_ROW_BYTES", 100)
    path = tmp_path / "table.csv"
    path.write_text('a,b\n1,2\n"3,4\n' + "5,6\n" * 1000)
    with pytest.raises(ValueError, match=r"rows of at most .* MiB.*quote missing"):
        list(read_table_parts(path, n_bytes=16))


def test_quotes_are_followed_back_to_the_last_whole_row(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('a,b\n1,"x"\n2,"y\n' + "\n" * 50_000 + '"\n3,"z"\n')
    found = pl.concat(read_table_parts(path, n_bytes=40_000))
    assert found["a"].to_list() == [1, 2, 3]
    assert found.equals(read_table(path))


READERS = {"whole": read_table, "in parts": lambda path: list(read_table_parts(path))}


@pytest.mark.parametrize("way", READERS)
@pytest.mark.parametrize("text", ["a," * 2000, 'a,"b' + "\n1,2" * 2000])
def test_a_header_of_too_many_columns_is_refused(tmp_path, monkeypatch, way, text):
    monkeypatch.setattr("walkconv.io.csv_text.MOST_COLUMNS", 1000)
    path = tmp_path / "table.csv"
    path.write_text(text + "\n1,2\n")
    with pytest.raises(ValueError, match="header of at most 1,000 columns"):
        READERS[way](path)


@pytest.mark.parametrize("way", READERS)
def test_a_long_table_of_carriage_returns_is_refused_before_it_is_read(tmp_path, monkeypatch, way):
    monkeypatch.setattr("walkconv.io.csv_text.MOST_COLUMNS", 1000)
    monkeypatch.setattr("polars.read_csv", None)
    path = tmp_path / "table.csv"
    path.write_text("a,b\r" + "1,2\r" * 2000)
    with pytest.raises(ValueError, match="end its lines with a line feed"):
        READERS[way](path)
