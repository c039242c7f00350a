from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from walkconv import GraphSample
from walkconv._samples import as_samples, is_list_of_samples

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
    assert is_list_of_samples([form])
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


def test_an_array_of_graphs_is_a_list_of_graphs():
    graphs = np.empty(2, dtype=object)
    graphs[:] = [GraphSample(MATRIX), GraphSample(MATRIX)]
    assert is_list_of_samples(graphs)
    assert len(as_samples(graphs)) == 2


def test_a_ragged_edge_list_is_read_as_a_graph_which_says_what_is_wrong():
    assert is_list_of_samples([([[0, 1], [1]], [1.0, 2.0])])


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


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((3, 4)),
        [[1.0, 2.0], [3.0, 4.0]],
        [(1.0, 2.0), (3.0, 4.0)],
        [((1.0, 2.0), (3.0, 4.0)), ((5.0, 6.0), (7.0, 8.0))],
        [],
        [np.eye(2)],
        "text",
    ],
    ids=["array", "lists", "pairs", "pairs with channels", "nothing", "matrices", "text"],
)
def test_a_table_is_not_a_list_of_graphs(table):
    assert not is_list_of_samples(table)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (3, r"Samples must be GraphSample records, .*; graph 1 is 3 \(int\)"),
        (path_in_networkx(tag=[1, 2]), "Graph 1: every node must have .*'tag', or none; 2 of 3"),
        ((EDGES, np.zeros((2, 1))), "Graph 1: edge_index must stay below n_nodes"),
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
