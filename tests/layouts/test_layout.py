"""From a graph alone: places whose directions are those of the grid behind it."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import correlation_graph, grid_graph, layout_graph, select_neighbors
from walkconv.layouts import from_graph, kind
from walkconv.layouts.edges import similarity
from walkconv.layouts.kept import Relation
from walkconv.layouts.search import trials


def oriented(graph, layout, n_neighbors):
    return select_neighbors(
        graph,
        n_neighbors=n_neighbors,
        n_steps="auto",
        order="direction",
        positions=layout.positions,
        period=layout.period,
    )


@pytest.mark.parametrize(
    ("shape", "settings"),
    [
        ((20, 20), {}),
        ((20, 24), {}),
        ((20, 24), {"connectivity": 4}),
        ((20, 20), {"hole": 6}),
        ((20, 20), {"connectivity": 4, "hole": 5}),
        ((20, 20), {"noise": 0.5}),
        ((20, 24), {"noise": 0.5, "hole": 4, "seed": 1}),
        ((12, 36), {}),
        ((40,), {}),
        ((8, 8, 8), {}),
        ((6, 7, 8), {"connectivity": 6}),
    ],
)
def test_a_grid_given_as_a_graph_is_found(shuffled_grid, shape, settings, share_of_right_slots):
    graph, sites = shuffled_grid(shape, **settings)
    layout = layout_graph(graph, n_dims=len(shape))
    for n_neighbors in {1: (3, 5), 2: (9, 25), 3: (7, 27)}[len(shape)]:
        table = oriented(graph, layout, n_neighbors).index
        assert share_of_right_slots(table, sites) >= 0.99


def test_a_ring_has_a_period_and_no_ends(rng, share_of_right_slots):
    order = rng.permutation(60)
    ring = nx.to_scipy_sparse_array(nx.cycle_graph(60), nodelist=order)
    layout = layout_graph(ring, n_dims=1)
    np.testing.assert_allclose(layout.period, [60], rtol=1e-6)
    table = oriented(ring, layout, 5).index
    assert share_of_right_slots(table, order[:, None], period=60) == 1


def test_a_line_is_no_ring():
    layout = layout_graph(nx.path_graph(60), n_dims=1)
    assert layout.period == [0]
    np.testing.assert_allclose(np.diff(layout.positions[:, 0]), 1, atol=0.05)


def test_a_disc_is_no_ring():
    assert layout_graph(grid_graph((9, 9)), n_dims=1).period == [0]


def smooth_fields(sites, n_samples, rng):
    """Samples of a smooth random field at each site: correlations fall with the distance."""
    gaps = np.linalg.norm(sites[:, None] - sites[None], axis=2)
    return rng.multivariate_normal(np.zeros(len(sites)), np.exp(-gaps / 4), size=n_samples)


def test_correlations_of_columns_tell_where_they_stand(rng, share_of_right_slots):
    sites = np.stack(np.divmod(rng.permutation(15 * 16), 16), axis=1)
    graph = correlation_graph(smooth_fields(sites, 2000, rng))
    layout = layout_graph(graph)
    table = select_neighbors(
        graph, n_neighbors=9, order="direction", positions=layout.positions
    ).index
    assert share_of_right_slots(table, sites) >= 0.97


def test_few_landmarks_do_as_well(shuffled_grid, share_of_right_slots):
    graph, sites = shuffled_grid((24, 30))
    layout = layout_graph(graph, n_landmarks=40)
    assert share_of_right_slots(oriented(graph, layout, 25).index, sites) >= 0.99


def test_the_same_graph_has_the_same_layout_bit_for_bit(shuffled_grid):
    graph, _ = shuffled_grid((9, 11), noise=0.3)
    first, second = layout_graph(graph), layout_graph(graph.toarray())
    np.testing.assert_array_equal(first.positions, second.positions)


def test_the_longest_axis_comes_first_and_node_numbers_rise_along_both():
    grid = np.arange(7 * 15).reshape(7, 15)
    positions = layout_graph(grid_graph((7, 15))).positions
    down, right = positions[grid[1:]] - positions[grid[:-1]], np.diff(positions[grid], axis=1)
    np.testing.assert_allclose(down, np.broadcast_to([0, 1], down.shape), atol=0.1)
    np.testing.assert_allclose(right, np.broadcast_to([1, 0], right.shape), atol=0.1)


def test_the_weights_may_have_any_unit(shuffled_grid, share_of_right_slots):
    graph, sites = shuffled_grid((12, 14), noise=0.4)
    for factor in (1e-200, 7.0, 1e200):
        layout = layout_graph(graph * factor)
        assert share_of_right_slots(oriented(graph, layout, 9).index, sites) >= 0.99


def test_components_stand_beside_each_other(shuffled_grid):
    large, _ = shuffled_grid((9, 10))
    small, _ = shuffled_grid((5, 5))
    graph = sp.block_diag([small, large, np.zeros((2, 2))], format="csr")
    positions = layout_graph(graph).positions
    spans = [positions[part, 0] for part in (range(25, 115), range(25), [115], [116])]
    for before, after in pairwise(spans):
        assert before.max() + 1 < after.min()


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_lone_nodes_and_pairs_stand_as_they_would_alone_without_a_layout_each(
    n_dims, rng, monkeypatch
):
    laid_out = []

    def counted(relations, **settings):
        laid_out.append(relations[0].shape[0])
        return trials(relations, **settings)

    monkeypatch.setattr(from_graph, "trials", counted)
    monkeypatch.setattr(kind, "trials", counted)
    pair, lone = np.array([[0.0, 2.5], [2.5, 0.0]]), np.zeros((1, 1))
    path = nx.to_numpy_array(nx.path_graph(3))
    blocks = [lone, pair, path, lone, nx.to_numpy_array(nx.path_graph(5)), pair]
    ends = np.cumsum([len(block) for block in blocks])
    order = rng.permutation(ends[-1])
    positions = np.empty((len(order), n_dims))
    shuffled = sp.block_diag(blocks, format="csr")[order][:, order]
    positions[order] = layout_graph(shuffled, n_dims=n_dims, n_edges=2).positions
    assert laid_out == [5, 3]
    number = np.argsort(order)
    components = [range(end - len(block), end) for block, end in zip(blocks, ends, strict=True)]
    components.sort(key=lambda part: (-len(part), number[part].min()))
    end = positions[components[0], 0].min() - from_graph.GAP
    for part in components:
        part = np.array(part)[np.argsort(number[part])]
        alone = layout_graph(shuffled[number[part]][:, number[part]], n_dims=n_dims, n_edges=2)
        expected = alone.positions - alone.positions[:, 0].min() * np.eye(n_dims)[0]
        expected[:, 0] += end + from_graph.GAP
        np.testing.assert_allclose(positions[part], expected, atol=1e-9)
        end = positions[part, 0].max()


@pytest.mark.parametrize("n_dims", [1, 2, 3])
@pytest.mark.parametrize(
    "graph",
    [
        np.zeros((1, 1)),
        np.zeros((4, 4)),
        np.ones((2, 2)),
        np.ones((9, 9)),
        -np.ones((5, 5)),
        nx.star_graph(200),
        nx.path_graph(3),
        nx.to_numpy_array(nx.gnp_random_graph(80, 0.1, seed=0, directed=True)),
        np.kron(np.eye(3), np.ones((4, 4))),
    ],
)
def test_any_graph_has_a_finite_layout(graph, n_dims, lopsided):
    for weights in (graph, lopsided):
        layout = layout_graph(weights, n_dims=n_dims)
        assert np.isfinite(layout.positions).all()
        assert layout.positions.shape == (layout.n_nodes, n_dims)
        assert 0 <= layout.stress <= 1


def test_a_plane_is_told_from_a_crowd(shuffled_grid, rng):
    good = layout_graph(shuffled_grid((14, 15))[0])
    bad = layout_graph(correlation_graph(rng.normal(size=(100, 210))))
    assert (good.kind, bad.kind) == ("plane", "none")
    assert good.stress < 0.01 < 0.025 < bad.stress
    assert good.kept > 0.99 > 0.5 > bad.kept


def test_neighbourhoods_kept_are_counted_from_chance(rng):
    grid = similarity(grid_graph((9, 11)))
    layout = layout_graph(grid)
    relation = Relation(grid)
    assert relation.kept(layout.positions, layout.period) > 0.99
    shuffled = rng.permutation(layout.positions)
    assert abs(relation.kept(shuffled, layout.period)) < 0.1


def test_neighbourhoods_go_round_a_ring():
    ring = layout_graph(nx.cycle_graph(40), n_dims=1)
    assert (ring.kind, ring.kept) == ("ring", 1)


@pytest.mark.parametrize(
    ("shape", "kind"), [((40,), "line"), ((12, 15), "plane"), ((7, 7, 8), "volume")]
)
def test_auto_takes_the_fewest_axes_that_are_adequate(shuffled_grid, shape, kind):
    layout = layout_graph(shuffled_grid(shape)[0], n_dims="auto")
    assert layout.kind == kind
    assert layout.reason.startswith(f"a {kind} fits: ")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_dims": 0}, ValueError, "n_dims must be at least 1; got 0"),
        ({"n_dims": 4}, ValueError, "n_dims must be at most 3; got 4"),
        ({"n_edges": "many"}, ValueError, "n_edges must be one of 'auto'; got 'many'"),
        ({"n_edges": 0}, ValueError, "n_edges must be at least 1; got 0"),
        ({"n_landmarks": 3}, ValueError, "n_landmarks must be at least 4; got 3"),
    ],
)
def test_bad_settings(settings, error, message):
    with pytest.raises(error, match=message):
        layout_graph(np.ones((4, 4)), **settings)
