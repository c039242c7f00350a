from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch

from walkconv import GraphSample
from walkconv._samples import as_samples, kind_of_samples

EDGES = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
MATRIX = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def path_in_networkx(**attributes):
    graph = nx.path_graph(3)
    for name, values in attributes.items():
        nx.set_node_attributes(graph, dict(enumerate(values)), name)
    return graph


@pytest.mark.parametrize(
    "form",
    [
        GraphSample(MATRIX, x=[[1.0], [2.0], [3.0]]),
        path_in_networkx(x=[[1.0], [2.0], [3.0]]),
        path_in_networkx(x=[1, 2, 3]),
        SimpleNamespace(edge_index=EDGES, x=np.array([[1.0], [2.0], [3.0]]), num_nodes=3),
        (EDGES, np.array([[1.0], [2.0], [3.0]])),
        (EDGES.tolist(), [1.0, 2.0, 3.0]),
    ],
    ids=["record", "networkx", "networkx numbers", "PyG", "pair", "lists"],
)
def test_every_form_with_features_is_the_same_record(form):
    assert kind_of_samples([form]) == "graphs"
    (sample,) = as_samples([form])
    np.testing.assert_array_equal(sample.graph.toarray(), MATRIX)
    np.testing.assert_array_equal(sample.x, [[1], [2], [3]])
    assert sample.x.dtype == np.float32
    assert sample.tags is None


@pytest.mark.parametrize(
    "form",
    [GraphSample(MATRIX, tags=[6, 8, 6]), path_in_networkx(tag=[6, 8, 6]), (EDGES, [6, 8, 6])],
    ids=["record", "networkx", "pair"],
)
def test_every_form_with_tags_is_the_same_record(form):
    (sample,) = as_samples([form])
    np.testing.assert_array_equal(sample.tags, [6, 8, 6])
    assert sample.x is None


def test_an_array_and_a_column_of_graphs_are_lists_of_graphs():
    samples = [GraphSample(MATRIX), GraphSample(MATRIX)]
    array = np.empty(2, dtype=object)
    array[:] = samples
    for graphs in (array, pd.Series(samples, index=[7, 0]), pl.Series(samples, dtype=pl.Object)):
        assert kind_of_samples(graphs) == "graphs"
        assert as_samples(graphs) == samples


def test_a_ragged_edge_list_is_read_as_a_graph_which_says_what_is_wrong():
    assert kind_of_samples([([[0, 1], [1]], [1.0, 2.0])]) == "graphs"


def test_the_features_say_how_many_nodes_an_edge_list_has():
    (sample,) = as_samples([(EDGES, np.zeros((5, 2)))])
    assert sample.n_nodes == 5
    (bare,) = as_samples([(EDGES, None)])
    assert bare.n_nodes == 3
    assert bare.x is None
    assert bare.tags is None


def test_a_real_pyg_graph_is_read():
    data = pytest.importorskip("torch_geometric.data").Data
    torch = pytest.importorskip("torch")
    graph = data(x=torch.tensor([[1.0], [2.0], [3.0]]), edge_index=torch.tensor(EDGES))
    (sample,) = as_samples([graph])
    np.testing.assert_array_equal(sample.graph.toarray(), MATRIX)
    np.testing.assert_array_equal(sample.x, [[1], [2], [3]])


def test_a_data_set_that_does_not_say_where_it_ends_is_read_to_its_length():
    class Circles(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, place):
            return nx.cycle_graph(3 + place)

    assert kind_of_samples(Circles()) == "graphs"
    assert [sample.n_nodes for sample in as_samples(Circles())] == [3, 4, 5]


def test_a_real_batch_and_a_real_data_set_of_pyg_are_lists_of_graphs():
    pyg = pytest.importorskip("torch_geometric.data")
    torch = pytest.importorskip("torch")
    graphs = [
        pyg.Data(x=torch.full((n, 1), float(n)), edge_index=torch.tensor(EDGES)) for n in (3, 4)
    ]
    batch = pyg.Batch.from_data_list(graphs)
    stored = pyg.InMemoryDataset()
    stored.data, stored.slices = pyg.InMemoryDataset.collate(graphs)
    for together in (batch, stored):
        assert kind_of_samples(together) == "graphs"
        found = as_samples(together)
        assert [sample.n_nodes for sample in found] == [3, 4]
        assert [sample.x[0, 0] for sample in found] == [3, 4]


