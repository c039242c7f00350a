import pytest
import torch
from torch.autograd import gradcheck

from walkconv import GraphReadout

REDUCES = ["sum", "log_sum", "mean", "max"]


def by_hand(x, reduce):
    if reduce == "log_sum":
        total = x.sum(dim=0)
        return torch.copysign(torch.log(1 + total.abs()), total)
    return getattr(x, "amax" if reduce == "max" else reduce)(dim=0)


@pytest.mark.parametrize("reduce", REDUCES)
def test_a_flat_batch_equals_its_graphs_one_by_one(reduce):
    x = torch.randn(11, 3, generator=torch.Generator().manual_seed(0))
    sizes = torch.tensor([4, 1, 6])
    found = GraphReadout(reduce)(x, sizes)
    expected = torch.stack([by_hand(part, reduce) for part in x.split(sizes.tolist())])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("reduce", REDUCES)
def test_samples_of_one_graph_are_reduced_over_its_nodes(reduce):
    x = torch.randn(4, 5, 2, generator=torch.Generator().manual_seed(0))
    expected = torch.stack([by_hand(sample, reduce) for sample in x])
    torch.testing.assert_close(GraphReadout(reduce)(x), expected)


@pytest.mark.parametrize("reduce", REDUCES)
def test_gradient_is_exact(reduce):
    x = torch.randn(7, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    sizes = torch.tensor([3, 1, 3])
    assert gradcheck(lambda x: GraphReadout(reduce)(x, sizes), x.requires_grad_())


def test_the_logarithm_of_a_sum_rises_by_one_at_zero():
    x = torch.tensor([[1.0, 0.0], [-1.0, 0.0]], requires_grad=True)
    GraphReadout("log_sum")(x, torch.tensor([2])).sum().backward()
    assert (x.grad == 1).all()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"x must have shape \(M, n_nodes, c\); got \(5, 2\)"):
        GraphReadout()(torch.zeros(5, 2))
    with pytest.raises(ValueError, match=r"with n_nodes = 4, the sum of the sizes; got \(5, 2\)"):
        GraphReadout()(torch.zeros(5, 2), torch.tensor([1, 3]))
    with pytest.raises(ValueError, match="reduce must be one of 'sum', 'log_sum', 'mean', 'max'"):
        GraphReadout("median")
