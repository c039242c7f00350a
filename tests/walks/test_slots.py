"""Slots that are directions: against an optimal assignment, and against an image convolution."""

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from torch.nn import functional

from walkconv import graph_conv, grid_graph, select_neighbors, slot_offsets
from walkconv.walks.select import ENGINES
from walkconv.walks.slots import CANDIDATES_PER_SLOT, REACH


@pytest.mark.parametrize(
    ("n_dims", "sides"), [(1, (1, 3, 5, 9)), (2, (1, 3, 5, 7)), (3, (1, 3, 5))]
)
def test_full_rings_of_slots_are_cubes_and_small_templates_begin_large_ones(n_dims, sides):
    largest = slot_offsets(sides[-1] ** n_dims, n_dims=n_dims)
    np.testing.assert_array_equal(largest[0], 0)
    for side in sides:
        offsets = slot_offsets(side**n_dims, n_dims=n_dims)
        np.testing.assert_array_equal(offsets, largest[: side**n_dims])
        assert len(np.unique(offsets, axis=0)) == side**n_dims
        assert np.abs(offsets).max() == (side - 1) // 2
    assert slot_offsets(7, n_dims=3)[1:].tolist() == [
        [-1, 0, 0],
        [0, -1, 0],
        [0, 0, -1],
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
    ]


def spacing_by_definition(candidates, positions):
    own = np.zeros(len(positions))
    for node, others in enumerate(candidates):
        gaps = np.linalg.norm(positions[others[others >= 0]] - positions[node], axis=1)
        gaps = np.sort(gaps[gaps > 0])[: positions.shape[1]]
        own[node] = gaps.mean() if len(gaps) else 0
    spacing = []
    for others in candidates:
        known = own[others[others >= 0]]
        spacing.append(np.median(known[known > 0]) if (known > 0).any() else 0)
    return spacing


