"""Slots as directions inside the estimators: chosen, pooled, kept in files, shifted."""

import numpy as np
import pandas as pd
import pytest

from walkconv import (
    GraphCNNClassifier,
    GraphCNNRegressor,
    GraphSample,
    correlation_graph,
    grid_graph,
    load,
    slot_offsets,
)
from walkconv.estimators.relations import orient
from walkconv.estimators.table_samples import TableBatches, shift_sources
from walkconv.networks import build_levels, parse_architecture
from walkconv.networks.levels import group_means
from walkconv.persistence import ModelFileError, read_file, write_file


@pytest.fixture
def fields(rng):
    """Smooth random fields on a shuffled 10 x 12 grid, their sites, and which way each falls."""
    sites = np.stack(np.divmod(rng.permutation(120), 12), axis=1)
    gaps = np.linalg.norm(sites[:, None] - sites[None], axis=2)
    X = rng.multivariate_normal(np.zeros(120), np.exp(-gaps / 4), size=600).astype(np.float32)
    return X, sites, (X @ (sites[:, 0] - 4.5) > 0).astype(int)


def fit(fields, architecture="C2", *, checkpoint=None, **settings):
    X, _, y = fields
    model = GraphCNNClassifier(architecture, n_neighbors=9, max_iter=1, random_state=0, **settings)
    return model.fit(X, y, checkpoint=checkpoint)


def test_direction_lays_the_columns_out(fields):
    model = fit(fields, order="direction")
    assert model.positions_.shape == (120, 2)
    assert model.orientation_.order == "direction"
    steps = fields[1][model.neighbors_.index[:, 1:5]] - fields[1][:, None]
    is_there = model.neighbors_.index[:, 1:5] >= 0
    for slot in range(4):  # one step along one axis of the grid, the same at nearly every column
        _, counts = np.unique(steps[is_there[:, slot], slot], axis=0, return_counts=True)
        assert counts.max() > 0.9 * is_there[:, slot].sum()
        assert is_there[:, slot].mean() > 0.85


def test_auto_takes_direction_where_there_is_a_plane_and_says_so(fields):
    model = fit(fields, order="auto")
    assert model.orientation_.order == "direction"
    assert model.orientation_.reason.startswith("a plane fits: stress 0.0")
    same = fit(fields, order="direction")
    np.testing.assert_array_equal(model.neighbors_.index, same.neighbors_.index)


def test_auto_ranks_where_there_is_none_and_says_so(rng):
    X = rng.normal(size=(200, 60))
    model = GraphCNNRegressor("C2", order="auto", shift=1, max_iter=1, random_state=0)
    with pytest.warns(UserWarning, match="shift=1 is not used: order='auto' chose visits because"):
        model.fit(X, X[:, 0])
    assert model.orientation_.order == "visits"
    assert model.orientation_.reason.startswith("a plane does not fit: stress 0.")
    assert model.positions_ is None
    plain = GraphCNNRegressor("C2", max_iter=1, random_state=0).fit(X, X[:, 0])
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    assert plain.orientation_.order == "visits"


@pytest.mark.parametrize("n_nodes", [6, 24, 50])
def test_auto_does_not_take_noise_for_structure(n_nodes):
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(300, n_nodes))
        for table in (X, None):
            found = orient(correlation_graph(X), table, order="auto", positions=None)
            assert found.order == "visits"
            reason = "nodes are too few to tell" if n_nodes < 10 else "does not fit: stress 0."
            assert reason in found.reason


def test_known_positions_are_taken(fields):
    sites = fields[1]
    for order in (sites, sites.tolist()):
        model = fit(fields, order=order)
        np.testing.assert_array_equal(model.positions_, sites)
        assert model.orientation_.reason == "positions were given"
        index = model.neighbors_.index
        steps = sites[index] - sites[:, None]
        assert (steps == slot_offsets(9))[index >= 0].all()


def test_pooling_carries_positions_and_orients_coarse_levels(fields):
    model = fit(fields, "C2-P4-C2", order="direction")
    fine, coarse = model.levels_
    expected = [fine.positions[fine.groups == g].mean(axis=0) for g in range(coarse.n_nodes)]
    np.testing.assert_allclose(coarse.positions, expected, atol=1e-12)
    right = coarse.neighbors.index[:, 4]
    is_there = right >= 0
    assert is_there.mean() > 0.5
    moved = coarse.positions[right[is_there]] - coarse.positions[is_there]
    assert (moved[:, 0] > np.abs(moved[:, 1])).mean() > 0.9


def test_means_go_the_shorter_way_round(rng):
    angles = rng.uniform(-1, 1, size=(40, 1)) + 6.0
    groups = np.repeat([0, 1], 20)
    period = np.array([6.0])
    wrapped = group_means(angles % 6.0, groups, period) % 6.0
    np.testing.assert_allclose(wrapped, group_means(angles, groups) % 6.0, atol=1e-12)


