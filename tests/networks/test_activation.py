"""Dropout after a convolution."""

import pytest
import torch

from walkconv.networks.network import activate


@pytest.mark.parametrize("dropped", ["nodes", "values"])
def test_predictions_have_no_dropout(dropped):
    x = torch.tensor([[[1.0, -1.0]]])
    torch.testing.assert_close(activate(x, 0.5, dropped, is_training=False), x.relu())
    torch.testing.assert_close(activate(x, 0.0, dropped, is_training=True), x.relu())


def test_nodes_are_dropped_with_all_their_channels():
    torch.manual_seed(0)
    kept = activate(torch.ones(50, 40, 3), 0.3, "nodes", is_training=True) > 0
    assert (kept.all(dim=-1) | ~kept.any(dim=-1)).all()
    assert 0.2 < 1 - kept.float().mean() < 0.4


@pytest.mark.parametrize("dropout", [0.001, 0.2, 0.5, 0.999])
def test_values_are_dropped_one_by_one_and_the_mean_stays(dropout):
    torch.manual_seed(0)
    n = 200_001  # not a multiple of the four values that share a random number
    out = activate(torch.ones(1, n, 1), dropout, "values", is_training=True)
    deviation = (dropout * (1 - dropout) / n) ** 0.5
    assert abs((out == 0).float().mean() - dropout) < 5 * deviation
    torch.testing.assert_close(out.max(), torch.tensor(1 / (1 - dropout)))


def test_nearly_everything_may_be_dropped():
    out = activate(torch.ones(1, 1000, 1), 0.999999, "values", is_training=True)
    assert (out == 0).sum() > 900


def test_values_of_a_node_are_dropped_independently():
    torch.manual_seed(0)
    kept = (activate(torch.ones(1, 100_000, 2), 0.5, "values", is_training=True) > 0).float()
    assert abs(torch.corrcoef(kept[0].T)[0, 1]) < 0.02


@pytest.mark.parametrize("dropped", ["nodes", "values"])
def test_gradients_flow_through_what_stays(dropped):
    torch.manual_seed(0)
    x = torch.ones(20, 10, 3, requires_grad=True)
    out = activate(x, 0.4, dropped, is_training=True)
    out.sum().backward()
    torch.testing.assert_close(x.grad, out.detach())
