"""What a relation says about a layout, and about itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import grid_graph
from walkconv.layouts.edges import similarity
from walkconv.layouts.explained import explained
from walkconv.layouts.kept import Relation


def test_groups_do_not_hang_together_and_a_lattice_does(rng):
    groups = np.kron(np.eye(20), rng.uniform(0.5, 1.0, size=(12, 12)))
    groups = Relation(similarity(sp.csr_array(groups + 1e-3 * rng.random((240, 240)))))
    lattice = Relation(similarity(grid_graph((15, 16), connectivity=4)))
    assert groups.hanging(4)[0] < 0.1
    assert lattice.hanging(4) == (1.0, 0.0)


def test_closed_triangles_are_counted_by_definition(rng):
    weight = similarity(sp.csr_array(rng.random((30, 30)) * (rng.random((30, 30)) < 0.1)))
    edges = weight.toarray() > 0
    n_closed = sum(
        edges[i, j] and edges[j, k] and edges[i, k]
        for i in range(30)
        for j in range(30)
        for k in range(30)
    )
    degree = edges.sum(axis=1)
    assert degree.max() <= 16  # so that all edges count
    found = Relation(weight).hanging(16)[1]
    assert n_closed > 0
    assert found == pytest.approx(n_closed / (degree * (degree - 1)).sum())


def test_explained_is_the_log_of_the_variance_that_neighbours_leave(rng):
    X = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5))
    correlation = np.corrcoef(X.T)
    effective = np.full(5, 1e12)
    everything = explained(correlation, effective, rng.normal(size=(5, 2)), np.zeros(2))
    noisy = correlation + 0.02 * np.eye(5)
    expected = np.log(np.diag(np.linalg.inv(noisy))).mean()
    assert everything == pytest.approx(expected)


def test_the_true_order_explains_a_series_best(rng):
    correlation = np.corrcoef(np.cumsum(rng.normal(size=(400, 30)), axis=1).T)
    places, effective = np.arange(30.0)[:, None], np.full(30, 400.0)
    true = explained(correlation, effective, places, np.zeros(1))
    assert true > explained(correlation, effective, rng.permutation(places), np.zeros(1)) + 0.5
    stacked = explained(correlation, effective, np.zeros((30, 1)), np.zeros(1))
    assert np.isfinite(stacked)
