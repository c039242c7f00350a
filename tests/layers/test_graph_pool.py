"""Pooling over groups: the definition, its gradient, and odd groups."""

import copy

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import gradcheck, gradgradcheck

from walkconv import GraphPool, coarsen, grid_graph

LOPSIDED = np.array([2, 0, 2, 1, 2, 2, 3, 0, 2])
GROUPS = {
    "lopsided": LOPSIDED,
    "one group": np.zeros(5, dtype=int),
    "nodes alone": np.array([3, 1, 2, 0]),
    "more than a byte counts": np.repeat([0, 1], [300, 2]),
}


def define_pool(x, groups, reduce):
    """The meaning, group by group."""
    members = [x[..., groups == group, :] for group in range(groups.max() + 1)]
    if reduce == "mean":
        return torch.stack([values.mean(dim=-2) for values in members], dim=-2)
    return torch.stack([values.max(dim=-2).values for values in members], dim=-2)


@pytest.mark.parametrize("groups", GROUPS.values(), ids=GROUPS)
@pytest.mark.parametrize("reduce", ["max", "mean"])
@pytest.mark.parametrize("before", [(), (3,), (2, 3)])
def test_it_equals_the_definition_and_so_does_its_gradient(groups, reduce, before):
    torch.manual_seed(0)
    x = torch.randint(-3, 3, (*before, len(groups), 4)).double().requires_grad_()  # with ties
    pooled, expected = GraphPool(groups, reduce=reduce)(x), define_pool(x, groups, reduce)
    torch.testing.assert_close(pooled, expected)
    upstream = torch.randn_like(expected)
    (found,) = torch.autograd.grad(pooled, x, upstream)
    (wanted,) = torch.autograd.grad(expected, x, upstream)
    torch.testing.assert_close(found, wanted)


def test_the_gradient_of_a_tie_goes_to_the_first_node():
    x = torch.zeros(1, 9, 1, requires_grad=True)
    GraphPool(LOPSIDED)(x).sum().backward()
    assert x.grad.flatten().tolist() == [1, 1, 0, 1, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("reduce", ["max", "mean"])
def test_gradients_are_exact(reduce):
    torch.manual_seed(0)
    pool = GraphPool(LOPSIDED, reduce=reduce)
    x = torch.randn(2, 9, 3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(pool, x)
    assert gradgradcheck(pool, x)


@pytest.mark.parametrize("reduce", ["max", "mean"])
def test_infinite_and_missing_values_stay_in_their_group(reduce):
    x = torch.zeros(9, 4)
    x[0, 0], x[0, 1], x[0, 2] = torch.nan, torch.inf, -torch.inf
    x[4, 0] = 5.0
    expected = define_pool(x, LOPSIDED, reduce)
    torch.testing.assert_close(GraphPool(LOPSIDED, reduce=reduce)(x), expected, equal_nan=True)
    low = torch.full((9, 1), -torch.inf)
    assert (GraphPool(LOPSIDED, reduce=reduce)(low) == -torch.inf).all()


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("reduce", ["max", "mean"])
def test_transforms_and_strange_layouts(reduce):
    pool = GraphPool(LOPSIDED, reduce=reduce)
    x = torch.randn(3, 4, 9).transpose(1, 2)
    torch.testing.assert_close(pool(x), define_pool(x, LOPSIDED, reduce))
    torch.testing.assert_close(torch.vmap(pool)(x), pool(x))
    torch.testing.assert_close(torch.compile(pool, backend="eager", fullgraph=True)(x), pool(x))
    assert pool(torch.zeros(0, 9, 2)).shape == (0, 4, 2)
    assert pool(torch.zeros(9, 0)).shape == (4, 0)


def test_an_ensemble_of_stacked_layers():
    pools = [GraphPool(LOPSIDED), GraphPool(LOPSIDED[::-1].copy())]
    state = torch.func.stack_module_state(pools)
    x = torch.randn(2, 3, 9, 5, requires_grad=True)

    def run(state, x):
        return torch.func.functional_call(pools[0], state, (x,))

    found = torch.vmap(run, in_dims=((0, 0), 0))(state, x)
    torch.testing.assert_close(found, torch.stack([pools[0](x[0]), pools[1](x[1])]))
    found.sum().backward()
    assert (x.grad.sum(dim=-2) == 4).all()


def test_moves_copies_and_prints_like_any_layer():
    pool = GraphPool(LOPSIDED, reduce="mean")
    assert repr(pool) == "GraphPool(9 -> 4, reduce='mean')"
    assert not pool.state_dict()
    x = torch.randn(2, 9, 1)
    torch.testing.assert_close(copy.deepcopy(pool).double()(x.double()).float(), pool(x))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 2], "numbered from 0 without gaps; got 2 groups from 0 to 2"),
        ([1, 2], "numbered from 0 without gaps"),
        ([-1, 0], "numbered from 0 without gaps"),
        ([], r"integers of shape \(n_nodes,\)"),
        ([0.0, 1.0], r"integers of shape \(n_nodes,\)"),
        ([[0, 1]], r"integers of shape \(n_nodes,\)"),
    ],
)
def test_bad_groups(groups, message):
    with pytest.raises(ValueError, match=message):
        GraphPool(groups)


def test_bad_input():
    with pytest.raises(ValueError, match="reduce must be one of 'max', 'mean'; got 'sum'"):
        GraphPool([0, 0], reduce="sum")
    with pytest.raises(ValueError, match=r"n_nodes = 9; got \(4, 8, 2\)"):
        GraphPool(LOPSIDED)(torch.zeros(4, 8, 2))
    with FakeTensorMode():
        elsewhere = torch.zeros(4, 9, 2, device="cuda")
    with pytest.raises(ValueError, match="x must be on the device of the layer, cpu; got cuda"):
        GraphPool(LOPSIDED)(elsewhere)


def test_a_coarsening_is_taken_for_its_groups():
    small = coarsen(grid_graph((4, 6)))
    x = torch.randn(3, 24, 2)
    torch.testing.assert_close(GraphPool(small)(x), GraphPool(small.groups)(x), rtol=0, atol=0)