@pytest.mark.parametrize(
    ("graph", "kind"),
    [
        (GraphSample(MATRIX), "GraphSample"),
        (path_in_networkx(), "Graph"),
        (SimpleNamespace(edge_index=EDGES, x=None, num_nodes=3), "SimpleNamespace"),
    ],
)
def test_one_graph_is_no_list_of_graphs(graph, kind):
    message = rf"one for each sample; got one {kind} alone\. Pass \[graph\]"
    with pytest.raises(TypeError, match=message):
        kind_of_samples(graph)


@pytest.mark.parametrize(
    ("matrices", "came"),
    [
        ([sp.csr_array(MATRIX)] * 2, r"sparse matrices of shape \(3, 3\)\."),
        ((sp.coo_matrix(MATRIX),), r"sparse matrices of shape \(3, 3\)\."),
        (pd.Series([sp.csr_array(MATRIX)] * 2), r"sparse matrices of shape \(3, 3\)\."),
        ([np.eye(3), np.eye(4)], r"matrices of shape \(3, 3\) and \(4, 4\)"),
        ([np.eye(3), np.eye(3), np.eye(4)], r"matrices of shape \(3, 3\) and \(4, 4\)"),
        ((EDGES, np.ones((3, 1))), r"matrices of shape \(2, 4\) and \(3, 1\)"),
    ],
)
def test_matrices_that_are_no_table_are_refused(matrices, came):
    message = rf"X must be a table or a list of GraphSample.*; got {came}.*GraphSample\(matrix\)"
    with pytest.raises(TypeError, match=message):
        kind_of_samples(matrices)


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((3, 4)),
        [[1.0, 2.0], [3.0, 4.0]],
        [(1.0, 2.0), (3.0, 4.0)],
        [((1.0, 2.0), (3.0, 4.0)), ((5.0, 6.0), (7.0, 8.0))],
        [],
        [np.eye(2)],
        (np.eye(2), np.eye(2)),
        "text",
        sp.csr_array(np.eye(3)),
        sp.coo_array([1.0, 2.0]),
        pd.DataFrame({"edge_index": [1.0], "x": [2.0]}),
        pd.Series([1.0, 2.0], index=["edge_index", "x"]),
        pl.DataFrame({"edge_index": [1.0], "x": [2.0]}),
        None,
    ],
    ids=[
        "array",
        "lists",
        "pairs",
        "pairs with channels",
        "nothing",
        "matrix",
        "matrices",
        "text",
        "sparse",
        "sparse row",
        "pandas",
        "column",
        "polars",
        "none",
    ],
)
def test_a_table_is_not_a_list_of_graphs(table):
    assert kind_of_samples(table) == "table"


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (3, r"Samples must be GraphSample records, .*; graph 1 is 3 \(int\)"),
        (path_in_networkx(tag=[1, 2]), "Graph 1: every node must have .*'tag', or none; 2 of 3"),
        ((EDGES, np.zeros((2, 1))), "Graph 1: edge_index must be less than n_nodes"),
        ((EDGES, np.full((3, 1), np.nan)), "Graph 1: x must be finite"),
        (([[0, 1], [1]], [1.0, 2.0]), "Graph 1: edge_index must be an array of numbers"),
        ((EDGES, 3.0), "Graph 1: x must have a row for each node"),
    ],
)
def test_a_bad_graph_is_named_by_its_place(form, message):
    with pytest.raises((TypeError, ValueError), match=message):
        as_samples([GraphSample(MATRIX), form])


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"x": np.zeros((4, 1))}, r"x must have shape \(n_nodes, n_channels\) with n_nodes = 3"),
        ({"x": np.zeros((3, 0))}, "x must have shape"),
        ({"x": np.full((3, 1), 1e300)}, "x must be finite; got inf"),
        ({"x": ["a", "b", "c"]}, "x must hold real numbers"),
        ({"tags": [1, 2]}, "tags must be integers, one for each of the 3 nodes"),
        ({"tags": [0.5, 1, 2]}, "tags must be integers"),
    ],
)
def test_what_does_not_fit_the_nodes_is_refused(described, message):
    with pytest.raises((TypeError, ValueError), match=message):
        GraphSample(MATRIX, **described)
