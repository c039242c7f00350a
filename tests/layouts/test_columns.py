"""From the values of a table alone: what its columns form, and where each stands."""

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import GraphCNNClassifier, Layout, layout_columns
from walkconv.layouts import from_table, search
from walkconv.layouts.channels import find_channels
from walkconv.layouts.kind import kind_of
from walkconv.layouts.partial import (
    Ridge,
    column_moments,
    column_relations,
    correlation_matrix,
    nearby_partial_correlations,
    strongest_relations,
)
from walkconv.layouts.search import Candidate, fitting_rings, trials

RIDGE = Ridge(0.1, 10.0)


def fields(gaps, n_samples, rng, noise=0.1):
    """Samples of a smooth random field: correlations fall with the distance (n_sites, n_sites)."""
    values = rng.multivariate_normal(np.zeros(len(gaps)), np.exp(-gaps / 4), size=n_samples)
    return values + noise * rng.normal(size=values.shape)


def distances(sites):
    return np.linalg.norm(sites[:, None] - sites[None], axis=2)


def relations(X):
    """Partial correlations and cosines of the columns."""
    mean, deviation, effective = column_moments(X)
    correlation = correlation_matrix(X, mean, deviation)
    return [each.copy() for each in column_relations(correlation, effective, [RIDGE])]


@pytest.fixture
def plane(rng):
    """A table of 13 x 14 columns in random order, and their sites."""
    sites = np.stack(np.divmod(rng.permutation(13 * 14), 14), axis=1)
    return fields(distances(sites), 800, rng), sites


def share_of_unit_steps(layout, sites):
    """Share of the columns one step apart whose positions are about one step apart."""
    is_beside = np.triu(distances(sites) == 1)
    return (np.abs(distances(layout.positions)[is_beside] - 1) < 0.3).mean()


def test_a_plane_is_found(plane):
    X, sites = plane
    layout = layout_columns(X)
    assert layout.kind == "plane"
    assert share_of_unit_steps(layout, sites) > 0.97
    np.testing.assert_array_equal(layout.node, np.arange(182))
    assert not layout.channel.any()


def test_the_same_table_has_the_same_layout_bit_for_bit(plane):
    X, _ = plane
    np.testing.assert_array_equal(
        layout_columns(X, n_dims=2).positions, layout_columns(X, n_dims=2).positions
    )


def test_the_number_of_threads_does_not_change_the_layout(rng, monkeypatch):
    X = np.cumsum(rng.normal(size=(200, 40)), axis=1)[:, rng.permutation(40)]
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr(search, "available_threads", lambda n=n_threads: n)
        found.append(layout_columns(X, n_dims=2))
    np.testing.assert_array_equal(found[0].positions, found[1].positions)
    assert found[0].reason == found[1].reason


def test_work_in_threads_is_returned_in_the_order_of_the_items(monkeypatch):
    monkeypatch.setattr(search, "available_threads", lambda: 2)

    def waited(seconds):
        time.sleep(seconds)
        return seconds

    assert search._in_threads(waited, [0.3, 0.0, 0.1]) == [0.3, 0.0, 0.1]


def test_a_series_is_a_line_in_its_order(rng):
    order = rng.permutation(50)
    layout = layout_columns(np.cumsum(rng.normal(size=(300, 50)), axis=1)[:, order])
    assert layout.kind == "line"
    assert np.abs(np.diff(order[np.argsort(layout.positions[:, 0])])).max() == 1


def test_a_closed_curve_is_a_ring(rng):
    order = rng.permutation(48)
    gaps = np.abs(order[:, None] - order)
    X = fields(np.minimum(gaps, 48 - gaps), 600, rng)
    layout = layout_columns(X)
    assert layout.kind == "ring"
    around = order[np.argsort(layout.positions[:, 0])]
    assert set(np.diff(around, append=around[0]) % 48) <= {1, 47}


