"""What a relation says about a layout, and about itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import grid_graph
from walkconv.layouts.edges import similarity
from walkconv.layouts.explained import Judge
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
    everything = Judge(correlation, effective).explained(rng.normal(size=(5, 2)), np.zeros(2))
    noisy = correlation + 0.02 * np.eye(5)
    expected = np.log(np.diag(np.linalg.inv(noisy))).mean()
    assert everything == pytest.approx(expected)


def test_the_true_order_explains_a_series_best(rng):
    correlation = np.corrcoef(np.cumsum(rng.normal(size=(400, 30)), axis=1).T)
    judge = Judge(correlation, np.full(30, 400.0))
    places = np.arange(30.0)[:, None]
    true = judge.explained(places, np.zeros(1))
    assert true > judge.explained(rng.permutation(places), np.zeros(1)) + 0.5
    assert np.isfinite(judge.explained(np.zeros((30, 1)), np.zeros(1)))


def test_the_share_is_one_in_the_true_plane_and_less_with_too_few_axes(rng):
    sites = np.stack(np.divmod(np.arange(100.0), 10), axis=1)
    gaps = np.linalg.norm(sites[:, None] - sites[None], axis=2)
    correlation = np.exp(-gaps / 4)
    judge = Judge(correlation, np.full(100, 2000.0))
    near = sp.csr_array(np.where((gaps > 0) & (gaps < 1.5), correlation, 0.0))
    assert judge.share(sites, np.zeros(2), near) == pytest.approx(1.0, abs=0.01)
    row_by_row = sites @ [[10.0], [1.0]]
    assert judge.share(row_by_row, np.zeros(1), near) < 0.9
    of_first = np.sort(judge._most_related(3, near)[0])
    np.testing.assert_array_equal(of_first, [1, 10, 11])
    without = sp.csr_array((100, 100))  # correlations decide
    np.testing.assert_array_equal(np.sort(judge._most_related(3, without)[0]), of_first)
