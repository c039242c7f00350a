"""The parts of a layout, each against its definition."""

import networkx as nx
import numpy as np
import scipy.sparse as sp
from scipy.spatial.transform import Rotation

from walkconv.layouts.axes import fixed_axes
from walkconv.layouts.edges import joined, mutual_edges, similarity, strongest_weights
from walkconv.layouts.isomap import scale_distances
from walkconv.layouts.lattice import evened
from walkconv.layouts.likeness import FAINT, walk_likeness


def random_similarity(rng, n=30, share=0.3):
    weights = rng.integers(-2, 5, size=(n, n)) * (rng.random((n, n)) < share)
    weights[4] = weights[:, 4] = 0
    return similarity(sp.csr_array(weights.astype(float)))


def test_similarity_is_the_stronger_positive_direction(lopsided):
    expected = [[0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0] * 5]
    np.testing.assert_array_equal(similarity(lopsided).toarray(), expected)


def test_mutual_edges_by_definition(rng):
    weight = random_similarity(rng)
    dense = weight.toarray()
    for n_edges in (1, 3, 30):
        least = -np.sort(-dense, axis=1)[:, n_edges - 1]
        expected = np.where(dense >= np.maximum.outer(least, least), dense, 0)
        found = mutual_edges(weight, strongest_weights(weight, n_edges), n_edges)
        np.testing.assert_array_equal(found.toarray(), expected)


def test_components_are_joined_by_a_strongest_spanning_tree(rng):
    dense = rng.random((24, 24))
    dense = np.triu(dense, 1) + np.triu(dense, 1).T
    weight = sp.csr_array(dense)
    edges = mutual_edges(weight, strongest_weights(weight, 1), 1)
    found = joined(edges, weight).toarray()
    parts = list(nx.connected_components(nx.from_scipy_sparse_array(edges)))
    assert len(parts) > 2
    np.testing.assert_array_equal(found[edges.toarray() > 0], dense[edges.toarray() > 0])
    bridges = nx.Graph()
    for a, first in enumerate(parts):
        for b, second in enumerate(parts[:a]):
            bridges.add_edge(a, b, weight=dense[np.ix_(list(first), list(second))].max())
    tree = nx.maximum_spanning_tree(bridges)
    added = np.sort(found[(found > 0) & (edges.toarray() == 0)])
    wanted = np.sort(np.repeat([w for *_, w in tree.edges(data="weight")], 2))
    np.testing.assert_array_equal(added, wanted)


def test_likeness_is_the_cosine_of_two_steps(rng):
    edges = random_similarity(rng, n=12)
    dense = edges.toarray()
    step = dense + np.diag(np.where(dense.any(axis=1), dense.max(axis=1), 1))
    step /= step.sum(axis=1, keepdims=True)
    ends = step @ step
    ends /= np.linalg.norm(ends, axis=1, keepdims=True)
    expected = ends @ ends.T
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(walk_likeness(edges).toarray(), expected, rtol=1e-12, atol=1e-15)


def test_every_edge_has_some_likeness_though_few_are_kept():
    crowd = similarity(nx.to_scipy_sparse_array(nx.gnp_random_graph(300, 0.2, seed=0), dtype=float))
    likeness = walk_likeness(crowd).toarray()
    np.testing.assert_array_equal(likeness, likeness.T)
    assert (likeness[crowd.toarray() > 0] >= FAINT).all()
    assert ((likeness > FAINT).sum(axis=1) < 200).all()


def test_scaling_finds_points_from_their_distances(rng):
    points = rng.normal(size=(50, 3)) * [3, 2, 1]
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2) / 10
    likeness = np.exp(-(gaps**2))
    np.fill_diagonal(likeness, 0)
    for n_landmarks in (50, 10):
        scaling = scale_distances(sp.csr_array(likeness), n_landmarks)
        found = scaling.positions(3)
        np.testing.assert_allclose(
            np.linalg.norm(found[:, None] - found[None], axis=2), gaps, atol=1e-6
        )
    np.testing.assert_allclose(scaling.positions(4)[:, 3], 0, atol=1e-6)


def test_the_frame_of_a_turned_lattice_is_found(rng):
    sites = np.stack(np.unravel_index(np.arange(9 * 7 * 5), (9, 7, 5)), axis=1).astype(float)
    blurred = sites + rng.normal(scale=0.05, size=sites.shape)
    for seed in range(5):
        turn = Rotation.random(random_state=seed).as_matrix()
        found = fixed_axes(3.0 * blurred @ turn)
        steps = found[np.argsort(found[:, 0])[-1]] - found[np.argsort(found[:, 0])[0]]
        assert steps[0] > 7
        np.testing.assert_allclose(np.ptp(found, axis=0), [8, 6, 4], rtol=0.15)


def test_a_bent_lattice_is_made_even(rng):
    sites = np.stack(np.divmod(np.arange(300), 15), axis=1).astype(float)
    centred = sites - sites.mean(axis=0)
    bent = centred * (1 + 0.002 * (centred**2).sum(axis=1, keepdims=True))
    bent += rng.normal(scale=0.1, size=bent.shape)
    likeness = np.exp(-np.linalg.norm(sites[:, None] - sites[None], axis=2))
    likeness[likeness < np.exp(-2.3)] = 0
    np.fill_diagonal(likeness, 0)
    found = evened(bent, sp.csr_array(likeness))
    np.testing.assert_allclose(found, centred, atol=0.05)
