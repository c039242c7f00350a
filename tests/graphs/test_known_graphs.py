"""Grids, edge lists, nearest columns and heat kernels."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from walkconv import graph_from_edges, grid_graph, heat_kernel_graph, knn_graph


@pytest.mark.parametrize(
    ("shape", "connectivity"),
    [
        ((7,), 2),
        ((4, 6), 4),
        ((4, 6), 8),
        ((1, 5), 8),
        ((3, 4, 5), 6),
        ((3, 4, 5), 18),
        ((3, 4, 5), 26),
    ],
)
def test_grid_joins_cells_that_touch(shape, connectivity):
    places = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
    gap = np.abs(places[:, None] - places[None])
    most_changed = {2: 1, 4: 1, 8: 2, 6: 1, 18: 2, 26: 3}[connectivity]
    touches = (gap.max(axis=2) == 1) & (gap.sum(axis=2) <= most_changed)
    np.testing.assert_array_equal(grid_graph(shape, connectivity=connectivity).toarray(), touches)


def test_grid_joins_all_that_touch_by_default():
    assert grid_graph((5, 5))[[12]].nnz == 8
    assert grid_graph((5, 5, 5))[[62]].nnz == 26
    assert grid_graph((1, 1)).shape == (1, 1)


@pytest.mark.parametrize(
    ("shape", "connectivity", "message"),
    [
        ((4, 4), [4], r"in 2 dimension\(s\) must be one of 4, 8; got \[4\]"),
        ((4, 4), 6, r"in 2 dimension\(s\) must be one of 4, 8; got 6"),
        ((4, 0), None, "each side of shape must be at least 1; got 0"),
        ((), None, r"at least one side; got \(\)"),
        ("28", None, r"sequence of integers such as \(28, 28\); got '28'"),
        (28, None, "sequence of integers"),
        ((2.5, 2), None, "each side of shape must be an integer"),
    ],
)
def test_bad_grids(shape, connectivity, message):
    with pytest.raises((ValueError, TypeError), match=message):
        grid_graph(shape, connectivity=connectivity)


def test_edges_are_summed_keep_their_sign_and_direction():
    edges = [[0, 1, 0, 2, 3], [1, 0, 1, 2, 1]]
    weight = [1.0, 2.0, -4.0, 5.0, -1.0]
    directed = graph_from_edges(edges, weight, n_nodes=5, directed=True).toarray()
    expected = np.zeros((5, 5))
    expected[0, 1], expected[1, 0], expected[2, 2], expected[3, 1] = -3, 2, 5, -1
    np.testing.assert_array_equal(directed, expected)
    undirected = graph_from_edges(edges, weight, n_nodes=5).toarray()
    expected[0, 1] = expected[1, 0] = -1
    expected[1, 3] = -1
    np.testing.assert_array_equal(undirected, expected)


@pytest.mark.parametrize(
    ("pairs", "edges"),
    [
        ([(0, 1), (1, 2), (2, 3)], [[0, 1, 2], [1, 2, 3]]),
        ([(0, 2), (1, 3)], [[0, 1], [2, 3]]),
        ([(2, 0)], [[2], [0]]),
        ([], [[], []]),
    ],
)
def test_a_list_of_pairs_is_a_list_of_edges(pairs, edges):
    expected = graph_from_edges(np.array(edges, dtype=int), n_nodes=5, directed=True)
    found = graph_from_edges(pairs, n_nodes=5, directed=True)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize(
    "rows",
    [[[0, 2], [1, 3]], ([0, 2], [1, 3]), ((0, 2), (1, 3)), np.array([[0, 2], [1, 3]])],
)
def test_two_lists_and_arrays_are_rows_of_sources_and_targets(rows):
    graph = graph_from_edges(rows, directed=True)
    np.testing.assert_array_equal(np.argwhere(graph.toarray()), [[0, 1], [2, 3]])


PAIRS = [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("pairs", "came"),
    [
        (np.array(PAIRS), r"ndarray of shape \(3, 2\)"),
        ([list(pair) for pair in PAIRS], r"\[\[0, 1\], \[1, 2\], \[2, 3\]\] \(list\)"),
        (tuple(PAIRS), r"\(tuple\)"),
        (pd.DataFrame(PAIRS), r"DataFrame of shape \(3, 2\)"),
        (pd.DataFrame(PAIRS[:2]), r"DataFrame of shape \(2, 2\)"),
        (pl.DataFrame(np.array(PAIRS[:2])), r"DataFrame of shape \(2, 2\)"),
        (set(PAIRS), r"\(set\)"),
        (zip(*np.transpose(PAIRS), strict=True), r"\(zip\)"),
        (5, r"5 \(int\)"),
    ],
)
def test_pairs_that_are_no_list_of_tuples_are_refused_with_a_remedy(pairs, came):
    wanted = r"two rows, sources and targets \(2, n_edges\), a list of tuples"
    remedy = r"np\.asarray\(edges\)\.T .* list\(edges\)"
    with pytest.raises(ValueError, match=f"{wanted}.*; got .*{came}.*{remedy}"):
        graph_from_edges(pairs)


def test_the_remedies_for_pairs_help():
    expected = graph_from_edges(PAIRS).toarray()
    for edges in (np.asarray(pd.DataFrame(PAIRS)).T, list(zip(*np.transpose(PAIRS), strict=True))):
        np.testing.assert_array_equal(graph_from_edges(edges).toarray(), expected)


NAMED_PAIRS = [("b", "a"), ("b", "c")]


@pytest.mark.parametrize(
    "edges",
    [
        NAMED_PAIRS,
        np.array(NAMED_PAIRS).T,
        pl.DataFrame({"source": ["b", "b"], "target": ["a", "c"]}),
        pd.DataFrame({"source": ["b", "b"], "target": ["a", "c"]}),
    ],
)
def test_the_ends_of_edges_may_be_names(edges):
    names = ["a", "b", "c", "d"]
    expected = graph_from_edges([(1, 0), (1, 2)], [2.0, -1.0], n_nodes=4, directed=True)
    found = graph_from_edges(edges, [2.0, -1.0], names=names, directed=True)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    both_ways = graph_from_edges(edges, [2.0, -1.0], names=names)
    np.testing.assert_array_equal(both_ways.toarray(), (expected + expected.T).toarray())


def test_a_frame_of_edges_brings_its_weights():
    frame = pl.DataFrame({"source": [0, 0], "target": [1, 2], "weight": [2.0, -1.0]})
    found = graph_from_edges(frame, directed=True).toarray()
    np.testing.assert_array_equal(found, [[0, 2, -1], [0, 0, 0], [0, 0, 0]])


def test_edges_that_cancel_are_no_edge():
    assert graph_from_edges([[0, 0], [1, 1]], [1.0, -1.0]).nnz == 0


@pytest.mark.parametrize(
    ("edges", "settings", "message"),
    [
        ([(0, 1), (1, 2, 3)], {}, "edge_index must be an array of numbers"),
        ([], {}, "at least one node; got an empty graph"),
        ([[0, -1], [1, 2]], {}, "must not be negative; got -1"),
        ([[0, 4], [1, 2]], {"n_nodes": 3}, r"less than n_nodes \(3\); got 4. Raise n_nodes"),
        ([[0.0, 1.0], [1.0, 2.0]], {}, "must hold integers or names of nodes; got float64"),
        ([["a", "b"], ["c", "d"]], {}, "integers if names are not given; got .*'a'.*Pass names="),
        ([("a", "b")], {"names": "ab", "n_nodes": 2}, "names must be a sequence of names"),
        ([("a", "b")], {"names": ["a", "b"], "n_nodes": 3}, r"number of names \(2\); got 3"),
        ([("a", 1)], {"names": ["a", "1"]}, r"among the 2 names of the nodes; got 1\."),
        (
            [("agee", "sex")],
            {"names": ["age", "sex"]},
            r"names of the nodes; got 'agee'\. Did you mean 'age'\?",
        ),
        (
            pl.DataFrame({"source": [0], "target": [1], "weight": [2.0]}),
            {"weight": [1.0]},
            "must have one weight; got the column 'weight' and the argument",
        ),
        ([[0, 1], [1, 2]], {"weight": [1.0]}, r"each of the 2 edges; got weights of shape \(1,\)"),
        ([[0, 1], [1, 2]], {"weight": [1.0, np.nan]}, "graph weights must be finite; got nan"),
        ([[0, 1], [1, 2]], {"weight": ["a", "b"]}, "edge weights must hold real numbers"),
        ([[], []], {}, "at least one node; got an empty graph"),
        ([[0], [1]], {"n_nodes": -1}, "n_nodes must be at least 0; got -1"),
    ],
)
def test_bad_edges(edges, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        graph_from_edges(edges, **settings)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("mutual", [False, True])
def test_nearest_columns(rng, mutual, wrap):
    X = rng.normal(size=(5, 12))
    distance = np.linalg.norm(X[:, :, None] - X[:, None], axis=0)
    np.fill_diagonal(distance, np.inf)
    nearest = np.zeros((12, 12), dtype=bool)
    np.put_along_axis(nearest, np.argsort(distance, axis=1)[:, :3], True, axis=1)
    expected = nearest & nearest.T if mutual else nearest | nearest.T
    graph = knn_graph(wrap(X), n_neighbors=3, mutual=mutual)
    np.testing.assert_array_equal(graph.toarray(), expected)


def test_heat_kernel_with_local_scale_equals_its_formula(rng):
    X = rng.normal(size=(4, 15))
    distance = np.linalg.norm(X[:, :, None] - X[:, None], axis=0)
    local = np.sort(distance, axis=1)[:, 7]  # column 0 is the node itself
    expected = np.exp(-(distance**2) / np.outer(local, local))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(heat_kernel_graph(X).toarray(), expected, atol=1e-12)
    few = heat_kernel_graph(X, n_edges=2).toarray()
    assert (few > 0).sum() < 15 * 5
    np.testing.assert_allclose(few[few > 0], expected[few > 0], atol=1e-12)
    np.testing.assert_array_equal(few, few.T)


def test_heat_kernel_keeps_the_edges_of_either_end():
    places = np.array([[0.0, 1.0, 3.0, 7.0]])
    graph = heat_kernel_graph(places, n_edges=1, scale=2.0)
    expected = np.zeros((4, 4))
    for i, j in ((0, 1), (1, 2), (2, 3)):
        gap = places[0, j] - places[0, i]
        expected[i, j] = expected[j, i] = np.exp(-(gap**2) / 4)
    np.testing.assert_allclose(graph.toarray(), expected)


def test_the_last_neighbor_sets_the_scale_where_there_are_fewer():
    places = np.array([[0.0, 1.0, 3.0, 7.0]])
    expected = heat_kernel_graph(places, scale_neighbor=3).toarray()
    np.testing.assert_array_equal(heat_kernel_graph(places).toarray(), expected)
    assert expected[0, 1] == pytest.approx(np.exp(-1 / (7 * 6)))


@pytest.mark.parametrize("change", [lambda X: X + 1e8, lambda X: X * 1e200, lambda X: X * 1e-200])
@pytest.mark.parametrize("function", [knn_graph, heat_kernel_graph])
def test_far_and_large_and_small_columns_are_no_different(rng, function, change):
    X = np.ldexp(rng.integers(-1000, 1000, size=(40, 12)).astype(float), -8)
    expected = function(X).toarray()
    np.testing.assert_allclose(function(change(X)).toarray(), expected, atol=1e-6)


def test_the_metric_is_used():
    X = np.array([[1.0, 10.0, 1.0], [0.0, 0.5, 1.0]])  # the second column points like the first
    assert knn_graph(X, n_neighbors=1)[0, 2] == 1
    assert knn_graph(X, n_neighbors=1, metric="cosine")[0, 1] == 1


def test_equal_columns_far_from_zero_have_weight_one(rng):
    X = np.repeat(rng.normal(size=(40, 3)) + 1000, 10, axis=1)
    graph = heat_kernel_graph(X).toarray()
    blocks = np.kron(np.eye(3), np.ones((10, 10))) - np.eye(30)
    np.testing.assert_array_equal(graph == 1, blocks == 1)


def test_heat_kernel_of_equal_columns_is_one_and_finite():
    X = np.array([[0.0, 0.0, 0.0, 1.0, 5.0]])
    graph = heat_kernel_graph(X, scale_neighbor=2).toarray()
    assert np.isfinite(graph).all()
    np.testing.assert_array_equal(graph[:3, :3], 1 - np.eye(3))
    assert graph[3, 4] > 0


@pytest.mark.parametrize(
    ("function", "settings", "message"),
    [
        (knn_graph, {"n_neighbors": 0}, "n_neighbors must be at least 1"),
        (knn_graph, {"n_neighbors": 3}, "n_neighbors must be at most 2; got 3. Lower it"),
        (heat_kernel_graph, {"scale": 0}, "scale must be more than 0 and finite; got 0"),
        (heat_kernel_graph, {"scale": np.nan}, "scale must be more than 0 and finite; got nan"),
        (heat_kernel_graph, {"scale": "local"}, "scale must be a number; got 'local'"),
        (heat_kernel_graph, {"scale": np.ones(2)}, "scale must be a number; got ndarray of shape"),
        (heat_kernel_graph, {"n_edges": 3}, "n_edges must be at most 2; got 3"),
        (heat_kernel_graph, {"scale_neighbor": 0}, "scale_neighbor must be at least 1"),
    ],
)
def test_bad_settings(function, settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        function(np.eye(3), **settings)


@pytest.mark.parametrize("function", [knn_graph, heat_kernel_graph])
@pytest.mark.parametrize("shape", [(3, 1), (0, 3)])
def test_there_must_be_columns_to_compare(function, shape):
    with pytest.raises(ValueError, match="at least one row and two columns to compare; got shape"):
        function(np.ones(shape))


@pytest.mark.parametrize("function", [knn_graph, heat_kernel_graph])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_a_missing_value_counts_as_the_mean_of_its_column(rng, function, wrap):
    X = np.where(rng.random((30, 12)) < 0.2, np.nan, rng.normal(size=(30, 12)))
    X[1] = 0.0  # sparse matrices do not store these, but they are values
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    expected = function(wrap(filled)).toarray()
    np.testing.assert_allclose(function(wrap(X)).toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("function", [knn_graph, heat_kernel_graph])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_columns_without_values_are_refused(function, wrap):
    X = np.eye(12)
    X[:, 1:3] = np.nan
    with pytest.raises(ValueError, match=r"missing \(NaN\) in column 1, 2\. Drop it"):
        function(wrap(X))
    with pytest.raises(ValueError, match="X must be finite; got inf"):
        function(wrap(np.array([[1, np.inf, 2]])))


def test_grid_equals_networkx():
    expected = nx.to_numpy_array(nx.grid_2d_graph(5, 7))
    np.testing.assert_array_equal(grid_graph((5, 7), connectivity=4).toarray(), expected)
