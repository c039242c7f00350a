"""Each bad input gets one clear message before any work."""

import numpy as np
import pytest
import torch

import walkconv
from walkconv import diagnose, expected_visits, select_neighbors

GRAPH = np.ones((4, 4))


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1; got 0"),
        ({"n_neighbors": -3}, ValueError, "n_neighbors must be at least 1; got -3"),
        ({"n_neighbors": 5}, ValueError, r"at most the number of nodes \(4\); got 5"),
        ({"n_neighbors": 2.0}, TypeError, "n_neighbors must be an integer; got 2.0"),
        ({"n_neighbors": True}, TypeError, "n_neighbors must be an integer; got True"),
        ({"n_neighbors": "2"}, TypeError, "n_neighbors must be an integer; got '2'"),
        ({"n_steps": -1}, ValueError, "n_steps must be at least 0; got -1"),
        ({"n_steps": 1.5}, TypeError, "n_steps must be an integer"),
        ({"n_steps": "all"}, ValueError, "n_steps must be one of 'auto'; got 'all'"),
        ({"method": "fast"}, ValueError, "method must be one of 'auto', 'dense', 'blocked'"),
        ({"block_size": -1}, ValueError, "block_size must be at least 1; got -1"),
        ({"block_size": 0}, ValueError, "block_size must be at least 1; got 0"),
        ({"n_threads": 0}, ValueError, "n_threads must be at least 1; got 0"),
        ({"ties": "first"}, ValueError, "ties must be 'index', 'random' or positions"),
        ({"ties": None}, ValueError, "ties must be 'index', 'random' or positions"),
        ({"ties": np.zeros((3, 2))}, ValueError, r"n_nodes = 4; got shape \(3, 2\)"),
        ({"ties": np.full((4, 2), np.nan)}, ValueError, "ties must be finite; got nan"),
        ({"ties": [[0.0, 1.0], [2.0]]}, TypeError, "ties must be an array of numbers"),
        ({"ties": np.array([["a"]] * 4)}, TypeError, "ties must hold real numbers"),
    ],
)
def test_settings(settings, error, message):
    with pytest.raises(error, match=message):
        select_neighbors(GRAPH, **{"n_neighbors": 2, **settings})


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.ones((3, 4)), ValueError, r"square \(n_nodes, n_nodes\); got shape \(3, 4\)"),
        (np.ones(4), ValueError, r"got an array of shape \(4,\)"),
        (np.zeros((0, 0)), ValueError, "at least one node; got an empty graph"),
        (np.full((2, 2), np.nan), ValueError, r"finite; got nan at position \(0, 0\)"),
        (np.array([[0, np.inf], [1, 0]]), ValueError, "finite; got inf"),
        (np.full((2, 2), 1e308), ValueError, "node 0 overflow. Divide the weights"),
        (np.array([["a", "b"], ["c", "d"]]), TypeError, "must hold real numbers"),
        ("correlation", TypeError, "graph must be a square array.*got 'correlation'"),
        (None, TypeError, "graph must be a square array.*got None"),
        (np.eye(2) * 1j, TypeError, "must hold real numbers; got an array of complex128"),
    ],
)
def test_graphs(graph, error, message):
    for function, settings in (
        (select_neighbors, {"n_neighbors": 1}),
        (expected_visits, {"n_steps": 1}),
        (diagnose, {"n_neighbors": 1}),
    ):
        with pytest.raises(error, match=message):
            function(graph, **settings)


def test_steps_of_the_definition():
    with pytest.raises(ValueError, match="n_steps must be at least 0; got -2"):
        expected_visits(GRAPH, n_steps=-2)


def test_ties_may_be_a_tensor_that_records_gradients():
    places = torch.tensor([[0.0], [1.0], [2.0], [3.0]], requires_grad=True)
    found = select_neighbors(GRAPH, n_neighbors=2, ties=places)
    expected = select_neighbors(GRAPH, n_neighbors=2, ties=[[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(found.index, expected.index)


@pytest.mark.parametrize("way", ["select", "visits", "coarsen"])
def test_a_walk_of_endless_steps_is_refused(way):
    graph = walkconv.grid_graph((3, 3))
    calls = {
        "select": lambda n: walkconv.select_neighbors(graph, n_neighbors=2, n_steps=n),
        "visits": lambda n: walkconv.expected_visits(graph, n_steps=n),
        "coarsen": lambda n: walkconv.coarsen(graph, group_size=2, n_steps=n),
    }
    with pytest.raises(ValueError, match=r"n_steps must be at most 10000; got 10{15}\. A walk so"):
        calls[way](10**15)