@pytest.mark.parametrize("n_factors", [0, 3, 10])
def test_factors_and_noise_form_nothing(n_factors, rng):
    factors = rng.normal(size=(400, n_factors)) @ rng.normal(size=(n_factors, 80))
    assert layout_columns(factors + rng.normal(size=(400, 80))).kind == "none"


def test_constant_columns_stand_beside_the_others_and_missing_values_are_means(plane, rng):
    X, sites = plane
    X = np.where(rng.random(X.shape) < 0.02, np.nan, X)
    layout = layout_columns(np.insert(X, 5, 3.0, axis=1))
    others = np.delete(layout.positions, 5, axis=0)
    assert layout.positions[5, 0] > others[:, 0].max() + 1
    layout = layout_columns(X)
    assert layout.kind == "plane"
    assert share_of_unit_steps(layout, sites) > 0.9


def test_columns_of_one_place_are_channels_of_one_node(rng):
    sites = np.stack(np.divmod(np.arange(81), 9), axis=1)
    common = fields(distances(sites), 800, rng)
    shades = [common + 0.5 * fields(distances(sites), 800, rng) for _ in range(3)]
    order = rng.permutation(243)
    X = np.concatenate(shades, axis=1)[:, order]
    layout = layout_columns(X)
    assert (layout.kind, layout.n_nodes) == ("plane", 81)
    place, shade = order % 81, order // 81
    assert len(set(zip(layout.node, place, strict=True))) == 81
    assert len(set(zip(layout.channel, shade, strict=True))) == 3
    first = np.unique(layout.node, return_index=True)[1]
    assert share_of_unit_steps(layout, sites[place[first]]) > 0.9
    alone = layout_columns(X, n_dims=2, channels=False)
    assert alone.n_nodes == 243
    stacked = layout.stack(X)
    assert stacked.shape == (len(X), 81, 3)
    for column in (0, 100, 242):
        there = stacked[:, layout.node[column], layout.channel[column]]
        np.testing.assert_array_equal(there, X[:, column])
    names = layout.node_names([f"{p}.{s}" for p, s in zip(place, shade, strict=True)])
    shades = {tuple(name.split(".")[1] for name in each) for each in names}
    assert len(shades) == 1, "each node has its channels in the same order"
    assert all(len({name.split(".")[0] for name in each}) == 1 for each in names)
    y = (X[:, place == 40].sum(axis=1) > 0).astype(int)
    model = GraphCNNClassifier("C3-FC4", n_neighbors=9, order=layout.positions, max_iter=1)
    model.fit(stacked, y)
    assert model.neighbors_.n_nodes == 81
    assert model.scaling_.mean.shape == (81, 3)


def test_a_node_without_a_channel_has_zeros_there_and_a_table_of_other_columns_is_refused():
    none, two = np.zeros(1), np.zeros((2, 1))
    layout = Layout(two, none, "none", 0.0, 0.0, "", np.array([0, 1, 1]), np.array([0, 1, 0]))
    X = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(layout.stack(X), [[[1.0, 0.0], [3.0, 2.0]]])
    np.testing.assert_array_equal(layout.stack(sp.csr_array(X)), layout.stack(X))
    assert layout.node_names("abc") == [("a",), ("c", "b")]
    with pytest.raises(ValueError, match="X must have the 3 columns that were laid out; got 2"):
        layout.stack(X[:, :2])
    with pytest.raises(ValueError, match="a name for each of 3 columns; got 2"):
        layout.node_names("ab")


def test_a_plane_has_no_channels(plane):
    X, _ = plane
    assert find_channels(strongest_relations(relations(X)[0])) is None


