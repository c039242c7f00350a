"""Tables that are not in memory: a model learns from them what it learns from an array."""

import dask.array
import numpy as np
import polars as pl
import pytest
import torch

from walkconv import GraphCNNClassifier, GraphCNNRegressor, _samples, correlation_graph
from walkconv.estimators.choosing import choose
from walkconv.estimators.table_samples import TableBatches
from walkconv.tables import lazy_rows as module
from walkconv.tables.lazy_rows import LazyRows, lazy_rows
from walkconv.tables.scaling import learn_scaling

N_ROWS, N_COLUMNS = 600, 6
NAMES = [f"column {i}" for i in range(N_COLUMNS)]
SETTINGS = {
    "architecture": "C3-FC8",
    "n_neighbors": 3,
    "max_iter": 2,
    "n_members": 1,
    "random_state": 0,
}


class Stored:
    """An array as zarr and h5py have it: only slices can be read."""

    __module__ = "zarr.core"

    def __init__(self, values):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self.values[rows]


@pytest.fixture
def table(rng):
    X = rng.normal(size=(N_ROWS, N_COLUMNS)).cumsum(axis=1).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.fixture
def y(table):
    return np.nan_to_num(table[:, 2]) * 3.0 + 7.0


@pytest.fixture
def small_blocks(monkeypatch):
    """Let sixteen blocks hold 80 rows of the table, so that it is not shuffled as a whole."""
    monkeypatch.setattr(module, "SHUFFLED_BYTES", 16 * 5 * 4 * N_COLUMNS)
    monkeypatch.setattr(_samples, "LARGE_MAP", 16 * 5 * 4 * N_COLUMNS)


def forms(table, folder):
    """Return the table in every form that is not in memory."""
    np.save(folder / "table.npy", table)
    frame = pl.DataFrame(table, schema=NAMES).fill_nan(None)
    frame.write_parquet(folder / "table.parquet")
    return {
        "memory map": np.load(folder / "table.npy", mmap_mode="r"),
        "LazyFrame": frame.lazy(),
        "path": folder / "table.parquet",
        "text of a path": str(folder / "table.parquet"),
        "dask": dask.array.from_array(table, chunks=(97, 4)),
        "zarr": Stored(table),
    }


FORMS = ["memory map", "LazyFrame", "path", "text of a path", "dask", "zarr"]


@pytest.mark.parametrize("form", FORMS)
def test_a_model_learns_the_same_from_every_form_if_the_rows_have_the_same_order(
    form, table, y, tmp_path, small_blocks, monkeypatch
):
    X = forms(table, tmp_path)[form]
    lazy = lazy_rows(X)
    assert lazy.shape == table.shape
    model = GraphCNNRegressor(**SETTINGS).fit(X, y)
    blocks = LazyRows(lambda a, b: table[a:b], table.shape, table.dtype, None, lazy.n_shuffled)
    monkeypatch.setattr(TableBatches, "shuffled", lambda batches: blocks.shuffled())
    in_memory = GraphCNNRegressor(**SETTINGS).fit(table, y)
    assert model.history_[-1]["loss"] == in_memory.history_[-1]["loss"]
    np.testing.assert_array_equal(model.scaling_.mean, in_memory.scaling_.mean)
    np.testing.assert_array_equal(model.graph_.toarray(), in_memory.graph_.toarray())
    wanted = in_memory.predict(table)
    np.testing.assert_array_equal(model.predict(X), wanted)
    assert model.score(X, y) == in_memory.score(table, y)
    has_names = "frame" in form.lower() or "path" in form
    assert getattr(model, "feature_names_in_", None) is None or has_names


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_table_that_fits_into_the_blocks_is_learned_as_in_memory(form, table, y, tmp_path):
    found = GraphCNNRegressor(**SETTINGS).fit(forms(table, tmp_path)[form], y).predict(table)
    wanted = GraphCNNRegressor(**SETTINGS).fit(table, y).predict(table)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("chosen", [None, np.arange(0, 1000, 3)])
