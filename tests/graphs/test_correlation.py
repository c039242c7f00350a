import tracemalloc
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from walkconv import correlation_graph
from walkconv.graphs.correlation import columns, search


def as_memmap(X, folder):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


@pytest.fixture
def table(rng):
    """Related columns, one of 0/1, one a copy, one the negative of another."""
    X = rng.normal(size=(60, 23)).cumsum(axis=1)
    X[:, 4] = X[:, 4] > 0
    X[:, 9] = X[:, 8]
    X[:, 10] = -2 * X[:, 8]
    return X


@pytest.mark.parametrize("tile_size", [None, 1, 7, 23])
def test_equals_numpy_for_every_tile_size(table, tile_size):
    graph = correlation_graph(table, tile_size=tile_size)
    np.testing.assert_allclose(graph.toarray(), np.corrcoef(table.T), atol=1e-13)
    np.testing.assert_array_equal(graph.diagonal(), 1.0)
    assert graph[8, 9] == pytest.approx(1)
    assert graph[8, 10] == pytest.approx(-1)


@pytest.mark.parametrize("form", ["float32", "fortran", "csr", "coo", "memmap", "pandas", "polars"])
def test_takes_tables_of_every_form(table, form, tmp_path):
    table = np.where(np.abs(table) < 1, 0, table).astype(np.float32).astype(np.float64)
    made = {
        "float32": lambda: table.astype(np.float32),
        "fortran": lambda: np.asfortranarray(table),
        "csr": lambda: sp.csr_matrix(table),
        "coo": lambda: sp.coo_array(table),
        "memmap": lambda: as_memmap(table, tmp_path),
        "pandas": lambda: pd.DataFrame(table),
        "polars": lambda: pl.DataFrame(table),
    }[form]()
    graph = correlation_graph(made, tile_size=5)
    np.testing.assert_allclose(graph.toarray(), np.corrcoef(table.T), atol=1e-13)


@pytest.mark.parametrize("tile_size", [None, 1, 4, 23])
@pytest.mark.parametrize("n_edges", [1, 3, 22])
def test_keeps_the_strongest_of_each_column(table, n_edges, tile_size):
    graph = correlation_graph(table, n_edges=n_edges, tile_size=tile_size)
    full = np.corrcoef(table.T)
    np.fill_diagonal(full, 0)
    for column in range(23):
        # Ties (columns 8, 9 and 10 are the same up to sign) go to the lowest column.
        order = np.argsort(-np.abs(full[column]).round(9), kind="stable")[:n_edges]
        expected = np.sort(np.append(order, column))
        np.testing.assert_array_equal(graph[[column]].indices, expected)


def test_memory_is_linear_in_the_columns_when_edges_are_few(rng):
    X = rng.normal(size=(30, 3000)).astype(np.float32)
    tracemalloc.start()
    graph = correlation_graph(X, n_edges=4, tile_size=128)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert graph.nnz == 5 * 3000
    assert peak < 8 * 3000 * 3000 / 4


def test_constant_columns_become_isolated_nodes_with_one_warning(table):
    table[:, [0, 7]] = 0.1
    with pytest.warns(UserWarning, match=r"^2 constant column\(s\)") as caught:
        graph = correlation_graph(table, tile_size=4)
    assert len(caught) == 1
    assert graph[[0, 7]].nnz == graph[:, [0, 7]].nnz == 0
    rest = np.delete(np.arange(23), [0, 7])
    np.testing.assert_allclose(
        graph.toarray()[np.ix_(rest, rest)], np.corrcoef(table[:, rest].T), atol=1e-13
    )


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_rows_at_once_do_not_change_the_answer(table, wrap, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_BYTES", 8 * 6 * 7)  # 7 rows of 6 columns
    graph = correlation_graph(wrap(table), tile_size=6)
    np.testing.assert_allclose(graph.toarray(), np.corrcoef(table.T), atol=1e-13)


@pytest.mark.parametrize("outlier", [0.0, 2.0**45])
def test_large_means_do_not_cancel_beside_an_outlier(rng, outlier):
    X = np.ldexp(rng.integers(-100, 100, size=(50, 8)).astype(float), -10) + 2.0**40
    X[0, :4] = outlier
    exact = np.corrcoef((X[:, 4:] - 2.0**40).T)
    np.testing.assert_allclose(correlation_graph(X).toarray()[4:, 4:], exact, atol=1e-12)
    assert (correlation_graph(X).toarray()[:4, :4] > 0.999).all()


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_large_means_do_not_cancel(rng, wrap):
    X = np.ldexp(rng.integers(-100, 100, size=(50, 8)).astype(float), -10)
    exact = np.corrcoef(X.T)
    shifted = X + 2.0**40  # still exact in double precision
    np.testing.assert_allclose(correlation_graph(wrap(shifted)).toarray(), exact, atol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e307])
