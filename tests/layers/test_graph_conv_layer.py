import copy

import numpy as np
import pytest
import torch
from torch import nn

from walkconv import GraphConv, grid_graph, select_neighbors
from walkconv.conv.definition import define_graph_conv

SIDE = 28
POSITIONS = np.stack(np.divmod(np.arange(SIDE * SIDE), SIDE), axis=1)


def grid_layer_and_conv2d(ties):
    """A GraphConv on the grid and the Conv2d whose weights are the same, reordered."""
    torch.manual_seed(0)
    neighbors = select_neighbors(
        grid_graph((SIDE, SIDE)), n_neighbors=25, n_steps=3, ties=ties, random_state=0
    )
    layer = GraphConv(3, 4, neighbors)
    plain = nn.Conv2d(3, 4, kernel_size=5, padding=2)
    centre = SIDE * SIDE // 2 + SIDE // 2
    offsets = POSITIONS[neighbors.index[centre]] - POSITIONS[centre] + 2  # (25, 2), each 0 to 4
    with torch.no_grad():
        plain.bias.copy_(layer.bias)
        plain.weight[:, :, offsets[:, 0], offsets[:, 1]] = layer.weight.permute(2, 1, 0)
    return layer, plain, offsets


def interior(images):
    return images[..., 4:-4, 4:-4]


def test_on_a_grid_with_ties_by_position_it_is_an_ordinary_convolution():
    layer, plain, offsets = grid_layer_and_conv2d(POSITIONS)
    x = torch.randn(6, SIDE * SIDE, 3, requires_grad=True)
    images = x.detach().transpose(1, 2).unflatten(2, (SIDE, SIDE)).requires_grad_()
    found = interior(layer(x).transpose(1, 2).unflatten(2, (SIDE, SIDE)))
    expected = interior(plain(images))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    (found**2).mean().backward()
    (expected**2).mean().backward()
    found_x = x.grad.transpose(1, 2).unflatten(2, (SIDE, SIDE))
    torch.testing.assert_close(found_x, images.grad, atol=1e-5, rtol=0)
    reordered = plain.weight.grad[:, :, offsets[:, 0], offsets[:, 1]].permute(2, 1, 0)
    torch.testing.assert_close(layer.weight.grad, reordered, atol=1e-5, rtol=0)
    torch.testing.assert_close(layer.bias.grad, plain.bias.grad, atol=1e-5, rtol=0)


def test_on_a_grid_with_random_ties_it_is_not():
    layer, plain, _ = grid_layer_and_conv2d("random")
    x = torch.randn(2, SIDE * SIDE, 3)
    found = layer(x).transpose(1, 2).unflatten(2, (SIDE, SIDE))
    expected = plain(x.transpose(1, 2).unflatten(2, (SIDE, SIDE)))
    assert (interior(found) - interior(expected)).abs().max() > 0.1


def test_signed_visits_multiply_each_neighbor(lopsided):
    neighbors = select_neighbors(lopsided, n_neighbors=3, n_steps=2)
    layer = GraphConv(1, 2, neighbors, weighting="signed_visits", dtype=torch.float64)
    x = torch.randn(4, 5, 1, dtype=torch.float64)
    scale = torch.from_numpy(neighbors.sign * neighbors.visits)
    index = torch.from_numpy(neighbors.index)
    expected = define_graph_conv(x, index, layer.weight, layer.bias, scale)
    torch.testing.assert_close(layer(x), expected)
    # By hand, node 0: visits 11/8 to itself, 3/4 over a negative edge to 2, 1/2 to 3.
    weight, values = layer.weight[:, 0], x[0, [0, 2, 3], 0]
    factor = torch.tensor([11 / 8, -3 / 4, 1 / 2], dtype=torch.float64)
    by_hand = (factor * values) @ weight + layer.bias
    torch.testing.assert_close(layer(x)[0, 0], by_hand)


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
def test_filters_move_to_another_graph(weighting):
    small = select_neighbors(grid_graph((3, 4)), n_neighbors=5)
    large = select_neighbors(grid_graph((9, 9)), n_neighbors=5)
    source = GraphConv(2, 3, small, weighting=weighting)
    target = GraphConv(2, 3, large, weighting=weighting)
    assert set(source.state_dict()) == {"weight", "bias"}
    target.load_state_dict(source.state_dict())
    torch.testing.assert_close(target.weight, source.weight)
    assert target(torch.zeros(1, 81, 2)).shape == (1, 81, 3)