def test_partial_correlations_and_cosines_by_definition(rng):
    X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    effective = 50 / (scaled**4).mean(axis=0)
    np.testing.assert_allclose(column_moments(X)[2], effective)
    ridge = np.diag(0.1 + 10 / effective)
    inverse = np.linalg.inv(scaled.T @ scaled / 50 + ridge)
    shared = np.eye(6) - np.sqrt(ridge) @ inverse @ np.sqrt(ridge)
    for found, matrix in zip(relations(X), (-inverse, shared), strict=True):
        root = np.sqrt(np.abs(np.diag(matrix)))
        expected = matrix / root / root[:, None]
        np.fill_diagonal(expected, 0)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    found = strongest_relations(expected)
    np.testing.assert_allclose(found.toarray(), np.maximum(expected, 0), atol=1e-12)


def test_nearby_partial_correlations_are_exact_where_all_columns_are_near(plane):
    X = plane[0][:, :30]
    exact = strongest_relations(relations(X)[0])
    nearby = nearby_partial_correlations(X, *column_moments(X), RIDGE)
    np.testing.assert_allclose(nearby.toarray(), exact.toarray(), atol=1e-9)


def test_very_wide_tables_condition_on_nearby_columns(plane, monkeypatch):
    X, sites = plane
    monkeypatch.setattr(from_table, "VERY_WIDE", 100)
    layout = layout_columns(X)
    assert layout.kind == "plane"
    assert share_of_unit_steps(layout, sites) > 0.97


def test_a_line_that_fits_as_well_as_a_ring_is_the_ring_cut_open(plane):
    relation = strongest_relations(relations(plane[0])[0])
    (trial,) = trials([relation], tried=[4], n_landmarks=8)

    def tried(period, stress, kept):
        return Candidate(np.arange(8.0)[:, None], np.array([period]), stress, kept, 1.0, 0.0, trial)

    line, ring = tried(0.0, 0.001, 0.95), tried(8.0, 0.002, 0.9)
    assert fitting_rings([line, ring]) == [ring]
    assert fitting_rings([line, tried(8.0, 0.05, 0.9), tried(8.0, 0.002, 0.8)]) == []


def test_a_plane_of_a_table_may_show_less_if_its_nearest_columns_explain_what_there_is(plane):
    relation = strongest_relations(relations(plane[0])[0])
    (trial,) = trials([relation], tried=[4], n_landmarks=8)
    places = np.stack(np.divmod(np.arange(36.0), 6), axis=1)
    of_graph = Candidate(
        places, np.zeros(2), 0.01, 0.7, 1.0, 0.1, trial
    )  # 0.63, and 0.75 is needed
    assert kind_of(of_graph)[0] == "none"
    assert kind_of(replace(of_graph, share=0.99))[0] == "plane"
    assert kind_of(replace(of_graph, share=1.2))[0] == "plane"
    lacking = replace(of_graph, share=0.94)
    assert kind_of(lacking)[0] == "none"
    assert "explain 94% of what the most related explain" in kind_of(lacking)[1]
    better = replace(of_graph, kept=0.8)
    assert kind_of(better)[0] == "none"
    assert kind_of(replace(better, kept=0.83))[0] == "plane"
    assert kind_of(replace(better, kept=0.83, share=0.9))[0] == "none"
    volume = np.stack(np.unravel_index(np.arange(125), (5, 5, 5)), axis=1).astype(float)
    crowd = replace(of_graph, positions=volume, period=np.zeros(3), kept=0.8, share=1.0)
    assert kind_of(crowd)[0] == "none"  # three axes have room for what a crowd relates


def test_a_table_without_columns_that_vary_is_refused():
    with pytest.raises(ValueError, match="at least 2 columns that vary; got 1"):
        layout_columns(np.array([[1.0, 2.0], [1.0, 3.0]]))


@pytest.mark.parametrize("unit", [2.0**-900, 2.0**900])
def test_the_layout_does_not_depend_on_the_unit(rng, unit):
    X = rng.normal(size=(200, 24)).cumsum(axis=1)
    X = np.c_[X, rng.normal(size=(200, 2))]  # two that hang together with nothing
    X[3, 5] = np.nan
    np.testing.assert_array_equal(layout_columns(X * unit).positions, layout_columns(X).positions)