def test_a_shuffled_order_has_every_row_once_and_needs_few_blocks_at_a_time(monkeypatch, chosen):
    monkeypatch.setattr(module, "SHUFFLED_BYTES", 4 * 10 * 8)
    read = []

    def reader(start, stop):
        read.append((start, stop))
        return np.arange(start, stop, dtype=np.float64)[:, None]

    rows = LazyRows(reader, (1000, 1), np.float64, n_shuffled=4, chosen=chosen)
    torch.manual_seed(0)
    order = rows.shuffled()
    assert sorted(order) == list(range(len(rows)))
    assert (np.diff(order[:20]) < 0).any()
    assert not (order == rows.shuffled()).all()
    values = np.concatenate([rows[order[i : i + 7]] for i in range(0, len(order), 7)])
    np.testing.assert_array_equal(values[:, 0], order if chosen is None else chosen[order])
    assert len(read) == 100  # every block once
    assert len(rows.cache) <= 5
    blocks = np.concatenate(list(rows.blocks()))[:, 0]
    np.testing.assert_array_equal(blocks, np.arange(1000) if chosen is None else chosen)


def test_slices_of_any_size_are_the_rows(monkeypatch, rng):
    monkeypatch.setattr(module, "SHUFFLED_BYTES", 4 * 16 * 7)
    values = rng.normal(size=(100, 2)).astype(np.float32)
    rows = LazyRows(lambda a, b: values[a:b], values.shape, values.dtype)
    for start, stop in ((0, 100), (5, 6), (6, 22), (95, 200), (40, 40)):
        np.testing.assert_array_equal(rows[start:stop], values[start:stop])
        np.testing.assert_array_equal(rows[start:stop, 1:], values[start:stop, 1:])


def test_validation_rows_weights_and_checkpoints_work_too(table, y, tmp_path, small_blocks):
    X = forms(table, tmp_path)["memory map"]
    classes = y > y.mean()
    model = GraphCNNClassifier(**SETTINGS, early_stopping=True)
    weight = np.ones(N_ROWS)
    weight[::5] = 0
    model.fit(X, classes, sample_weight=weight, checkpoint=tmp_path / "fit.safetensors")
    assert "validation_score" in model.history_[0]
    again = GraphCNNClassifier(**SETTINGS, early_stopping=True)
    again.fit(X, classes, sample_weight=weight, checkpoint=tmp_path / "fit.safetensors")
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    held_out = GraphCNNRegressor(**SETTINGS).fit(X, y, validation_data=(X, y))
    assert held_out.history_[-1]["validation_score"] == pytest.approx(held_out.score(X, y))


def test_columns_of_a_frame_are_found_by_name(table, y, tmp_path):
    frame = pl.DataFrame(table, schema=NAMES)
    model = GraphCNNRegressor(**SETTINGS).fit(frame.lazy(), y)
    moved = frame.select(NAMES[::-1]).with_columns(other=pl.lit("text"))
    np.testing.assert_array_equal(model.predict(moved.lazy()), model.predict(frame))
    with pytest.raises(ValueError, match=r"it lacks 'column 2'\. Did you mean 'column 20'"):
        model.predict(frame.rename({"column 2": "column 20"}).lazy())


def test_a_graph_that_needs_the_whole_table_is_refused(table, y, tmp_path):
    X = forms(table, tmp_path)["zarr"]
    with pytest.raises(ValueError, match=r"must be given, or 'correlation'.*got knn"):
        GraphCNNRegressor(**SETTINGS, graph="knn").fit(X, y)
    with pytest.raises(ValueError, match=r"must be given, or 'correlation'.*got a callable"):
        GraphCNNRegressor(**SETTINGS, graph=lambda rows: np.eye(N_COLUMNS)).fit(X, y)
    given = GraphCNNRegressor(**SETTINGS, graph=correlation_graph(table)).fit(X, y)
    learned = GraphCNNRegressor(**SETTINGS).fit(X, y)
    np.testing.assert_array_equal(given.predict(X), learned.predict(X))


def test_channels_need_a_graph_that_is_given(table, y):
    X = Stored(table.reshape(N_ROWS, 3, 2))
    with pytest.raises(ValueError, match="without channels; got correlation"):
        GraphCNNRegressor(**SETTINGS).fit(X, y)
    line = np.eye(3, k=1) + np.eye(3, k=-1)
    model = GraphCNNRegressor(**SETTINGS, graph=line).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.values))