def test_filters_start_within_the_bound_of_their_inputs():
    neighbors = select_neighbors(grid_graph((5, 5)), n_neighbors=9)
    layer = GraphConv(4, 50, neighbors)
    for values in (layer.weight, layer.bias):
        assert 0.9 / 6 < values.abs().max() <= 1 / 6


def test_the_layer_keeps_its_own_table():
    neighbors = select_neighbors(grid_graph((3, 4)), n_neighbors=5)
    layer = GraphConv(1, 1, neighbors)
    neighbors.index[:] = 0
    assert layer.index.max() == 11


def test_moves_copies_and_prints_like_any_layer():
    neighbors = select_neighbors(grid_graph((3, 4)), n_neighbors=5)
    layer = GraphConv(2, 3, neighbors, weighting="signed_visits", bias=False)
    double = copy.deepcopy(layer).double()
    assert double.scale is not None
    assert double.scale.dtype == torch.float64
    assert double.index.dtype == torch.int64
    x = torch.randn(2, 12, 2)
    torch.testing.assert_close(double(x.double()).float(), layer(x))
    assert repr(layer) == (
        "GraphConv(2, 3, n_nodes=12, n_neighbors=5, weighting='signed_visits', bias=False)"
    )


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((0, 3), {}, "c_in must be at least 1; got 0"),
        ((2, 0), {}, "c_out must be at least 1; got 0"),
        ((2, 3.0), {}, "c_out must be an integer"),
        ((2, 3), {"weighting": "visits"}, "weighting must be one of 'rank', 'signed_visits'"),
    ],
)
def test_bad_settings(arguments, settings, message):
    neighbors = select_neighbors(grid_graph((3, 4)), n_neighbors=5)
    with pytest.raises((ValueError, TypeError), match=message):
        GraphConv(*arguments, neighbors, **settings)


def test_bad_neighbors_and_bad_input():
    neighbors = select_neighbors(grid_graph((3, 4)), n_neighbors=5)
    with pytest.raises(
        TypeError, match=r"got ndarray of shape \(12, 5\).*GraphConv\(c_in, c_out, p\)\(x, index\)"
    ):
        GraphConv(1, 1, neighbors.index)
    with pytest.raises(ValueError, match=r"\(..., 12, 2\); got \(4, 11, 2\)"):
        GraphConv(2, 1, neighbors)(torch.zeros(4, 11, 2))


def test_a_layer_without_a_table_takes_one_with_every_call():
    neighbors = select_neighbors(grid_graph((3, 4)), n_neighbors=5)
    for weighting in ("rank", "signed_visits"):
        fixed = GraphConv(2, 3, neighbors, weighting=weighting)
        free = GraphConv(2, 3, np.int64(5), weighting=weighting)
        free.load_state_dict(fixed.state_dict())
        x = torch.randn(6, 12, 2, generator=torch.Generator().manual_seed(0))
        index = torch.from_numpy(neighbors.index)
        torch.testing.assert_close(free(x, index, fixed.scale), fixed(x))
        with pytest.raises(ValueError, match="one table of neighbours, its own or yours; got none"):
            free(x)
        with pytest.raises(ValueError, match="its own or yours; got a second one"):
            fixed(x, index)
    with pytest.raises(ValueError, match="scale must be given with weighting='signed_visits'"):
        free(x, index)
    assert "n_nodes=any" in repr(free)
