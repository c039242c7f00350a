import gzip
import io
import re

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import walkconv
from walkconv.estimators.settings import FIXED

EDGES = "source,target,weight\nb,a,3\nb,c,-1\nd,d,1\n"
EXPECTED = """node,rank,neighbor,visits,sign
a,1,a,1.0,1
a,2,b,1.0,1
b,1,b,1.0,1
b,2,a,0.75,1
c,1,c,1.0,1
c,2,b,1.0,-1
d,1,d,2.0,1
"""
SAID = "4 nodes, 5 edges, 1 step(s): 75.0% of the nodes fill all 2 slots\n"


def parquet(path):
    pl.read_csv(io.StringIO(EDGES)).write_parquet(path)


WRITERS = {
    "edges.csv": lambda path: path.write_text(EDGES),
    "edges.csv.gz": lambda path: path.write_bytes(gzip.compress(EDGES.encode())),
    "edges.tsv": lambda path: path.write_text(EDGES.replace(",", "\t")),
    "edges.parquet": parquet,
    "edges.txt": lambda path: path.write_text("# a comment\nb a 3\n\nb\tc -1\n% another\nd d 1"),
    "edges.txt.gz": lambda path: path.write_bytes(gzip.compress(b"b a 3\nb c -1\nd d 1\n")),
}


@pytest.mark.parametrize("name", WRITERS)
def test_edges_of_every_format(run, tmp_path, name):
    WRITERS[name](tmp_path / name)
    assert run("neighbors", tmp_path / name, "-p", 2) == (0, EXPECTED, SAID)


