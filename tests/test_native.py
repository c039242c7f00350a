"""The library gives what the definitions in Python give, which serve where it was not built."""

import ctypes
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from walkconv import _native, coarsen, correlation_graph, grid_graph, select_neighbors, show_config
from walkconv.graphs.correlation import graph as correlation
from walkconv.graphs.correlation.columns import Columns
from walkconv.walks.select import ENGINES
from walkconv.walks.sparse import _Walk

needs_library = pytest.mark.skipif(_native.library() is None, reason="the library was not built")


def with_and_without(function):
    """What a function returns with the library, and what without it."""
    without = patch.object(_native, "library", lambda: None)
    found = []
    for context in (nullcontext(), without):
        with context:
            found.append(function())
    return found


@st.composite
def lopsided_graphs(draw):
    """Up to 40 nodes: hubs, ties, self-loops, signs, one-way edges, nodes without any."""
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    share = np.where(rng.random(n) < 0.1, 0.8, 0.1)
    weights = rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < share) * 1.0
    weights *= 1 + 0.7e-9 * rng.integers(0, draw(st.sampled_from([1, 4])), (n, n))
    weights[rng.random(n) < 0.1] = 0
    return sp.csr_array(weights)


@needs_library
@pytest.mark.parametrize("ties", ["index", "random", "positions"])
@pytest.mark.parametrize("method", ENGINES)
@settings(max_examples=40)
@given(graph=lopsided_graphs(), n_steps=st.integers(0, 4), n_neighbors=st.integers(1, 60))
def test_neighbors_are_those_of_the_definition(method, ties, graph, n_steps, n_neighbors):
    n = graph.shape[0]
    given = {"n_neighbors": min(n, n_neighbors), "n_steps": n_steps, "random_state": 3}
    given["ties"] = np.arange(n)[::-1, None] // 3 * 0.1 if ties == "positions" else ties
    found, expected = with_and_without(
        lambda: select_neighbors(graph, method=method, n_threads=1, **given)
    )
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_array_equal(found.sign, expected.sign)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=1e-12)


@needs_library
@given(graph=lopsided_graphs(), n_neighbors=st.integers(1, 20))
def test_the_steps_that_fill_the_slots_are_those_of_the_definition(graph, n_neighbors):
    n_neighbors = min(graph.shape[0], n_neighbors)
    found, expected = with_and_without(
        lambda: select_neighbors(graph, n_neighbors=n_neighbors, n_steps="auto").n_steps
    )
    assert found == expected


@needs_library
@settings(max_examples=30)
@given(graph=lopsided_graphs(), period=st.sampled_from([None, [5.0, 0.0]]), seed=st.integers(0, 9))
def test_slots_are_those_of_the_definition(graph, period, seed):
    positions = np.random.default_rng(seed).integers(0, 5, (graph.shape[0], 2)) * 1.0
    found, expected = with_and_without(
        lambda: select_neighbors(
            graph, n_neighbors=9, n_steps=2, order="direction", positions=positions, period=period
        )
    )
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=1e-12)


@needs_library
@given(graph=lopsided_graphs(), group_size=st.integers(2, 6))
def test_groups_are_those_of_the_definition(graph, group_size):
    found, expected = with_and_without(lambda: coarsen(graph, group_size=group_size).groups)
    np.testing.assert_array_equal(found, expected)


@needs_library
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("n_columns", [20, 90])
def test_correlations_are_those_of_the_definition(rng, monkeypatch, is_tied, n_columns):
    monkeypatch.setattr(correlation, "TILE_COLUMNS", 16)
    X = rng.integers(0, 3, (12, n_columns)) * 1.0 if is_tied else rng.normal(size=(30, n_columns))
    found, expected = with_and_without(lambda: correlation_graph(X, n_edges=3))
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)


@needs_library
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("has_missing", [False, True])
def test_standardised_columns_are_those_of_the_definition(rng, dtype, has_missing):
    table = rng.normal(5, 10, (70, 200)).astype(dtype)
    table[:, 100] = 3.0
    if has_missing:
        table[rng.random(table.shape) < 0.1] = np.nan
    block = Columns(table[3:, 5:], 3, 150)
    found, expected = with_and_without(
        lambda: (block.standardised(10, 60, np.float32), block.standardised(0, 99))
    )
    for each, other in zip(found, expected, strict=True):
        assert each.any()
        np.testing.assert_array_equal(each, other)
    whole, transposed = block.standardised(0, 67), np.empty((147, 67))
    block.standardise(0, 67, transposed.T)
    np.testing.assert_array_equal(transposed, whole.T)


@needs_library
def test_python_and_c_agree_on_the_record_of_a_walk():
    library = _native.library()
    assert library is not None
    assert library.walkconv_walk_bytes() == ctypes.sizeof(_Walk)


@pytest.mark.parametrize(
    "array",
    [np.zeros((3, 2), dtype=np.float32), np.zeros((2, 3)), np.zeros((3, 4))[:, ::2]],
    ids=["type", "shape", "strides"],
)
def test_arrays_that_a_loop_cannot_read_are_refused(array):
    with pytest.raises(TypeError, match=r"needs a contiguous array of float64 and shape \(3, 2\)"):
        _native.address(array, np.float64, 3, 2)


@pytest.mark.usefixtures("without_library")
def test_without_the_library_the_configuration_says_what_to_do(capsys):
    show_config()
    assert "not built: Python and numpy; install a C compiler, then walkconv" in (
        capsys.readouterr().out
    )
    assert select_neighbors(grid_graph((3, 3)), n_neighbors=3).index[0].tolist() == [0, 1, 3]