def misfits(node, others, positions, spacing, offsets):
    steps = (positions[others] - positions[node]) / spacing
    return ((steps[None] - offsets[:, None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_slots_are_an_optimal_assignment(n_dims, rng):
    n_nodes, n_neighbors = 90, 8
    positions = rng.normal(size=(n_nodes, n_dims))
    positions[7] = positions[8]
    weights = rng.integers(-1, 4, size=(n_nodes, n_nodes)) * (rng.random((n_nodes,) * 2) < 0.2)
    weights[3] = 0
    settings = {"n_steps": 2, "n_neighbors": n_neighbors}
    found = select_neighbors(weights, order="direction", positions=positions, **settings)
    ranked = select_neighbors(weights, n_steps=2, n_neighbors=CANDIDATES_PER_SLOT * n_neighbors)
    offsets = slot_offsets(n_neighbors, n_dims=n_dims)[1:]
    spacing = spacing_by_definition(ranked.index, positions)
    np.testing.assert_array_equal(found.index[:, 0], np.arange(n_nodes))
    np.testing.assert_array_equal(found.index[3, 1:], -1)
    n_filled = 0
    for node in range(n_nodes):
        others = ranked.index[node][(ranked.index[node] >= 0) & (ranked.index[node] != node)]
        if len(others) == 0:
            continue
        cost = misfits(node, others, positions, spacing[node], offsets)
        none = np.where(np.eye(len(offsets), dtype=bool), REACH**2, np.inf)
        full = np.concatenate(
            [np.where(cost <= REACH**2, cost, 1e9), np.minimum(none, 1e9)], axis=1
        )
        least = full[linear_sum_assignment(full)].sum()
        slots = np.flatnonzero(found.index[node, 1:] >= 0)
        chosen = found.index[node, 1 + slots]
        assert len(set(chosen)) == len(chosen)
        columns = [int(np.flatnonzero(others == other)[0]) for other in chosen]
        assert (cost[slots, columns] <= REACH**2).all()
        total = cost[slots, columns].sum() + REACH**2 * (len(offsets) - len(slots))
        np.testing.assert_allclose(total, least, rtol=1e-9)
        n_filled += len(slots)
        places = {int(other): k for k, other in enumerate(ranked.index[node])}
        for slot, other in enumerate(found.index[node]):
            expected = ranked.visits[node, places[int(other)]] if other >= 0 else 0
            assert found.visits[node, slot] == expected
            edge = weights[node, other] if other >= 0 else 0
            assert found.sign[node, slot] == (0 if other < 0 else -1 if edge < 0 else 1)
    assert n_filled > n_nodes


def test_a_grid_of_known_places_is_convolved_as_an_image(rng):
    height, width = 9, 11
    positions = np.stack(np.divmod(np.arange(height * width), width), axis=1)
    table = select_neighbors(
        grid_graph((height, width)),
        n_neighbors=9,
        n_steps=2,
        order="direction",
        positions=positions * 0.37,
    )
    offsets = slot_offsets(9) + 1
    kernel = torch.from_numpy(rng.normal(size=(4, 2, 3, 3)))
    weight = kernel[:, :, offsets[:, 0], offsets[:, 1]].permute(2, 1, 0)
    x = torch.from_numpy(rng.normal(size=(3, 2, height, width)))
    expected = functional.conv2d(x, kernel, padding=1)
    found = graph_conv(x.flatten(2).mT.contiguous(), torch.from_numpy(table.index), weight)
    torch.testing.assert_close(found.mT.reshape(expected.shape), expected)


def test_an_axis_with_a_period_goes_round():
    table = select_neighbors(
        nx.cycle_graph(12),
        n_neighbors=5,
        n_steps="auto",
        order="direction",
        positions=np.arange(12)[:, None],
        period=[12],
    ).index
    np.testing.assert_array_equal(table, (np.arange(12)[:, None] + [0, -1, 1, -2, 2]) % 12)


def test_every_engine_gives_the_same_slots_whatever_the_threads(rng):
    positions = rng.random((90, 2))
    graph = np.exp(-8 * np.linalg.norm(positions[:, None] - positions[None], axis=2))
    tables = [
        select_neighbors(
            graph,
            n_neighbors=9,
            n_steps=2,
            order="direction",
            positions=positions,
            method=method,
            block_size=size,
            n_threads=threads,
        )
        for method in ENGINES
        for size, threads in ((None, 1), (7, 3))
    ]
    for table in tables[1:]:
        np.testing.assert_array_equal(table.index, tables[0].index)
        np.testing.assert_allclose(table.visits, tables[0].visits, rtol=1e-12)


def test_positions_may_have_any_unit_and_origin(rng):
    positions = rng.random((50, 2))
    graph = np.exp(-4 * np.linalg.norm(positions[:, None] - positions[None], axis=2))
    settings = {"n_neighbors": 9, "order": "direction"}
    expected = select_neighbors(graph, positions=positions, **settings).index
    for unit in (1e-3, 1024.0):
        found = select_neighbors(graph, positions=positions * unit + 8 * unit, **settings).index
        np.testing.assert_array_equal(found, expected)


def test_the_node_itself_keeps_its_slot_and_visits_beside_busier_nodes():
    star = nx.star_graph(30)
    places = np.random.default_rng(0).random((31, 2))
    plain = select_neighbors(star, n_neighbors=31, n_steps=12)
    found = select_neighbors(star, n_neighbors=1, n_steps=12, order="direction", positions=places)
    np.testing.assert_array_equal(found.index[:, 0], np.arange(31))
    own = plain.visits[plain.index == np.arange(31)[:, None]]
    np.testing.assert_array_equal(found.visits[:, 0], own)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"order": "place"}, ValueError, "order must be one of 'visits', 'direction'; got 'place'"),
        ({}, ValueError, r"needs positions: known ones, or layout_graph\(graph\).positions"),
        ({"positions": np.zeros((3, 2))}, ValueError, r"n_nodes = 4; got shape \(3, 2\)"),
        ({"positions": np.zeros(4)}, ValueError, r"\(n_nodes, n_axes\).*got shape \(4,\)"),
        ({"positions": np.full((4, 1), np.inf)}, ValueError, "positions must be finite; got inf"),
        ({"positions": [["a"]] * 4}, TypeError, "positions must hold real numbers"),
        (
            {"positions": np.zeros((4, 2)), "period": [1.0]},
            ValueError,
            r"period must have a length for each of the 2 axes.*got \[1.0\]",
        ),
        (
            {"positions": np.zeros((4, 1)), "period": [-1.0]},
            ValueError,
            r"0 for an axis with two ends; got \[-1.0\]",
        ),
    ],
)
def test_bad_input(settings, error, message):
    with pytest.raises(error, match=message):
        select_neighbors(np.ones((4, 4)), n_neighbors=2, **{"order": "direction", **settings})


@pytest.mark.parametrize(
    ("settings", "came"),
    [
        ({"positions": np.zeros((4, 2))}, "positions"),
        ({"period": [1.0]}, "period"),
        ({"positions": "nonsense", "period": "x"}, "positions and period"),
    ],
)
def test_places_that_nothing_would_use_are_refused(settings, came):
    message = f"got {came} with order='visits'. To order ties by position, pass ties=positions"
    with pytest.raises(ValueError, match=message):
        select_neighbors(np.ones((4, 4)), n_neighbors=2, **settings)


@pytest.mark.parametrize(
    ("n_neighbors", "n_dims", "message"),
    [(0, 2, "n_neighbors must be at least 1"), (4, 0, "n_dims must be at least 1")],
)
def test_templates_have_a_size(n_neighbors, n_dims, message):
    with pytest.raises(ValueError, match=message):
        slot_offsets(n_neighbors, n_dims=n_dims)
