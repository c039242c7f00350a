"""Graphs and neighbours in files: what Python users call."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

import walkconv
from walkconv import io

EDGES = "source,target,weight\nb,a,3\nb,c,-1\n"
WEIGHTS = [[0, 3, 0], [3, 0, -1], [0, -1, 0]]


@pytest.fixture
def write(tmp_path):
    def write(text, name="g.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_edges_and_a_square_table_are_the_same_graph(write):
    edges = io.read_graph(write(EDGES))
    matrix = io.read_graph(write("a,b,c\n0,3,0\n3,0,-1\n0,-1,0\n"))
    for found in (edges, matrix):
        assert found.names.to_list() == ["a", "b", "c"]
        assert isinstance(found.graph, sp.csr_array)
        np.testing.assert_array_equal(found.graph.toarray(), WEIGHTS)


def test_directed_edges_lead_one_way(write):
    graph = io.read_graph(write(EDGES), directed=True).graph
    np.testing.assert_array_equal(graph.toarray(), [[0, 0, 0], [3, 0, -1], [0, 0, 0]])


@pytest.mark.parametrize("read", [io.read_graph, io.read_graph_or_table])
def test_only_edges_can_be_directed(read, write):
    path = write("a,b\n0,1\n1,0\n")
    with pytest.raises(ValueError, match=r"directed is for a list of edges; .* is read as a"):
        read(path, directed=True)


def test_the_kind_decides(write):
    path = write("from,to\n0,1\n1,2\n")
    assert io.read_graph(path, kind="edges").names.to_list() == [0, 1, 2]
    assert io.read_graph(path, kind="matrix").names.to_list() == ["from", "to"]
    assert isinstance(io.read_graph_or_table(path), pl.DataFrame)
    edges = write(EDGES)
    assert isinstance(io.read_graph_or_table(edges), io.NamedGraph)
    assert io.read_graph_or_table(edges, kind="table").columns == ["source", "target", "weight"]
    with pytest.raises(ValueError, match="kind must be one of"):
        io.read_graph(path, kind="table")


def test_a_table_with_more_columns_than_edges_is_a_table(write):
    path = write("source,target,height\n1,2,3\n2,3,4\n")
    assert isinstance(io.read_graph_or_table(path), pl.DataFrame)
    assert io.read_graph(path).graph[0, 1] == 3


def test_nodes_are_matched_with_columns_by_name_then_by_number(write):
    named = io.read_graph(write(EDGES))
    found = named.align(["c", "d", "a", "b"]).toarray()
    assert (found[3, 2], found[3, 0], np.count_nonzero(found)) == (3, -1, 4)
    numbered = io.read_graph(write("1 0 3\n1 2 -1\n", "g.txt"))
    np.testing.assert_array_equal(numbered.align(["x", "y", "z"]).toarray(), WEIGHTS)
    reversed_names = numbered.align(["2", "1", "0"]).toarray()
    np.testing.assert_array_equal(reversed_names, np.array(WEIGHTS)[::-1, ::-1])
    with pytest.raises(ValueError, match=r"these are not: 'a', 'c'\. Remove their edges"):
        named.align(["b", "x"])


def test_a_matrix_without_names_needs_a_node_for_each_column(tmp_path):
    sp.save_npz(tmp_path / "g.npz", sp.csr_array(WEIGHTS))
    found = io.read_graph(tmp_path / "g.npz")
    assert (found.names.to_list(), found.is_numbered) == ([0, 1, 2], True)
    np.testing.assert_array_equal(found.align(["2", "1", "0"]).toarray(), WEIGHTS)
    with pytest.raises(ValueError, match=r"each of the 2 .* shape \(3, 3\)"):
        found.align(["a", "b"])


@pytest.mark.parametrize("name", ["n.csv", "n.npz", "n.parquet"])
def test_any_sequence_may_name_the_nodes(tmp_path, name):
    found = walkconv.select_neighbors(np.array(WEIGHTS), n_neighbors=2)
    for names in (["a", "b", "c"], np.array(["a", "b", "c"]), pl.Series(["a", "b", "c"])):
        io.write_neighbors(found, names, tmp_path / name)
        if name == "n.npz":
            written = np.load(tmp_path / name, allow_pickle=False)["names"].tolist()
        else:
            written = io.read_table(tmp_path / name)["node"].unique(maintain_order=True).to_list()
        assert written == ["a", "b", "c"]
    with pytest.raises(ValueError, match="one name for each of the 3 nodes; got 2"):
        io.write_neighbors(found, ["a", "b"], tmp_path / name)
