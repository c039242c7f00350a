"""The convolution to be computed, for all tests of this room."""

import pytest
import torch


@pytest.fixture(scope="session")
def problem():
    """Return a function that draws the arguments of `graph_conv`."""
    return random_problem


def random_problem(
    n_samples=3,
    n_in=7,
    n_nodes=7,
    n_slots=4,
    c_in=2,
    c_out=5,
    per_sample=False,
    scaled=False,
    biased=True,
    dtype=torch.float64,
    seed=0,
):
    """Random arguments, with empty slots, an empty row and repeated neighbours."""
    draw = torch.Generator().manual_seed(seed)
    tables = (n_samples, n_nodes, n_slots) if per_sample else (n_nodes, n_slots)
    index = torch.randint(-1, n_in, tables, generator=draw)
    if n_nodes > 1:
        index[..., 1, :] = -1
    if n_slots > 1 and n_nodes > 0:
        index[..., 0, 1] = index[..., 0, 0]

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=dtype)

    return (
        normal(n_samples, n_in, c_in).requires_grad_(),
        index,
        normal(n_slots, c_in, c_out).requires_grad_(),
        normal(c_out).requires_grad_() if biased else None,
        normal(*tables) if scaled else None,
    )