def test_what_is_odd_in_a_table_is_named(table, y, tmp_path):
    model = GraphCNNRegressor(**SETTINGS)
    table[517, 2] = np.inf
    with pytest.raises(ValueError, match="row 517 holds infinity"):
        model.fit(Stored(table), y)
    table[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2"):
        model.fit(Stored(table), y)
    with pytest.raises(TypeError, match="hold something else: 'colour'"):
        model.fit(pl.LazyFrame({"colour": ["red", "blue"], "x": [1, 2]}), [1, 2])
    with pytest.raises(FileNotFoundError, match=r"nothing\.parquet is not a file"):
        model.fit(tmp_path / "nothing.parquet", y)
    unknown = dask.array.from_array(table)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model.fit(unknown[unknown[:, 0] > 0], y)
    with pytest.raises(ValueError, match="numbers in an array"):
        model.fit(Stored(np.array([["a"], ["b"]])), [1, 2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(Stored(table[:, :2]), y[:9])


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_search_chooses_as_in_memory_if_its_rows_are_all_rows(table, y):
    table, y = table[:200], y[:200]
    found = GraphCNNRegressor(random_state=0).fit(Stored(table), y, calibrate=False)
    wanted = GraphCNNRegressor(random_state=0).fit(table, y, calibrate=False)
    assert found.architecture_ == wanted.architecture_
    assert [each["score"] for each in found.choices_] == [e["score"] for e in wanted.choices_]
    np.testing.assert_allclose(found.predict(table), wanted.predict(table), rtol=1e-5)


def test_a_search_on_a_large_table_reads_a_part_of_it(table, y, monkeypatch, small_blocks):
    monkeypatch.setattr(module, "SAMPLED_ROWS", 60)
    searched, y = [], y + np.arange(N_ROWS) / 1000  # no two are the same

    def noted(parts):
        searched.append((parts.rows.samples.X, parts.rows.y, parts.rows.given))
        return choose(parts)

    monkeypatch.setattr("walkconv.estimators.fitting.choose", noted)
    model = GraphCNNRegressor(random_state=0).fit(Stored(table), y, calibrate=False)
    ((X, encoded, given),) = searched
    assert X.shape == (60, N_COLUMNS)
    assert len(encoded) == 60
    rows = [int(np.flatnonzero(y == value)[0]) for value in given]
    np.testing.assert_array_equal(X, table[rows])
    assert model.choices_ is not None
    np.testing.assert_array_equal(model.scaling_.mean[:, 0], learn_scaling(table).mean[:, 0])
    with pytest.raises(ValueError, match="must be given, or 'correlation'"):
        GraphCNNRegressor(graph="knn").fit(Stored(table), y)
    assert len(searched) == 1


def test_layouts_and_relevance_are_learned_from_blocks(rng, small_blocks):
    line = rng.normal(size=(400, N_COLUMNS + 3)).cumsum(axis=1)
    counts = rng.poisson(5, size=(400, N_COLUMNS))
    y = line[:, 2]
    directed = {**SETTINGS, "order": "auto", "n_neighbors": 3}
    for X, settings in ((line, directed), (counts, {**SETTINGS, "standardize": "relevance"})):
        found = GraphCNNRegressor(**settings).fit(Stored(X), y)
        wanted = GraphCNNRegressor(**settings).fit(X, y)
        assert found.orientation_.reason == wanted.orientation_.reason
        np.testing.assert_array_equal(found.neighbors_.index, wanted.neighbors_.index)
        np.testing.assert_allclose(found.scaling_.mean, wanted.scaling_.mean, rtol=1e-12)
    np.testing.assert_array_equal(
        found._fitted.learned.relevance.is_count, wanted._fitted.learned.relevance.is_count
    )


def test_a_damaged_parquet_file_is_refused(regressor, tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 is no more than the beginning")
    with pytest.raises(ValueError, match="X must be a table that polars can read"):
        regressor.fit(path, np.arange(3.0))


def test_a_table_that_shrinks_during_a_fit_is_refused():
    whole, lengths = pl.DataFrame({"a": range(9), "b": range(9)}), iter([9, 4])
    rows = lazy_rows(whole.lazy().map_batches(lambda frame: frame.head(next(lengths))))
    with pytest.raises(ValueError, match=r"X must keep its size; rows 0 to 9 are now of shape \(4"):
        rows[:]