MATRIX = np.array([[0, 3, 0, 0], [3, 0, -1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
MARKET = """%%MatrixMarket matrix coordinate integer symmetric
4 4 3
2 1 3
3 2 -1
4 4 1
"""


def csr_arrays(path):
    matrix = sp.csr_array(MATRIX)
    np.savez(path, indptr=matrix.indptr, indices=matrix.indices, data=matrix.data, n=4)


MATRIX_WRITERS = {
    "graph.mtx": lambda path: path.write_text(MARKET),
    "graph.mtx.gz": lambda path: path.write_bytes(gzip.compress(MARKET.encode())),
    "graph.npz": csr_arrays,
    "scipy.npz": lambda path: sp.save_npz(path, sp.coo_array(MATRIX)),
}


@pytest.mark.parametrize("name", MATRIX_WRITERS)
def test_matrices_of_every_format(run, tmp_path, name):
    MATRIX_WRITERS[name](tmp_path / name)
    code, out, err = run("neighbors", tmp_path / name, "-p", 2)
    names = dict(zip("abcd", "1234" if "mtx" in name else "0123", strict=True))
    assert (code, err) == (0, SAID)
    assert out == re.sub(r"\b[abcd]\b", lambda found: names[found[0]], EXPECTED)


MATRIX_TABLES = {
    "square.csv": "a,b,c,d\n0,3,0,0\n3,0,-1,0\n0,-1,0,0\n0,0,0,1\n",
    "named.csv": ",a,b,c,d\na,0,3,0,0\nb,3,0,-1,0\nc,0,-1,0,0\nd,0,0,0,1\n",
    "shuffled.tsv": "n\ta\tb\tc\td\nb\t3\t0\t-1\t0\nd\t0\t0\t0\t1\na\t0\t3\t0\t0\nc\t0\t-1\t0\t0\n",
}


@pytest.mark.parametrize("name", [*MATRIX_TABLES, "square.parquet"])
def test_a_square_table_may_be_a_matrix(run, tmp_path, name):
    if name == "square.parquet":
        pl.DataFrame(MATRIX, schema=list("abcd")).write_parquet(tmp_path / name)
    else:
        (tmp_path / name).write_text(MATRIX_TABLES[name])
    assert run("neighbors", tmp_path / name, "-p", 2, "--kind", "matrix") == (0, EXPECTED, SAID)


def test_a_matrix_in_a_table_is_read_from_row_to_column(run, tmp_path):
    (tmp_path / "a.csv").write_text("n,x,y\ny,0,0\nx,0,1\n")
    _, out, _ = run("neighbors", tmp_path / "a.csv", "-p", 2, "-q", "--kind", "matrix")
    assert out.splitlines()[1:] == ["x,1,x,1.0,1", "x,2,y,1.0,1", "y,1,y,2.0,1"]


@pytest.mark.parametrize("names", ["from,to,strength", "source,target,length"])
def test_edges_may_have_columns_of_any_name(run, tmp_path, names):
    (tmp_path / "a.csv").write_text(EDGES.replace("source,target,weight", names))
    assert run("neighbors", tmp_path / "a.csv", "-p", 2, "--kind", "edges") == (0, EXPECTED, SAID)


def test_by_default_there_are_9_neighbours_or_all_nodes(run, tmp_path):
    (tmp_path / "four.txt").write_text("0 1\n1 2\n2 3\n")
    assert "fill all 4 slots" in run("neighbors", tmp_path / "four.txt")[2]
    (tmp_path / "path.txt").write_text("\n".join(f"{i} {i + 1}" for i in range(11)))
    assert "fill all 9 slots" in run("neighbors", tmp_path / "path.txt")[2]
    assert FIXED["n_neighbors"] == 9


@pytest.mark.parametrize(("n_steps", "n_kept"), [(1, 2), (2, 4)])
def test_of_many_columns_the_strongest_edges_are_kept(
    run, tmp_path, rng, monkeypatch, n_steps, n_kept
):
    X = rng.normal(size=(30, 7)).cumsum(axis=1)
    np.savez(tmp_path / "wide.npz", X=X)
    arguments = ["neighbors", tmp_path / "wide.npz", "-p", 3, "-k", n_steps, "--kind", "table"]
    _, whole, said = run(*arguments)
    assert "7 nodes, 49 edges" in said
    monkeypatch.setattr("walkconv.graphs.correlation.graph.MANY_NODES", 6)
    monkeypatch.setattr("walkconv.graphs.correlation.graph.KEPT_EDGES", 4)
    code, out, said = run(*arguments)
    assert code == 0
    assert said.startswith(
        f"keeping only the {n_kept} strongest correlations of each of the 7 columns; "
        "the walk uses these\n"
    )
    found, expected = (pl.read_csv(io.StringIO(text)) for text in (out, whole))
    if n_steps == 1:  # more edges would change nothing but the number of visits
        ranks = ["node", "rank", "neighbor", "sign"]
        assert found.select(ranks).equals(expected.select(ranks))
    graph = walkconv.correlation_graph(X, n_edges=n_kept)
    wanted = walkconv.select_neighbors(graph, n_neighbors=3, n_steps=n_steps)
    np.testing.assert_allclose(found["visits"].to_numpy().reshape(7, 3), wanted.visits)


def test_a_matrix_is_the_graph_as_it_stands(run, tmp_path):
    np.savez(tmp_path / "graph.npz", indptr=[0, 1, 1], indices=[1])
    _, out, _ = run("neighbors", tmp_path / "graph.npz", "-p", 2, "-q")
    assert out.splitlines()[1:] == ["0,1,0,1.0,1", "0,2,1,1.0,1", "1,1,1,2.0,1"]


def test_arrays_that_are_no_matrix_are_refused(run, tmp_path):
    np.savez(tmp_path / "graph.npz", indptr=[0, 1, 1], indices=[7])
    code, _, err = run("neighbors", tmp_path / "graph.npz", "-p", 1)
    assert code == 1
    assert "its indices must lie between 0 and 1, but one is 7" in err


@pytest.mark.parametrize("names", ["letters", "numbers"])
def test_an_npz_holds_the_arrays(run, tmp_path, names):
    text = "b a 3\nb c -1\nd d 1\n" if names == "letters" else "7 5 3\n7 9 -1\n11 11 1\n"
    (tmp_path / "edges.txt").write_text(text)
    assert run("neighbors", tmp_path / "edges.txt", "-p", 2, "-o", tmp_path / "n.npz")[0] == 0
    expected = walkconv.select_neighbors(MATRIX, n_neighbors=2)
    with np.load(tmp_path / "n.npz", allow_pickle=False) as written:
        assert written["names"].tolist() == (
            ["a", "b", "c", "d"] if names == "letters" else [5, 7, 9, 11]
        )
        for name in ("index", "visits", "sign"):
            np.testing.assert_array_equal(written[name], getattr(expected, name))


def test_edges_read_in_pieces_are_the_same(run, tmp_path, monkeypatch):
    (tmp_path / "edges.txt").write_text("# a comment\n3 1 3\n\n3 02 -1\nd 4 1\n3 x 1\n")
    whole = run("neighbors", tmp_path / "edges.txt", "-p", 2)
    monkeypatch.setattr("walkconv.io.edge_lists.PIECE", 1)
    assert run("neighbors", tmp_path / "edges.txt", "-p", 2) == whole
    (tmp_path / "edges.txt").write_text("1 2\n2 3\n\n# no\n4\n")
    assert "line 5 is '4'" in run("neighbors", tmp_path / "edges.txt", "-p", 2)[2]


def test_a_checkpoint_is_continued_and_known(run, tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    arguments = ("neighbors", tmp_path / "edges.csv", "--checkpoint", tmp_path / "rows")
    for _ in range(2):
        assert run(*arguments, "-p", 2) == (0, EXPECTED, SAID)
    code, _, err = run(*arguments, "-p", 3)
    assert code == 1
    assert "The checkpoint rows belongs to another selection: n_neighbors was 2 and is 3" in err


def test_edges_from_stdin_to_a_file(run, tmp_path):
    output = tmp_path / "nbrs.csv"
    stdin = io.BytesIO(EDGES.encode())
    assert run("neighbors", "-", "-p", 2, "-k", 1, "-o", output, stdin=stdin) == (0, "", SAID)
    assert output.read_text() == EXPECTED


def test_written_formats_hold_the_same(run, tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    for name in ("out.parquet", "out.csv.gz", "out.tsv"):
        code, _, _ = run("neighbors", tmp_path / "edges.csv", "-p", 2, "-o", tmp_path / name)
        assert code == 0
    expected = pl.read_csv(io.StringIO(EXPECTED))
    written = pl.read_parquet(tmp_path / "out.parquet")
    assert written.with_columns(pl.col("sign").cast(pl.Int64)).equals(expected)
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()).decode() == EXPECTED
    assert (tmp_path / "out.tsv").read_text() == EXPECTED.replace(",", "\t")


def test_directed_edges_lead_one_way(run, tmp_path):
    (tmp_path / "edges.csv").write_text(EDGES)
    _, out, _ = run("neighbors", tmp_path / "edges.csv", "-p", 2, "--directed")
    rows = out.splitlines()[1:]
    assert [row for row in rows if row.startswith("a")] == ["a,1,a,2.0,1"]
    assert [row for row in rows if row.startswith("b")] == ["b,1,b,1.0,1", "b,2,a,0.75,1"]


def test_numbered_nodes_are_ordered_by_their_number(run, tmp_path):
    (tmp_path / "edges.txt").write_text("9 10\n10 2\n")
    _, out, _ = run("neighbors", tmp_path / "edges.txt", "-p", 1)
    assert [row.split(",")[0] for row in out.splitlines()] == ["node", "2", "9", "10"]


def test_steps_are_those_of_the_library(run, tmp_path):
    (tmp_path / "path.txt").write_text("0 1\n1 2\n2 3\n3 4\n")
    _, out, err = run("neighbors", tmp_path / "path.txt", "-p", 3, "-k", "auto")
    path = walkconv.graph_from_edges([[0, 1, 2, 3], [1, 2, 3, 4]])
    expected = walkconv.select_neighbors(path, n_neighbors=3, n_steps="auto")
    assert expected.n_steps == 2
    assert "2 step(s): 100.0% of the nodes fill all 3 slots" in err
    listing = pl.read_csv(io.StringIO(out))
    np.testing.assert_array_equal(listing["neighbor"].to_numpy().reshape(5, 3), expected.index)
    np.testing.assert_allclose(listing["visits"].to_numpy().reshape(5, 3), expected.visits)


@pytest.fixture
def table(tmp_path, rng):
    """A table of three related columns, one of which is the negative of another, and an id."""
    X = rng.normal(size=(20, 3)).cumsum(axis=1)
    X[:, 2] = -X[:, 0]
    names = [f"row{i}" for i in range(20)]
    frame = pl.DataFrame(X, schema=["height", "width", "depth"]).insert_column(
        0, pl.Series("id", names)
    )
    frame.write_csv(tmp_path / "table.csv")
    return tmp_path / "table.csv"


def test_columns_of_a_table_are_joined_by_their_correlation(run, table):
    code, out, err = run("neighbors", table, "-p", 2, "--drop", "id")
    assert code == 0
    listing = pl.read_csv(io.StringIO(out))
    assert listing["node"].to_list() == ["height"] * 2 + ["width"] * 2 + ["depth"] * 2
    assert listing.filter(node="height")["neighbor"].to_list() == ["height", "depth"]
    assert listing.filter(node="height")["sign"].to_list() == [1, -1]
    assert err == (
        f"read {table} as a table: 3 columns, edges are their correlations; "
        "add --kind edges or --kind matrix if it is a graph\n"
        "3 nodes, 9 edges, 1 step(s): 100.0% of the nodes fill all 2 slots\n"
    )
    known = run("neighbors", table, "-p", 2, "--drop", "id", "--kind", "table")
    assert known == (0, out, err.split("\n", 1)[1])


def test_empty_cells_of_a_table_are_missing_values(run, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,\n4,5\n2,1\n")
    code, out, _ = run("neighbors", tmp_path / "a.csv", "-p", 2, "-q")
    assert (code, len(out.splitlines())) == (0, 5)


def test_npz_tables_may_name_their_columns(run, tmp_path, rng):
    X = rng.normal(size=(9, 3))
    np.savez(tmp_path / "named.npz", X=X, feature_names=["p", "q", "r"])
    np.savez(tmp_path / "plain.npz", X=X)
    _, out, _ = run("neighbors", tmp_path / "named.npz", "-p", 1)
    assert [row.split(",")[0] for row in out.splitlines()] == ["node", "p", "q", "r"]
    _, out, _ = run("neighbors", tmp_path / "plain.npz", "-p", 1)
    assert [row.split(",")[0] for row in out.splitlines()] == ["node", "x0", "x1", "x2"]


def test_kind_decides_where_the_columns_mislead(run, tmp_path):
    (tmp_path / "a.csv").write_text("source,target\n1,2\n2,4.5\n3,5\n")
    assert run("neighbors", tmp_path / "a.csv", "-p", 1)[2].startswith("6 nodes")
    _, _, err = run("neighbors", tmp_path / "a.csv", "-p", 1, "--kind", "table")
    assert err.startswith("2 nodes")


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_line(run, tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,7\n2,4,7\n3,5,7\n")
    code, _, err = run("neighbors", tmp_path / "a.csv", "-p", 1, "--kind", "table")
    assert code == 0
    assert err.startswith("walkconv: warning: 1 constant column(s) have no correlation")


@pytest.mark.parametrize(
    ("name", "content", "arguments", "message"),
    [
        ("a.csv", "id,x\na,1\nb,2\n", [], r"something else: 'id' \(row 1: 'a'\)\..*--drop id"),
        (
            "a.csv",
            "x,y\n1,2\n3,4\n",
            ["--drop", "z"],
            r"the column 'z'; it has 2 columns: 'x', 'y'",
        ),
        ("a.csv", "x\n1\n", ["--kind", "edges"], "source, target and.* it has 1 .*: 'x'"),
        ("a.csv", "a,b,c,d\n1,2,3,4\n", ["--kind", "edges"], "it has 4 .*: 'a', 'b', 'c', 'd'"),
        ("a.csv", "a,b,c\n1,2,no\n", ["--kind", "edges"], r"something else: 'c' \(row 1: 'no'\)"),
        ("a.csv", "x,y,z\n1,2,3\n", ["--kind", "matrix"], r"3 column\(s\) of weights and 1 row"),
        ("a.csv", "n,x,y\nx,1,2\nz,3,4\n", ["--kind", "matrix"], "its rows are 'x', 'z'"),
        ("a.csv", "x,y\n1,no\n2,3\n", ["--kind", "matrix"], "something else: 'y'"),
        ("a.txt", "no", ["--kind", "matrix"], r"must be a Matrix Market file; .*[^.]\.$"),
        ("a.csv", "x\n1\n3\n", ["--drop", "x"], "at least one feature column"),
        ("a.csv", "", [], "could not be read"),
        ("a.csv", "x,y\n", [], "at least one row below its header; it has no rows"),
        ("a.xlsx", "", [], "must end in .csv, .*got .*a.xlsx"),
        ("a.parquet", "nonsense", [], "could not be read"),
        ("a.txt", "1 2\n1 2 3 4\n", [], "line 2 is '1 2 3 4'. Begin comments with #"),
        ("a.txt", "1 2\n1 2 3\n", [], "line 2 is '1 2 3'"),
        ("a.txt", "# nothing\n", [], "at least one edge; it has no edges"),
        ("a.csv", "source,target\na,b\na,\n", [], "must have a source and a target"),
        ("a.csv", "source,target,weight\na,b,much\n", [], "something else: 'weight'"),
        ("a.csv", "x,y\n1,2\n3,4\n", ["--directed"], "directed is for a list of edges;.*a table"),
        ("a.mtx", MARKET, ["--directed"], "directed is for a list of edges;.*a matrix"),
        ("a.mtx", MARKET, ["--drop", "x"], "--drop is for columns of a table;.*as a graph"),
        ("a.csv", EDGES, ["--drop", "x"], "--drop is for columns of a table;.*as a graph"),
        ("a.csv", EDGES, ["-p", "9"], r"at most the number of nodes \(4\); got 9"),
    ],
)
def test_bad_input_is_one_clear_line(run, tmp_path, name, content, arguments, message):
    (tmp_path / name).write_text(content)
    code, out, err = run("neighbors", tmp_path / name, *arguments)
    assert code == 1
    assert out == ""
    assert err.count("\n") == 1
    assert re.search(message, err), err


def test_npz_needs_a_table(run, tmp_path):
    np.savez(tmp_path / "a.npz", y=np.ones(3))
    assert (
        "must have an array X of two dimensions; it has {'y': (3,)}"
        in run("neighbors", tmp_path / "a.npz")[2]
    )


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("01 a\n02 01\n02 a\n", ["01", "02", "a"]),
        ("01 1\n1 2\n", ["01", "1", "2"]),
        ("12345678901234567890 12345678901234567891\n1 2\n", None),
        ("1.0 1\n1 2\n", ["1", "1.0", "2"]),
        ("10 9\n9 2\n", ["2", "9", "10"]),
    ],
)
def test_nodes_keep_the_names_they_have(run, tmp_path, lines, names):
    (tmp_path / "a.txt").write_text(lines)
    code, out, _ = run("neighbors", tmp_path / "a.txt", "-p", 1, "-q")
    assert code == 0
    found = [line.split(",")[0] for line in out.splitlines()[1:]]
    assert found == (names or sorted(set(lines.split())))


def test_an_npz_in_capitals_is_written_and_nothing_is_left_behind(run, tmp_path):
    (tmp_path / "a.csv").write_text(EDGES)
    assert run("neighbors", tmp_path / "a.csv", "-p", 2, "-q", "-o", tmp_path / "OUT.NPZ")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["OUT.NPZ", "a.csv"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npz", b"", "must be an npz file"),
        ("a.npz", b"no archive", "must be an npz file"),
        ("a.mtx", b"no matrix", "a.mtx must be a Matrix Market file"),
    ],
)
def test_files_that_are_no_matrix_are_named(run, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    code, _, err = run("neighbors", tmp_path / name)
    assert code != 0
    assert message in " ".join(err.split())
