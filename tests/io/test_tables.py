"""Tables and columns: what Python users call."""

import gzip
import logging
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from walkconv import io
from walkconv.io import read_table, write_table

TABLE = pl.DataFrame({"a": [1, 2], "b": ["x,y", "z\tw"]})


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.csv.gz", "A.CSV.GZ", "a.tsv", "a.Tsv.Gz"])
def test_what_is_written_can_be_read(tmp_path, name):
    io.write_table(TABLE, tmp_path / name)
    written = (tmp_path / name).read_bytes()
    assert (written[:2] == b"\x1f\x8b") == name.lower().endswith(".gz")
    assert io.read_table(tmp_path / name).equals(TABLE)
    assert io.read_table(str(tmp_path / name)).equals(TABLE)


@pytest.mark.parametrize("name", ["a.doc", "a", "a.npz"])
def test_an_unknown_format_is_refused_before_writing(tmp_path, name):
    with pytest.raises(ValueError, match=r"must end in \.csv, .*; got .*a"):
        io.write_table(TABLE, tmp_path / name)
    assert not any(tmp_path.iterdir())


def test_a_missing_folder_is_refused_and_not_created(tmp_path):
    with pytest.raises(OSError, match="folder that exists"):
        io.write_table(TABLE, tmp_path / "new" / "a.csv")
    assert not any(tmp_path.iterdir())


def test_a_folder_is_not_a_table(tmp_path):
    with pytest.raises(FileNotFoundError, match="must be a file; it is a folder"):
        io.read_table(tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("prize", "Did you mean 'price'?"), ("Price", "Did you mean 'price'?"), ("xyz", "'size'.")],
)
def test_a_mistyped_column_gets_a_suggestion(name, hint):
    table = pl.DataFrame({"price": [1.0], "size": [2.0]})
    for call in (
        lambda: io.select_columns(table, ["size", name]),
        lambda: io.take_features(table, [name]),
        lambda: io.take_features(table, drop=[name]),
        lambda: io.take_target(table, name),
    ):
        with pytest.raises(io.ColumnError) as caught:
            call()
        assert str(caught.value).endswith(hint)
        assert caught.value.columns == (name,)
        assert not caught.value.can_be_dropped


def test_an_error_names_its_columns_and_no_option_of_the_command_line():
    table = pl.DataFrame({"": [7, 3], "id": ["r1", "r2"], "height": [1.5, 2.5]})
    with pytest.raises(io.ColumnError, match=r"no name: ''\. Name them or drop them") as caught:
        io.take_features(table)
    assert (caught.value.columns, caught.value.can_be_dropped) == (("",), True)
    with pytest.raises(io.ColumnError, match="'id'") as caught:
        io.take_features(table, drop=[""])
    assert (caught.value.columns, caught.value.can_be_dropped) == (("id",), True)
    assert "--" not in str(caught.value)
    with pytest.raises(io.ColumnError, match="Correct these cells") as caught:
        io.take_features(table, ["height", "id"])
    assert not caught.value.can_be_dropped
    with pytest.raises(io.ColumnError, match=r"Encode them as numbers\.$") as caught:
        io.take_features(table, drop=["", "height"])
    assert not caught.value.can_be_dropped  # no column would be left


def test_a_dropped_column_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="walkconv"):
        X = io.take_features(pl.DataFrame({"": [0, 1], "a": [1, None]}), source="t.csv")
    assert caplog.messages == ["dropped column '' of t.csv: it has no name and counts the rows"]
    np.testing.assert_array_equal(X.to_numpy(), [[1], [np.nan]])


def test_whole_numbers_written_with_a_point_are_classes_of_integers():
    target = io.take_target(pl.DataFrame({"y": [0.0, 1.0, 1.0, 0.0]}), "y")
    assert (target.task, target.values.dtype) == ("classification", np.int64)
    target = io.take_target(pl.DataFrame({"y": [0.0, 1.0]}), "y", task="regression")
    assert (target.values.dtype, target.reason) == (np.float64, "as asked")


def test_a_target_has_no_empty_cells():
    for empty in (None, np.nan):
        table = pl.DataFrame({"y": [1.0, empty]}, strict=False)
        with pytest.raises(io.ColumnError, match=r"no empty cells; 1 row"):
            io.take_target(table, "y")


def test_the_command_line_uses_public_names_only():
    # Which process this is, and the number of neighbours, before torch is loaded.
    private = {"walkconv._launched", "walkconv._defaults"}
    folder = Path(io.__file__).parents[1] / "cli"
    used = set()
    for file in folder.glob("*.py"):
        for line in file.read_text().splitlines():
            words = line.split()
            if words[:1] in (["from"], ["import"]) and words[1].startswith("walkconv"):
                used.add(words[1])
    assert {name for name in used if not name.startswith("walkconv.cli")} == private | {
        *("walkconv", "walkconv.io", "walkconv.graphs")
    }


def test_a_compressed_table_that_is_cut_short_or_swells_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    for content in (packed[:-5], packed[:30], b"a,b\n1,2\n"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"must be a whole gzip file; it is cut short"):
            read_table(path)
    path.write_bytes(gzip.compress(bytes(200 * 2**20)))
    with pytest.raises(ValueError, match=r"must not unpack to more than 8. MiB.*unpack it first"):
        read_table(path)


def test_an_array_that_says_more_than_it_has_is_refused(tmp_path):
    path = tmp_path / "t.npz"
    for shape in ("(1000000000, 1000000)", "(3,", "(-1, 2)"):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("X.npy", content + bytes(64))
        with pytest.raises(ValueError, match=r"t\.npz must hold whole arrays; X\.npy"):
            read_table(path)


@pytest.mark.parametrize("shape", [(0, 2**31 - 1), (2**31 - 1, 0), (0, 0)])
def test_an_array_of_nothing_is_refused_whatever_sides_it_says(tmp_path, shape):
    np.savez(tmp_path / "t.npz", X=np.empty(shape))
    with pytest.raises(ValueError, match="at least one row and one column; it has the shape"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n\n", [(1, 2)]),
        ("a,b\r\n\r\n1,2\r\n\r\n3,4\r\n", [(1, 2), (3, 4)]),
        ("\n\na,b\n1,2\n\n", [(1, 2)]),
        ("a,b\n1,2\n,\n\n3,4\n", [(1, 2), (None, None), (3, 4)]),
        ('a,b\n1,"x\n\ny"\n\n', [(1, "x\n\ny")]),
        ("a\n1\n\n2\n", [(1,), (None,), (2,)]),
    ],
)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_blank_line_is_no_row_of_a_table_with_several_columns(tmp_path, text, rows, ending):
    path = tmp_path / f"t{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending == ".csv.gz" else text.encode())
    assert read_table(path).rows() == rows


def test_blank_lines_beside_a_very_long_cell_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n1,{'x' * 200_000}\n\n")
    with pytest.raises(ValueError, match=r"must not have empty rows beside odd quotes or cells of"):
        read_table(tmp_path / "t.csv")


def test_names_that_appear_twice_and_old_ends_of_lines_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b,a\n1,2,3\n")
    with pytest.raises(ValueError, match="a name of its own for each column; found twice: 'a'"):
        read_table(path)
    path.write_bytes(b"a,b\r1,2\r3,4\r")
    with pytest.raises(ValueError, match="must end its lines with a line feed; they end with"):
        read_table(path)


def test_a_closed_output_is_named(monkeypatch):
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(OSError, match="Standard output must be open; it is closed"):
        write_table(pl.DataFrame({"a": [1]}), "-")