def test_magnitude_does_not_matter(rng, factor):
    X = rng.uniform(-1, 1, size=(20, 5))
    np.testing.assert_allclose(
        correlation_graph(X * factor).toarray(), np.corrcoef(X.T), atol=1e-12
    )


def test_orthogonal_binary_columns_have_no_edge():
    design = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    np.testing.assert_array_equal(correlation_graph(design).toarray(), np.eye(3))


@given(arrays(np.int8, st.tuples(st.integers(2, 6), st.integers(1, 6)), elements=st.integers(0, 1)))
def test_binary_tables_equal_numpy(X):
    varies = np.ptp(X, axis=0) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        graph = correlation_graph(X, tile_size=2).toarray()
    assert (graph[~varies] == 0).all()
    assert (graph[:, ~varies] == 0).all()
    if varies.sum() > 1:
        expected = np.corrcoef(X[:, varies].T.astype(float))
        np.testing.assert_allclose(graph[np.ix_(varies, varies)], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("X", "settings", "error", "message"),
    [
        (
            np.array([[1, 2], [np.inf, np.nan]]),
            {},
            ValueError,
            r"X must be finite; got inf at position \(1, 0\)",
        ),
        (sp.csr_array([[1, np.nan], [-np.inf, 3]]), {}, ValueError, "X must be finite; got -inf"),
        (
            np.ma.masked_array([[1.0, 2], [3, 4]], mask=np.eye(2)),
            {},
            TypeError,
            "X must not be a masked array",
        ),
        (np.ones(3), {}, ValueError, r"two dimensions \(n_samples, n_nodes\); got shape \(3,\)"),
        (np.ones((1, 3)), {}, ValueError, "at least 2 rows to correlate its columns; got 1"),
        (np.ones((3, 0)), {}, ValueError, "at least one column; got none"),
        (np.array([["a", "b"], ["c", "d"]]), {}, TypeError, "X must hold real numbers"),
        (pd.DataFrame({"a": ["1", "2"], "b": [1, 2]}), {}, TypeError, "Encode text"),
        (np.eye(3) * 1j, {}, TypeError, "X must hold real numbers"),
        (np.eye(3), {"n_edges": 0}, ValueError, "n_edges must be at least 1; got 0"),
        (np.eye(3), {"n_edges": 3}, ValueError, "n_edges must be at most 2; got 3"),
        (np.eye(3), {"tile_size": 0}, ValueError, "tile_size must be at least 1; got 0"),
    ],
)
def test_bad_input(X, settings, error, message):
    with pytest.raises(error, match=message):
        correlation_graph(X, **settings)


def test_a_value_far_down_a_long_table_is_found():
    X = np.zeros((2**21 + 5, 2), dtype=np.float32)
    X[-2, 1] = np.inf
    with pytest.raises(ValueError, match=r"got inf at position \(2097155, 1\)"):
        correlation_graph(X)


def test_small_correlations_are_kept_and_none_exceeds_one(rng):
    X = rng.normal(size=(100_000, 2))
    X[:, 1] += 1e-4 * X[:, 0]
    assert correlation_graph(X)[0, 1] == pytest.approx(np.corrcoef(X.T)[0, 1])
    same = np.repeat(rng.normal(size=(31, 1)), 50, axis=1) * rng.uniform(1, 2, 50)
    assert np.abs(correlation_graph(same).toarray()).max() == 1


def test_correlations_that_differ_by_rounding_are_tied(rng):
    X = rng.normal(size=(50, 1)) * np.r_[1.0, rng.uniform(1, 2, 40)]  # all the same but for scale
    graph = correlation_graph(X, n_edges=3)
    np.testing.assert_array_equal(graph[[30]].indices, [0, 1, 2, 30])


