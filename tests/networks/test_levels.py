"""Levels: ever fewer nodes, each level with its graph, neighbours and groups."""

import numpy as np
import pytest

from walkconv import coarsen, grid_graph, select_neighbors
from walkconv.networks import build_levels, parse_architecture

GRID = grid_graph((6, 8))


def levels_of(architecture, graph=GRID, **settings):
    return build_levels(graph, parse_architecture(architecture), n_neighbors=9, **settings)


def test_without_pooling_there_is_one_level():
    (level,) = levels_of("C4-C5-FC3", n_steps=2)
    expected = select_neighbors(GRID, n_neighbors=9, n_steps=2)
    np.testing.assert_array_equal(level.neighbors.index, expected.index)
    assert level.pool is None
    assert level.groups is None
    assert level.n_nodes == 48


def test_every_level_walks_on_its_own_graph():
    first, second, third = levels_of("C4-P4-C5-P4-FC3", n_steps=2)
    coarse = coarsen(GRID)
    np.testing.assert_array_equal(first.groups, coarse.groups)
    np.testing.assert_array_equal(second.graph.toarray(), coarse.graph.toarray())
    expected = select_neighbors(coarse.graph, n_neighbors=9, n_steps=2)
    np.testing.assert_array_equal(second.neighbors.index, expected.index)
    assert [level.n_nodes for level in (first, second, third)] == [48, 12, 3]
    assert third.neighbors is None
    assert third.groups is None


def test_neighbors_are_found_where_a_convolution_stands():
    found = [level.neighbors is not None for level in levels_of("P2-P2-C4-P2-P2")]
    assert found == [False, False, True, False, False]
    assert levels_of("P4-P4-C4")[-1].neighbors.n_neighbors == 3


@pytest.mark.parametrize("connectivity", [4, 8])
def test_blocks_of_a_grid_and_their_grids(connectivity):
    levels = levels_of("C4-P2x2-C4-P2x2-C4-P3x3", grid_graph((7, 9), connectivity=connectivity))
    for level, shape in zip(levels, [(7, 9), (4, 5), (2, 3), (1, 1)], strict=True):
        expected = grid_graph(shape, connectivity=connectivity)
        np.testing.assert_array_equal(level.graph.toarray(), expected.toarray())
    assert [level.n_nodes for level in levels_of("P2x2x2", grid_graph((3, 4, 5)))] == [60, 12]


def test_ties_by_position_order_the_neighbors_of_every_level():
    levels = levels_of("C4-P2x2-C4", grid_graph((8, 8)), ties="position")
    for level, side in zip(levels, (8, 4), strict=True):
        positions = np.stack(np.divmod(np.arange(side**2), side), axis=1)
        expected = select_neighbors(grid_graph((side, side)), n_neighbors=9, ties=positions)
        np.testing.assert_array_equal(level.neighbors.index, expected.index)
    positions = np.stack(np.divmod(np.arange(64), 8), axis=1)
    given = levels_of("C4-P2x2-C4", grid_graph((8, 8)), ties=positions)
    np.testing.assert_array_equal(given[1].neighbors.index, levels[1].neighbors.index)


def test_positions_of_a_group_are_the_mean_of_its_members():
    positions = np.random.default_rng(0).normal(size=(48, 3))
    first, second = levels_of("C4-P4-C4", ties=positions)
    np.testing.assert_array_equal(first.positions, positions)
    for group in range(second.n_nodes):
        expected = positions[first.groups == group].mean(axis=0)
        np.testing.assert_allclose(second.positions[group], expected)
    assert levels_of("C4-P4-C4")[1].positions is None


def test_random_ties_follow_the_seed():
    one, again, other = (
        levels_of("C4", ties="random", random_state=seed)[0].neighbors.index for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_a_grid_layer_that_does_not_fit_is_pointed_at(lopsided):
    with pytest.raises(ValueError, match="P2x2 needs a grid of 2 axes") as error:
        levels_of("C4-P2x2", lopsided)
    assert str(error.value).endswith("\n  C4-P2x2\n     ^^^^")
    assert "does not fit at position 4 ('P2x2')" in str(error.value)
    assert "P4 pools any graph" in str(error.value)
    with pytest.raises(ValueError, match="needs a grid of 3 axes"):
        levels_of("C4-P2x2x2")
    with pytest.raises(ValueError, match="needs a grid of 2 axes"):
        levels_of("P4-C4-P2x2")


@pytest.mark.parametrize(
    ("ties", "message"),
    [
        ("first", "ties must be one of 'index', 'random', 'position'"),
        (np.zeros((7, 2)), r"n_nodes = 48; got shape \(7, 2\)"),
        (np.full((48, 2), np.nan), "ties must be finite"),
        (None, "ties must"),
    ],
)
def test_bad_ties(ties, message):
    with pytest.raises((ValueError, TypeError), match=message):
        levels_of("P4-C4", ties=ties)


def test_positions_by_name_need_a_grid(lopsided):
    with pytest.raises(ValueError, match="ties='position' needs a graph that is a grid"):
        levels_of("C4", lopsided, ties="position")
