"""The fused steps are those of torch's RMSprop."""

from copy import deepcopy

import pytest
import torch

from walkconv.training.rmsprop import RMSprop


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_steps_are_those_of_torch(weight_decay):
    draw = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, generator=draw) for shape in ((3, 4), (), (5,))]
    fused, plain = ([torch.nn.Parameter(each.clone()) for each in start] for _ in range(2))
    settings = {"lr": 0.01, "alpha": 0.9, "eps": 1e-3, "weight_decay": weight_decay}
    solvers = RMSprop(fused, **settings), torch.optim.RMSprop(plain, **settings)
    for step in range(30):
        gradients = [torch.randn(each.shape, generator=draw) for each in start]
        gradients[0][0] = 0  # weights without a gradient, whose average decays
        for weights, solver in zip((fused, plain), solvers, strict=True):
            solver.param_groups[0]["lr"] = 0.01 / (1 + step)
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.grad = gradient.clone()
            solver.step()
        for ours, theirs in zip(fused, plain, strict=True):
            torch.testing.assert_close(ours, theirs)
    assert solvers[0].param_groups[0]["lr"] == 0.01 / 30
    assert solvers[0].param_groups[0]["eps"] == 1e-3


def test_a_solver_that_is_loaded_goes_on():
    weight = torch.nn.Parameter(torch.ones(4))
    solver = RMSprop([weight], lr=0.1, alpha=0.9)
    for _ in range(3):
        weight.grad = torch.arange(4.0)
        solver.step()
    again = torch.nn.Parameter(weight.detach().clone())
    loaded = RMSprop([again], lr=0.1, alpha=0.9)
    loaded.load_state_dict(deepcopy(solver.state_dict()))
    for each, other in ((weight, solver), (again, loaded)):
        each.grad = torch.full((4,), 2.0)
        other.step()
    assert torch.equal(weight, again)