def test_the_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="constant") as caught:
        correlation_graph(np.ones((3, 2)))
    assert caught[0].filename == __file__


def test_integers_of_few_bits_do_not_wrap():
    X = sp.coo_array((np.array([100, 100, 50, 1], np.int8), ([0, 0, 1, 2], [0, 0, 0, 1])), (3, 2))
    expected = np.corrcoef(np.array([[200.0, 50, 0], [0, 0, 1]]))
    np.testing.assert_allclose(correlation_graph(X).toarray(), expected)


def test_does_not_write_into_the_table(table):
    before = table.copy()
    correlation_graph(table)
    np.testing.assert_array_equal(table, before)


class Lazy:
    """An array that is read slice by slice, and notes how much at a time."""

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.most_read = self.all_read = 0

    def __getitem__(self, part):
        read = self.values[part]
        self.most_read = max(self.most_read, read.size)
        self.all_read += read.size
        return read


def wide_table(rng):
    """Many columns in groups, with copies, negatives, constants and columns of few values."""
    factors = rng.normal(size=(50, 40))
    X = factors[:, np.arange(400) // 10] + rng.normal(size=(50, 400))
    X[:, 30:60] = X[:, [30]]
    X[:, 100:110] = -X[:, [200]]
    X[:, 300:320] = rng.integers(0, 2, size=(50, 20))
    X[:, [7, 399]] = 3.0
    return X


def strongest_by_definition(X, n_edges):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = correlation_graph(X).toarray()
    np.fill_diagonal(full, 0)
    order = np.argsort(-np.rint(np.abs(full) * 2**30), axis=1, kind="stable")[:, :n_edges]
    kept = np.zeros_like(full)
    np.put_along_axis(kept, order, np.take_along_axis(full, order, axis=1), axis=1)
    return kept + np.diag(np.ptp(X, axis=0) > 0)


@pytest.mark.filterwarnings("ignore:2 constant")
@pytest.mark.parametrize("wrap", [np.asarray, np.float32, sp.csr_array, Lazy])
@pytest.mark.parametrize("tile_size", [None, 64, 37])
def test_single_precision_decides_nothing(rng, wrap, tile_size):
    X = wide_table(rng).astype(np.float32).astype(np.float64)
    graph = correlation_graph(wrap(X), n_edges=5, tile_size=tile_size)
    np.testing.assert_allclose(graph.toarray(), strongest_by_definition(X, 5), atol=1e-13)


@pytest.mark.filterwarnings("ignore:.*constant column")
@pytest.mark.parametrize("list_bytes", [2**30, 1])
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_do_not_change_the_strongest(rng, monkeypatch, n_threads, list_bytes):
    monkeypatch.setattr(search, "available_threads", lambda: n_threads)
    monkeypatch.setattr(search, "LIST_BYTES", list_bytes)
    X = wide_table(rng)
    graph = correlation_graph(X, n_edges=5, tile_size=7)
    np.testing.assert_allclose(graph.toarray(), strongest_by_definition(X, 5), atol=1e-13)


def test_columns_that_single_precision_cannot_tell_are_found_again(rng):
    base = rng.normal(size=(200, 1))
    X = base + 1e-5 * rng.normal(size=(200, 300))  # all correlations are 1 - 1e-10 or so
    X[:, 100:] += rng.normal(size=(200, 200))
    graph = correlation_graph(X, n_edges=3)
    np.testing.assert_allclose(graph.toarray(), strongest_by_definition(X, 3), atol=1e-13)


@pytest.mark.parametrize("tile_size", [None, 1, 7, 64])
@pytest.mark.parametrize("noise", [1e-3, 1e-4])
def test_nearly_equal_correlations_are_told_apart(rng, tile_size, noise):
    X = rng.normal(size=(60, 1)) + noise * rng.normal(size=(60, 150))
    graph = correlation_graph(X, n_edges=4, tile_size=tile_size)
    np.testing.assert_allclose(graph.toarray(), strongest_by_definition(X, 4), atol=1e-13)


def test_few_rows_at_once_do_not_change_the_strongest(rng, monkeypatch):
    X = rng.normal(size=(90, 200)).cumsum(axis=1)
    whole = correlation_graph(X, n_edges=4)
    monkeypatch.setattr(search, "CHUNK_BYTES", 8 * 200 * 7)
    monkeypatch.setattr(columns, "CHUNK_BYTES", 8 * 200 * 7)
    monkeypatch.setattr(search, "SINGLE_BYTES", 0)
    parts = correlation_graph(X, n_edges=4)
    np.testing.assert_array_equal(parts.indices, whole.indices)
    np.testing.assert_allclose(parts.data, whole.data, atol=1e-13)


def test_a_lazy_table_is_never_read_whole(rng, monkeypatch):
    for module in (columns, search):
        monkeypatch.setattr(module, "CHUNK_BYTES", 8 * 20 * 30)
    table = Lazy(rng.normal(size=(300, 60)))
    graph = correlation_graph(table, n_edges=2, tile_size=20)
    assert table.most_read <= 20 * 30
    whole = correlation_graph(table.values, n_edges=2)
    np.testing.assert_array_equal(graph.indices, whole.indices)


def test_three_readings_of_a_table_standardise_its_columns(rng, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_BYTES", 8 * 20 * 30)
    table = Lazy(rng.normal(size=(300, 20)))
    columns.Columns(table, 0, 20)
    assert table.all_read == 3 * table.values.size


def test_each_pair_of_tiles_is_computed_once_so_the_graph_is_symmetric_bit_for_bit(rng):
    table = Lazy(rng.normal(size=(300, 50)))
    graph = correlation_graph(table, tile_size=10)
    assert (graph != graph.T).nnz == 0
    n_tiles, n_pairs = 5, 10  # a tile with itself is read once, with another twice
    assert table.all_read == 300 * 10 * (3 * n_tiles + n_tiles + 2 * n_pairs)


def test_a_lazy_table_is_checked_too(rng):
    with pytest.raises(ValueError, match="table of numbers"):
        correlation_graph(Lazy(np.zeros(5)))
    unknown = Lazy(np.zeros((5, 3)))
    unknown.shape = (float("nan"), 3)
    with pytest.raises(ValueError, match="of known size; got float64 of shape"):
        correlation_graph(unknown)
    X = rng.normal(size=(20, 5))
    X[3, 4] = np.inf
    with pytest.raises(ValueError, match="X must hold finite numbers or NaN; got infinity"):
        correlation_graph(Lazy(X))


def with_gaps(rng, X):
    """Return X with NaN, and X with the means of the columns in their place."""
    X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    X[1] = 0.0  # sparse matrices do not store these, but they are values
    return X, np.where(np.isnan(X), np.nanmean(X, axis=0), X)


@pytest.mark.parametrize("wrap", [np.asarray, np.float32, sp.csr_array, Lazy, pl.DataFrame])
@pytest.mark.parametrize("tile_size", [None, 7])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_missing_value_counts_as_the_mean_of_its_column(table, rng, wrap, tile_size, offset):
    X, filled = with_gaps(rng, (table + offset).astype(np.float32).astype(np.float64))
    graph = correlation_graph(wrap(X), tile_size=tile_size)
    np.testing.assert_allclose(graph.toarray(), np.corrcoef(filled.T), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*constant")
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, Lazy])
def test_the_strongest_are_found_beside_missing_values(rng, wrap, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_BYTES", 8 * 64 * 9)
    X, filled = with_gaps(rng, wide_table(rng))
    X[:, 7] = filled[:, 7] = 3.0
    X[4, 7] = np.nan  # a constant column may have gaps
    graph = correlation_graph(wrap(X), n_edges=5, tile_size=64)
    np.testing.assert_allclose(graph.toarray(), strongest_by_definition(filled, 5), atol=1e-12)


def test_only_missing_values_cost_further_readings(rng):
    table = Lazy(rng.normal(size=(300, 20)))
    table.values[3, 4] = np.nan
    columns.Columns(table, 0, 20)
    assert table.all_read == 5 * table.values.size


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, Lazy])
def test_a_column_without_values_is_named(rng, wrap):
    X = rng.normal(size=(20, 9))
    X[:, 4] = np.nan
    with pytest.raises(ValueError, match=r"at least one value; .* missing .* in column 4\. Drop"):
        correlation_graph(wrap(X), tile_size=3)
    with pytest.raises(ValueError, match=r"in column 'e'\. Drop it"):
        correlation_graph(pd.DataFrame(X, columns=list("abcdefghi")))
