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
    "tensor that records gradients": lambda: torch.tensor(MATRIX, requires_grad=True),
    "half precision": lambda: MATRIX.astype(np.float16),
    "big-endian": lambda: MATRIX.astype(">f8"),
    "networkx of another class": lambda: type("Own", (nx.DiGraph,), {})(a_networkx_graph()),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_graph(form):
    graph = as_graph(FORMS[form]())
    assert isinstance(graph, sp.csr_array)
    assert graph.dtype == np.float64
    assert graph.has_canonical_format
    assert graph.indices.dtype == graph.indptr.dtype == np.int32
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


def test_nodes_of_pyg_data_are_counted_if_not_told():
    data = SimpleNamespace(edge_index=EDGES)
    np.testing.assert_array_equal(as_graph(data).toarray(), MATRIX[:3, :3] != 0)
    assert as_graph(data, n_nodes=7).shape == (7, 7)


@pytest.mark.parametrize("name", ["edge_weight", "weight", "edge_attr"])
@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_one_number_for_each_edge_of_pyg_data_is_its_weight(name, shape):
    weights = {name: torch.tensor(WEIGHT).reshape(shape)}
    data = SimpleNamespace(edge_index=torch.tensor(EDGES), num_nodes=4, **weights)
    np.testing.assert_array_equal(as_graph(data).toarray(), MATRIX)


def test_edge_weight_of_pyg_data_comes_before_the_others():
    others = {"weight": 7.0, "edge_attr": np.ones((4, 3))}  # 7: the weight of a sample
    data = SimpleNamespace(edge_index=EDGES, edge_weight=WEIGHT, **others)
    np.testing.assert_array_equal(as_graph(data, n_nodes=4).toarray(), MATRIX)
    data = SimpleNamespace(edge_index=EDGES, weight=7.0, edge_attr=WEIGHT)
    np.testing.assert_array_equal(as_graph(data, n_nodes=4).toarray(), MATRIX)


@pytest.mark.parametrize(
    ("edge_attr", "found"),
    [(np.ones((4, 3)), r"shape \(4, 3\)"), (np.array([0, 1, 2, 1]), "zeros")],
)
def test_edge_attributes_that_are_no_weights_are_ignored_with_a_warning(edge_attr, found):
    data = SimpleNamespace(edge_index=EDGES, edge_attr=edge_attr)
    with pytest.warns(UserWarning, match=f"edge_attr is ignored.*{found}.*edge_weight") as caught:
        graph = as_graph(data, n_nodes=4)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(graph.toarray(), MATRIX != 0)


SYMMETRIC = np.array([[0, 2.0, 0, 0], [2, 0, -3, 0], [0, -3, 1, 0], [0, 0, 0, 0]])
EDGE_FRAME = {"source": ["b", "b", "c"], "target": ["a", "c", "c"], "weight": [2.0, -3.0, 1.0]}
NUMBERED = {"source": [1, 1, 2], "target": [0, 2, 2], "weight": [2.0, -3.0, 1.0]}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("edges", [EDGE_FRAME, NUMBERED])
def test_a_frame_of_edges_is_an_undirected_graph(frame, edges):
    graph = as_graph(frame(edges), names=NAMES)
    np.testing.assert_array_equal(graph.toarray(), SYMMETRIC)
    unweighted = {end: edges[end] for end in ("target", "source")}
    graph = as_graph(frame(unweighted), names=NAMES)
    np.testing.assert_array_equal(graph.toarray(), SYMMETRIC != 0)


def test_a_long_polars_frame_of_edges_is_not_a_graph_of_its_columns(rng):
    ends = rng.integers(0, 50, size=(2, 1000))
    graph = as_graph(pl.DataFrame({"source": ends[0], "target": ends[1]}), n_nodes=50)
    expected = np.zeros((50, 50))
    for source, target in ends.T:
        expected[source, target] += 1
    expected += expected.T - np.diag(expected.diagonal())
    np.testing.assert_array_equal(graph.toarray(), expected)


