import pytest
import torch

from walkconv import GraphConv, grid_graph, select_neighbors

NAN = float("nan")


def test_by_hand_on_a_lopsided_graph(lopsided):
    """Node 3 has one filled slot, node 0 has three; values 1, 10, 100, 1000, missing."""
    layer = GraphConv(1, 1, select_neighbors(lopsided, n_neighbors=3))
    assert layer.index.tolist() == [[0, 2, 1], [1, 0, 2], [2, 0, 1], [3, -1, -1], [4, -1, -1]]
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([1.0, 2.0, 3.0])[:, None, None])
        layer.bias.fill_(0.5)
    x = torch.tensor([1.0, NAN, 100.0, 1000.0, NAN])[None, :, None]
    found = layer(x, missing=x.isnan()).flatten()
    expected = [
        (1 + 2 * 100) * 3 / 2 + 0.5,  # two of three slots are present
        (2 * 1 + 3 * 100) * 3 / 2 + 0.5,
        (100 + 2 * 1) * 3 / 2 + 0.5,
        1000 + 0.5,  # the only slot is present
        0.5,  # nothing is present
    ]
    assert found.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
def test_with_nothing_missing_it_is_the_convolution(weighting, lopsided):
    layer = GraphConv(2, 3, select_neighbors(lopsided, n_neighbors=3), weighting=weighting)
    x = torch.randn(4, 5, 2)
    torch.testing.assert_close(layer(x, missing=torch.zeros_like(x).bool()), layer(x))


def test_a_channel_may_be_missing_alone(lopsided):
    layer = GraphConv(2, 1, select_neighbors(lopsided, n_neighbors=3), bias=False)
    x = torch.randn(1, 5, 2)
    x[0, 4, 1] = NAN
    found = layer(x, missing=x.isnan())
    torch.testing.assert_close(found[0, 4, 0], 2 * x[0, 4, 0] * layer.weight[0, 0, 0])
    torch.testing.assert_close(found[:, :4], layer(x)[:, :4])


def test_missing_values_leak_into_no_gradient():
    layer = GraphConv(1, 2, select_neighbors(grid_graph((3, 3)), n_neighbors=4))
    x = torch.randn(2, 9, 1)
    x[:, ::2] = NAN
    layer(x, missing=x.isnan()).square().sum().backward()
    assert layer.weight.grad.isfinite().all()


def test_a_table_of_the_call_serves_missing_values_too(lopsided):
    neighbors = select_neighbors(lopsided, n_neighbors=3)
    own, given = GraphConv(2, 3, neighbors), GraphConv(2, 3, 3)
    given.load_state_dict(own.state_dict())
    x = torch.randn(4, 5, 2)
    x[:, 1] = NAN
    found = given(x, torch.tensor(neighbors.index), missing=x.isnan())
    torch.testing.assert_close(found, own(x, missing=x.isnan()))
