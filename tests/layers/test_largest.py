"""The largest of every group, by every engine: the definition, ties, odd sizes, threads."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from walkconv.layers.largest import largest_of_groups


def tables(groups):
    """Start, member and the size of the largest group, from the group of each node."""
    sizes = np.bincount(groups)
    start = torch.tensor([0, *np.cumsum(sizes)])
    return start, torch.tensor(np.argsort(groups, kind="stable")), int(sizes.max())


def define_largest(x, start, member):
    """The meaning: group by group, value by value, the first of equal ones."""
    parts = [x[..., member[a:b], :] for a, b in pairwise(start)]
    first = [(part == part.amax(dim=-2, keepdim=True)).int().argmax(dim=-2) for part in parts]
    pairs = zip(parts, first, strict=True)
    return torch.stack([part.gather(-2, i.unsqueeze(-2)).squeeze(-2) for part, i in pairs], dim=-2)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n_groups=st.integers(1, 70),
    spare=st.integers(0, 40),
    n_samples=st.integers(0, 5),
    n_channels=st.sampled_from([0, 1, 3, 4, 7, 8, 9, 16, 20, 33]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 99),
)
def test_it_equals_the_definition(each_engine, n_groups, spare, n_samples, n_channels, dtype, seed):
    rng = np.random.default_rng(seed)
    groups = rng.permutation([*range(n_groups), *rng.integers(n_groups, size=spare)])
    start, member, n_turns = tables(groups)
    shape = (n_samples, len(groups), n_channels)
    x = torch.tensor(rng.integers(-2, 3, size=shape), dtype=dtype).requires_grad_()  # with ties
    found, expected = largest_of_groups(x, start, member, n_turns), define_largest(x, start, member)
    assert torch.equal(found, expected)
    upstream = torch.tensor(rng.normal(size=expected.shape), dtype=dtype)
    grads = [torch.autograd.grad(out, x, upstream)[0] for out in (found, expected)]
    assert torch.equal(*grads)


@pytest.mark.parametrize("size", [256, 257, 700])
def test_groups_as_large_as_a_byte_counts_and_larger(each_engine, size):
    groups = np.repeat([0, 1, 2], [3, size, 1])
    start, member, n_turns = tables(groups)
    x = torch.randn(2, len(groups), 5)
    x[:, -2] = 9.0  # the last of the large group
    x.requires_grad_()
    out = largest_of_groups(x, start, member, n_turns)
    assert torch.equal(out, define_largest(x, start, member))
    out.sum().backward()
    assert (x.grad[:, -2] == 1).all()


def test_missing_and_infinite_values_stay_in_their_group(each_engine):
    start, member, n_turns = tables(np.repeat([0, 1, 2], 3))
    x = torch.zeros(9, 9)
    x[1], x[2], x[3], x[5], x[6:] = torch.nan, 5.0, torch.inf, torch.nan, -torch.inf
    x.requires_grad_()
    out = largest_of_groups(x, start, member, n_turns)
    assert out[:2].isnan().all()
    assert (out[2] == -torch.inf).all()
    upstream = torch.full_like(out, torch.inf)  # for the first NaN, else the largest
    (grad,) = torch.autograd.grad(out, x, upstream, create_graph=True)
    assert torch.equal(grad, torch.autograd.grad(out, x, upstream)[0])
    assert (grad == torch.inf).nonzero()[::9, 0].tolist() == [1, 5, 6]
    assert ((grad == 0) | (grad == torch.inf)).all()


def test_strange_layouts_and_gradients_of_any_order(each_engine):
    start, member, n_turns = tables(np.array([2, 0, 2, 1, 2, 2, 3, 0, 2]))
    x = torch.randn(3, 11, 9, dtype=torch.float64).transpose(1, 2)
    assert torch.equal(
        largest_of_groups(x, start, member, n_turns), define_largest(x, start, member)
    )
    x = x.contiguous().requires_grad_()

    def pool(x):
        return largest_of_groups(x, start, member, n_turns)

    assert gradcheck(pool, x)
    assert gradgradcheck(pool, x)
    seen = torch.vmap(torch.func.grad(lambda x: (pool(x) ** 2).sum()))(x.detach())
    (expected,) = torch.autograd.grad((pool(x) ** 2).sum(), x)
    assert torch.equal(seen, expected)


def test_an_ensemble_of_layers_with_tables_of_their_own(each_engine):
    many = [tables(np.random.default_rng(seed).permutation([0, 0, 1, 2, 2])) for seed in range(4)]
    starts, members = (torch.stack([table[part] for table in many]) for part in (0, 1))
    x = torch.randn(4, 2, 5, 9, requires_grad=True)
    pool = torch.vmap(largest_of_groups, in_dims=(0, 0, 0, None))
    found = pool(x, starts, members, 2)
    expected = torch.stack([largest_of_groups(a, *b) for a, b in zip(x, many, strict=True)])
    assert torch.equal(found, expected)
    upstream = torch.randn_like(found)
    grads = [torch.autograd.grad(out, x, upstream)[0] for out in (found, expected)]
    assert torch.equal(*grads)
    one = torch.vmap(largest_of_groups, in_dims=(None, 0, 0, None))(x[0], starts, members, 2)
    assert torch.equal(one[3], largest_of_groups(x[0], *many[3]))


def test_the_same_bits_for_any_number_of_threads(each_native_engine):
    start, member, n_turns = tables(np.random.default_rng(0).integers(400, size=3000))
    x = torch.randn(7, len(member), 20, requires_grad=True)
    upstream = torch.randn(7, len(start) - 1, 20)
    n_threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2, 3):
            torch.set_num_threads(n)
            out = largest_of_groups(x, start, member, n_turns)
            results.append((out, *torch.autograd.grad(out, x, upstream)))
    finally:
        torch.set_num_threads(n_threads)
    for result in results[1:]:
        assert all(map(torch.equal, result, results[0]))