def test_an_adjacency_of_two_nodes_called_source_and_target_stays_one():
    names = ["source", "target"]
    frame = pd.DataFrame([[0, 5], [3, 0]], index=names, columns=names)
    np.testing.assert_array_equal(as_graph(frame).toarray(), [[0, 5], [3, 0]])


def test_numbers_are_names_where_the_names_are_numbers():
    edges = pl.DataFrame({"source": [30, 10], "target": [10, 20]})
    graph = as_graph(edges, names=[10, 20, 30])
    np.testing.assert_array_equal(graph.toarray(), [[0, 1, 1], [1, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize(
    ("frame", "settings", "message"),
    [
        (EDGE_FRAME, {}, r"integers if names are not given; got 'b' .*Pass names="),
        (EDGE_FRAME, {"names": ["a", "b", "d"]}, r"among the 3 names of the nodes; got 'c'\."),
        (
            {"source": ["heigth"], "target": ["sex"]},
            {"names": ["height", "age"]},
            r"got 'heigth' and 1 more\. Did you mean 'height'\?",
        ),
        ({"source": ["a"], "target": [None]}, {"names": NAMES}, "got (None|nan)"),
        ({"source": [0.5], "target": [1.5]}, {}, "must hold integers or names|integers if names"),
        ({"from": [0, 1, 2], "to": [1, 2, 0]}, {}, r"\(3, 2\) with the columns 'from', 'to'.*Ren"),
        ({**NUMBERED, "note": ["x"] * 3}, {}, "list of edges with the columns source, target"),
    ],
)
def test_bad_polars_frames(frame, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_graph(pl.DataFrame(frame), **settings)


def test_a_mistyped_name_of_a_node_gets_a_suggestion():
    names = ["height", "age"]
    frame = pd.DataFrame(np.eye(2), index=names, columns=names)
    with pytest.raises(ValueError, match=r"first: 'height'\)\. Did you mean 'height'\?"):
        as_graph(frame, names=["heigth", "age"])


def test_pairs_take_the_number_of_nodes_from_the_names():
    assert as_graph((EDGES, None), names=NAMES).shape == (4, 4)


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


def test_names_that_do_not_match_have_a_remedy():
    graph = a_networkx_graph()
    with pytest.raises(ValueError, match=r"graph\.subgraph") as few:
        as_graph(graph, names=NAMES[:3])
    assert "add_nodes_from" not in str(few.value)
    np.testing.assert_array_equal(
        as_graph(graph.subgraph(NAMES[:3]), names=NAMES[:3]).toarray(), MATRIX[:3, :3]
    )
    with pytest.raises(ValueError, match=r"graph\.add_nodes_from") as many:
        as_graph(graph, names=[*NAMES, "e"])
    assert "subgraph" not in str(many.value)
    graph.add_nodes_from([*NAMES, "e"])
    assert as_graph(graph, names=[*NAMES, "e"]).shape == (5, 5)
    with pytest.raises(ValueError, match=r"unexpected .* read it with index_col=0"):
        as_graph(pd.DataFrame(MATRIX, columns=NAMES))
    with pytest.raises(ValueError, match="missing") as other:
        as_graph(pd.DataFrame(MATRIX, index=list("abcx"), columns=NAMES))
    assert "index_col" not in str(other.value)


def test_rows_and_columns_of_a_dataframe_must_have_the_same_names():
    frame = pd.DataFrame(MATRIX, index=["a", "b", "c", "x"], columns=NAMES)
    with pytest.raises(ValueError, match="the rows of the DataFrame adjacency have 1 missing"):
        as_graph(frame)
    frame = pd.DataFrame(MATRIX, index=["a", "b", "c", "a"], columns=["a", "b", "c", "a"])
    with pytest.raises(ValueError, match="hold 'a' more than once"):
        as_graph(frame)


def test_there_must_be_a_node_for_each_name():
    with pytest.raises(
        ValueError, match="must have 3 nodes, one for each name or column; it has 4"
    ):
        as_graph(MATRIX, names=["a", "b", "c"])


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.float32])
@pytest.mark.parametrize("form", ["coo", "csr"])
def test_duplicates_are_summed_in_double_precision_and_zeros_dropped(dtype, form):
    value = 1 if dtype is np.bool_ else 100
    data = np.array([value, value, 0, 1], dtype=dtype)
    if form == "coo":
        entries = sp.coo_array((data, ([0, 0, 1, 2], [1, 1, 0, 0])), (3, 3))
    else:
        entries = sp.csr_array((data, np.array([1, 1, 0, 0]), np.array([0, 2, 3, 4])), (3, 3))
    graph = as_graph(entries)
    assert graph.nnz == 2
    assert graph[0, 1] == 2 * value


def test_entries_that_cancel_are_no_edge():
    assert as_graph(sp.coo_array(([1.0, -1.0], ([0, 0], [1, 1])), (2, 2))).nnz == 0


def test_the_given_graph_is_not_changed():
    # Unsorted, a duplicate, a stored zero: all that is mended in the copy.
    arrays = np.array([3.0, 1.0, 1.0, 0.0]), np.array([1, 0, 0, 1]), np.array([0, 3, 4])
    given = sp.csr_array(arrays, (2, 2))
    before = [array.copy() for array in (given.data, given.indices, given.indptr)]
    graph = as_graph(given)
    np.testing.assert_array_equal(graph.toarray(), [[2, 3], [0, 0]])
    for array, expected in zip((given.data, given.indices, given.indptr), before, strict=True):
        np.testing.assert_array_equal(array, expected)
    dense = np.array([[0.0, 1.0], [1.0, 0.0]])
    as_graph(dense).data[:] = 7
    assert dense.max() == 1


@pytest.mark.parametrize(
    ("graph", "settings", "message"),
    [
        (MATRIX, {"n_nodes": 5}, "must have 5 nodes, one for each name or column; it has 4"),
        (MATRIX, {"names": 5}, "names must be a sequence of names; got 5"),
        (MATRIX, {"names": ["a", "b", "b", "c"]}, "names hold 'b' more than once"),
        ([[0, 1], [1]], {}, "graph must be an array of numbers; got"),
        (np.ma.masked_array(np.eye(2), mask=np.eye(2)), {}, "must not be a masked array"),
        (sp.coo_array([0.0, 1.0]), {}, r"got an array of shape \(2,\)"),
        (sp.csr_array([[0, 0], [0, np.nan]]), {}, r"got nan at position \(1, 1\)"),
        (np.array([[10**400, 1], [1, 1]], dtype=object), {}, "must hold real numbers"),
        (
            nx.from_edgelist([(0, 1, {"weight": "a"})]),
            {},
            "weights of a networkx graph must be num",
        ),
        (([[0, 0], [1, 1]], [1e308, 1e308]), {}, "must be finite; got inf"),
        (torch.eye(2).to_sparse(), {}, "graph must be an array of numbers"),
        ([(0, 1), (1, 2), (2, 3)], {}, r"got shape \(3, 2\).*graph_from_edges for a list"),
        (((0, 1), (1, 2)), {}, r"got shape \(2,\).*graph_from_edges for a list"),
    ],
)
def test_bad_graphs(graph, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_graph(graph, **settings)


@pytest.mark.slow
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


def test_a_node_number_far_beyond_the_edges_is_refused():
    far = np.array([[0, 2**40], [1, 2]])
    with pytest.raises(ValueError, match="must number the nodes from 0; got 1099511627776 for 2"):
        as_graph((far, None))
    assert as_graph((np.array([[0, 2], [1, 2]]), None), n_nodes=2**10).shape == (2**10, 2**10)