def test_a_file_keeps_the_orientation(fields, tmp_path):
    model = fit(fields, "C2-P4-C2-FC4", order="auto", shift=1)
    model.save(tmp_path / "m.safetensors")
    same = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(same.predict_proba(fields[0]), model.predict_proba(fields[0]))
    np.testing.assert_array_equal(same.positions_, model.positions_)
    assert same.orientation_.order == model.orientation_.order
    assert same.orientation_.reason == model.orientation_.reason
    np.testing.assert_array_equal(same.levels_[1].positions, model.levels_[1].positions)
    assert same.get_params()["order"] == "auto"
    known = fit(fields, order=fields[1])
    known.save(tmp_path / "k.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "k.safetensors").order, fields[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a, c: c["samples"]["orientation"].update(order="up"), "order must be one of"),
        (
            lambda a, c: c["samples"]["orientation"].update(reason=3),
            "the reason for the order must be text",
        ),
        (lambda a, c: a.pop("samples.level.0.positions"), "must come with positions"),
        (
            lambda a, c: a.update({"samples.level.0.positions": np.zeros((7, 2))}),
            "positions must have shape .* n_nodes = 120",
        ),
        (lambda a, c: a.update({"samples.level.0.positions": np.full((120, 2), np.nan)}), "finite"),
    ],
)
def test_a_file_that_says_nonsense_is_refused(fields, tmp_path, change, message):
    path = tmp_path / "m.safetensors"
    fit(fields, order="direction").save(path)
    arrays, content = read_file(path, "model")
    change(arrays, content)
    write_file(path, "model", arrays, content)
    with pytest.raises(ModelFileError, match=message):
        load(path)


def test_a_checkpoint_belongs_to_its_positions(fields, tmp_path):
    path = tmp_path / "c.safetensors"
    fit(fields, order=fields[1], checkpoint=path)
    with pytest.raises(ValueError, match="belongs to another fit: positions has changed"):
        fit(fields, order=fields[1] * 2.0, checkpoint=path)


def test_shifts_move_values_by_whole_slots(fields):
    X = fields[0]
    model = fit(fields, order=fields[1], shift=1, standardize=False)
    sources = shift_sources(model.neighbors_, 2, 1)
    assert sources.shape == (120, 9)
    table = TableBatches(X, model.scaling_, None, "cpu", sources)
    rows = table.batch(slice(0, 200))[0].numpy()[..., 0]
    kinds = set()
    for row, shifted in zip(X, rows, strict=False):
        moved = [np.where(source < 0, 0, row[source]) for source in sources.T]
        kind = [k for k, values in enumerate(moved) if np.array_equal(values, shifted)]
        assert len(kind) == 1
        kinds.add(kind[0])
    assert kinds == set(range(9))


def test_shifts_change_training_and_not_prediction(fields):
    plain, shifted = (fit(fields, order="direction", shift=shift) for shift in (0, 1))
    assert (plain.predict_proba(fields[0]) != shifted.predict_proba(fields[0])).any()
    again = fit(fields, order="direction", shift=1)
    np.testing.assert_array_equal(again.predict_proba(fields[0]), shifted.predict_proba(fields[0]))
    np.testing.assert_array_equal(
        shifted.predict_proba(fields[0]), shifted.predict_proba(fields[0])
    )


def test_samples_that_are_graphs_have_no_common_direction():
    graphs = [GraphSample(np.ones((3, 3)), x=np.ones((3, 1))) for _ in range(4)]
    with pytest.raises(ValueError, match="order must be 'visits' if samples are graphs"):
        GraphCNNClassifier("C2-G", order="auto").fit(graphs, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": "up"}, "order must be one of 'visits', 'direction', 'auto'; got 'up'"),
        ({"order": 2}, "order must be one of .*, or positions of shape .*; got 2"),
        ({"shift": 1}, "shift needs directions: .* got order='visits' with shift=1"),
        ({"order": "auto", "shift": -1}, "shift must be at least 0; got -1"),
        ({"order": "direction", "shift": 2}, "shift=2 in 2 dimension.* at least 25; got 9"),
        (
            {"order": np.zeros((7, 2))},
            r"n_nodes = 120; got shape \(7, 2\)",
        ),
    ],
)
def test_bad_settings(fields, settings, message):
    with pytest.raises(ValueError, match=message):
        fit(fields, **settings)


def test_places_with_names_are_matched_by_name(rng, tmp_path):
    names = [f"c{place}" for place in range(9)]
    X = pd.DataFrame(rng.normal(size=(60, 9)).cumsum(axis=1), columns=names)
    places = pd.DataFrame({"x": np.arange(9.0)}, index=names)
    model = GraphCNNRegressor("C2", n_neighbors=3, max_iter=1, random_state=0)
    expected = model.set_params(order=places.to_numpy()).fit(X, X["c0"]).neighbors_.index
    shuffled = places.sample(frac=1, random_state=0)
    found = model.set_params(order=shuffled).fit(X, X["c0"]).neighbors_.index
    np.testing.assert_array_equal(found, expected)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").order, places)
    with pytest.raises(ValueError, match="rows of positions must have the names of the columns"):
        model.set_params(order=shuffled.iloc[1:]).fit(X, X["c0"])


def test_a_small_level_keeps_every_direction():
    levels = build_levels(
        grid_graph((4, 4)),
        parse_architecture("C4-P2x2-C4"),
        n_neighbors=9,
        order="direction",
        positions=np.stack(np.divmod(np.arange(16.0), 4), axis=1),
    )
    assert levels[1].neighbors.index.shape == (4, 9)
    assert set(levels[1].neighbors.index[0]) == {-1, 0, 1, 2, 3}


def test_a_shift_needs_neighbours_of_the_columns(rng):
    X = rng.normal(size=(40, 9)).cumsum(axis=1)
    positions = np.arange(9.0)[:, None]
    model = GraphCNNRegressor("P2-C2", order=positions, shift=1)
    with pytest.raises(ValueError, match="the architecture must begin with a C layer"):
        model.fit(X, X[:, 0])


def test_places_that_are_no_numbers_are_refused(rng):
    X = rng.normal(size=(40, 5))
    with pytest.raises(TypeError, match="positions must hold real numbers"):
        GraphCNNRegressor("C2", order=[["left"]] * 5).fit(X, X[:, 0])
