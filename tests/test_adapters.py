"""Every description of a graph becomes the same matrix."""

import subprocess
import sys
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from walkconv import as_graph, select_neighbors

MATRIX = np.array([[0, 2.0, 0, 0], [-1, 0, 3, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
EDGES = np.array([[0, 1, 1, 2], [1, 0, 2, 2]])
WEIGHT = np.array([2.0, -1.0, 3.0, 1.0])
NAMES = ["a", "b", "c", "d"]


def a_networkx_graph():
    graph = nx.DiGraph()
    graph.add_nodes_from(NAMES)
    for source, target, weight in zip(*EDGES, WEIGHT, strict=True):
        graph.add_edge(NAMES[source], NAMES[target], weight=weight)
    return graph


FORMS = {
    "array": lambda: MATRIX,
    "list": lambda: MATRIX.tolist(),
    "matrix of integers": lambda: MATRIX.astype(int),
    "tensor": lambda: torch.tensor(MATRIX),
    **{
        form: lambda form=form: sp.coo_matrix(MATRIX).asformat(form)
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    },
    "sparse array": lambda: sp.csc_array(MATRIX),
    "pandas": lambda: pd.DataFrame(MATRIX, index=NAMES, columns=NAMES),
    "polars": lambda: pl.DataFrame(MATRIX, schema=NAMES),
    "networkx": a_networkx_graph,
    "PyG data": lambda: SimpleNamespace(
        edge_index=torch.tensor(EDGES), edge_weight=torch.tensor(WEIGHT), num_nodes=4
    ),
    "PyG data with attributes": lambda: SimpleNamespace(
        edge_index=torch.tensor(EDGES), edge_attr=torch.tensor(WEIGHT)[:, None], num_nodes=4
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_graph(form):
    graph = as_graph(FORMS[form]())
    assert isinstance(graph, sp.csr_array)
    assert graph.dtype == np.float64
    assert graph.has_canonical_format
    np.testing.assert_array_equal(graph.toarray(), MATRIX)


@pytest.mark.parametrize("form", FORMS)
def test_select_neighbors_takes_every_form(form):
    expected = select_neighbors(MATRIX, n_neighbors=3, n_steps=2)
    found = select_neighbors(FORMS[form](), n_neighbors=3, n_steps=2)
    np.testing.assert_array_equal(found.index, expected.index)


def test_edge_pairs_with_and_without_weights():
    np.testing.assert_array_equal(as_graph((EDGES, WEIGHT), n_nodes=4).toarray(), MATRIX)
    unweighted = as_graph((torch.tensor(EDGES), None), n_nodes=4).toarray()
    np.testing.assert_array_equal(unweighted, MATRIX != 0)


def test_edge_attributes_that_are_not_one_number_are_no_weights():
    data = SimpleNamespace(edge_index=EDGES, edge_attr=np.ones((4, 3)), num_nodes=4)
    np.testing.assert_array_equal(as_graph(data).toarray(), MATRIX != 0)


@pytest.mark.parametrize("form", ["pandas", "polars", "networkx"])
def test_named_graphs_follow_the_order_of_the_names(form):
    if form == "polars":  # no row names: rows follow the columns
        graph = FORMS[form]()
    elif form == "pandas":
        graph = FORMS[form]().loc[["d", "b", "a", "c"]]  # rows in another order than columns
    else:
        graph = FORMS[form]()
    order = [2, 0, 3, 1]
    found = as_graph(graph, names=[NAMES[i] for i in order])
    np.testing.assert_array_equal(found.toarray(), MATRIX[np.ix_(order, order)])


@pytest.mark.parametrize("form", ["pandas", "networkx"])
def test_mismatched_names(form):
    with pytest.raises(
        ValueError, match=r"1 missing \(first: 'x'\) and 1 unexpected \(first: 'd'\)"
    ):
        as_graph(FORMS[form](), names=["a", "b", "c", "x"])


def test_rows_and_columns_of_a_dataframe_must_have_the_same_names():
    frame = pd.DataFrame(MATRIX, index=["a", "b", "c", "x"], columns=NAMES)
    with pytest.raises(ValueError, match="the rows of the DataFrame adjacency have 1 missing"):
        as_graph(frame)
    frame = pd.DataFrame(MATRIX, index=["a", "b", "c", "a"], columns=["a", "b", "c", "a"])
    with pytest.raises(ValueError, match="hold 'a' more than once"):
        as_graph(frame)


def test_there_must_be_a_node_for_each_name():
    with pytest.raises(ValueError, match="each of the 3 names; got 4 nodes"):
        as_graph(MATRIX, names=["a", "b", "c"])


def test_duplicates_are_summed_and_zeros_dropped():
    entries = sp.coo_array(([1.0, 2.0, 0.0, 1.0, -1.0], ([0, 0, 1, 2, 2], [1, 1, 0, 0, 0])), (3, 3))
    graph = as_graph(entries)
    assert graph.nnz == 1
    assert graph[0, 1] == 3


def test_the_given_graph_is_not_changed():
    given = sp.csr_array(([0.0, 1.0, 2.0], ([0, 0, 1], [1, 1, 0])), (2, 2))
    given.indices = given.indices[::-1].copy()
    before = given.indices.copy(), given.data.copy()
    as_graph(given)
    np.testing.assert_array_equal(given.indices, before[0])
    np.testing.assert_array_equal(given.data, before[1])


def test_no_optional_library_is_imported():
    program = (
        "import sys, sklearn.utils, numpy as np\n"
        "before = set(sys.modules)\n"  # scikit-learn loads pandas where it is installed
        "import walkconv\n"
        "walkconv.select_neighbors(np.eye(3), n_neighbors=1)\n"
        "optional = {'torch', 'networkx', 'pandas', 'polars', 'matplotlib', 'torch_geometric'}\n"
        "loaded = optional & (set(sys.modules) - before)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
