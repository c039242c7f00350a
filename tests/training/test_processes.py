"""Three processes that hold a batch together compute what one computes on the whole.

The file is also the script that the processes run.
"""

import json
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from walkconv.training.loop import Training, TrainingSettings
from walkconv.training.processes import (
    ALONE,
    Processes,
    current_processes,
    join_processes,
)
from walkconv.training.whole_batch import WholeBatch, draw_for_rows, whole_batch

COUNTS = [4, 1, 6]
"""Rows of each process: unequal, and one alone."""


@pytest.mark.parametrize("is_training", [True, False])
def test_settings_may_come_by_position(is_training):
    x = torch.arange(12.0).reshape(6, 2)
    mode = WholeBatch()
    for function, arguments in (
        (functional.dropout, (x, 0.5, is_training)),
        (functional.batch_norm, (x, torch.zeros(2), torch.ones(2), None, None, is_training)),
    ):
        torch.manual_seed(0)
        expected = function(*arguments)
        torch.manual_seed(0)
        torch.testing.assert_close(mode.__torch_function__(function, (), arguments), expected)


def my_rows(processes):
    start = sum(COUNTS[: processes.rank])
    return slice(start, start + COUNTS[processes.rank])


def same_batch_norm(processes, norm, x):
    """Compare one step of a layer on all rows with steps on the parts."""
    whole, parted = norm.double(), nn.BatchNorm1d(x.shape[1], affine=norm.affine).double()
    parted.load_state_dict(norm.state_dict())
    parted.momentum = norm.momentum
    rows, slope = my_rows(processes), torch.linspace(-1, 2, x.numel()).view_as(x).double()
    x_whole, x_part = x.clone().requires_grad_(), x[rows].clone().requires_grad_()
    out_whole = whole(x_whole)
    with whole_batch(processes):
        out_part = parted(x_part)
    torch.testing.assert_close(out_part, out_whole[rows])
    (out_whole.sin() * slope).sum().backward()
    (out_part.sin() * slope[rows]).sum().backward()
    if norm.affine:
        processes.sum_gradients(parted.parameters())
    assert x_whole.grad is not None
    torch.testing.assert_close(x_part.grad, x_whole.grad[rows])
    for ours, theirs in zip(parted.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    for ours, theirs in zip(parted.buffers(), whole.buffers(), strict=True):
        torch.testing.assert_close(ours, theirs)


def check_batch_norm_of_rows(processes):
    norm = nn.BatchNorm1d(5)
    nn.init.normal_(norm.weight)
    nn.init.normal_(norm.bias)
    same_batch_norm(processes, norm, torch.randn(11, 5).double() * 3 + 1)


def check_batch_norm_with_positions_and_without_weights(processes):
    norm = nn.BatchNorm1d(2, affine=False, momentum=None)
    same_batch_norm(processes, norm, torch.randn(11, 2, 3).double())


def check_batch_norm_far_from_zero(processes):
    x = torch.randn(11, 3) + 1000
    with whole_batch(processes):
        out = nn.BatchNorm1d(3)(x[my_rows(processes)])
    expected = nn.BatchNorm1d(3)(x)[my_rows(processes)]
    torch.testing.assert_close(out, expected, rtol=1e-3, atol=1e-3)


def check_evaluation_sees_a_row_alone(processes):
    norm = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)).eval()
    x = torch.randn(processes.rank + 1, 3)
    if not processes.is_first:  # would wait for ever if it asked the others
        with whole_batch(processes):
            torch.testing.assert_close(norm(x), x, rtol=1e-4, atol=1e-4)


def check_dropout_has_one_mask(processes):
    x = torch.randn(11, 4, 2)
    state = torch.get_rng_state()
    expected = functional.dropout(x, 0.4)
    next_expected = torch.rand(3)
    torch.set_rng_state(state)
    with whole_batch(processes):
        found = nn.Dropout(0.4)(x[my_rows(processes)])
    assert torch.equal(found, expected[my_rows(processes)])
    assert torch.equal(torch.rand(3), next_expected)


def check_drawn_for_all_rows(processes):
    state = torch.get_rng_state()
    expected = torch.randint(100, (11,))
    torch.set_rng_state(state)
    with whole_batch(processes):
        found = draw_for_rows(COUNTS[processes.rank], lambda n: torch.randint(100, (n,)))
    assert torch.equal(found, expected[my_rows(processes)])
    assert len(draw_for_rows(2, torch.rand)) == 2


def check_gradients_are_summed_but_for_frozen_ones(processes):
    a, b, c = (nn.Parameter(torch.ones(shape)) for shape in ((2, 3), (), (4,)))
    (a.T.sum() * (processes.rank + 1) + b * 2).backward()
    processes.sum_gradients([a, c, b])
    assert a.grad is not None
    assert a.grad.tolist() == [[6.0] * 3] * 2
    assert b.grad is not None
    assert b.grad.tolist() == 6.0
    assert c.grad is None


def check_the_first_makes_it_for_all(processes):
    made = processes.from_first(lambda: {"rank": processes.rank, "array": np.arange(3)})
    assert made["rank"] == 0
    assert made["array"].tolist() == [0, 1, 2]


def check_an_error_of_the_first_is_an_error_of_all(processes):
    def fail():
        raise FileNotFoundError(f"nothing at {processes.rank}")

    with pytest.raises(FileNotFoundError, match="nothing at 0"):
        processes.from_first(fail)
    assert processes.from_first(lambda: processes.rank) == 0  # and all are together still


def check_differences_are_refused(processes):
    processes.refuse_differences({"a": 1, "data: X": "digest"})
    given = {"a": 1, "data: X": "one" if processes.rank == 2 else "another"}
    with pytest.raises(ValueError, match="settings; X of process 2 is not that of process 0"):
        processes.refuse_differences(given)


def check_batches_of_fewer_rows_than_processes(processes):
    """Two rows at a time: every process takes both."""
    histories, weights = [], []
    for team in (ALONE, processes):
        network = nn.Sequential(
            nn.BatchNorm1d(2), nn.Linear(2, 6), nn.Dropout(0.4), nn.Linear(6, 1)
        )
        for number, parameter in enumerate(network.parameters()):
            torch.manual_seed(number)
            nn.init.normal_(parameter)
        X = np.random.default_rng(0).normal(size=(8, 2))
        target = torch.arange(8.0)[:, None]
        training = Training(
            network,
            Rows(X),
            lambda outputs, rows, target=target: (outputs - target[rows]).square().mean(),
            TrainingSettings("rmsprop", "constant", 0.01, 0.0, 2, 2, None),
            (3, 0),
            processes=team,
        )
        training.run_epoch()
        training.run_epoch()
        histories.append([record["loss"] for record in training.history])
        weights.append(torch.cat([each.flatten() for each in network.state_dict().values()]))
    np.testing.assert_allclose(*histories, rtol=1e-5)
    torch.testing.assert_close(*weights, rtol=1e-4, atol=1e-4)


class Rows:
    """The rows of an array as batches."""

    device = torch.device("cpu")

    def __init__(self, X):
        self.X = torch.from_numpy(X.astype(np.float32))

    def __len__(self):
        return len(self.X)

    def shuffled(self):
        return torch.randperm(len(self)).numpy()

    def batch(self, rows):
        return (self.X[rows],)


def check_a_block_inside_a_block_joins_the_same(processes):
    assert processes == current_processes()
    assert processes.size == 3
    with join_processes() as again:
        assert again == processes
    assert processes.sum(torch.ones(())) == 3  # the group is still there


CHECKS = {name: value for name, value in globals().items() if name.startswith("check_")}
LATE = "nobody leaves the block before all are done"


def main(folder):
    outcomes = {}
    with join_processes() as processes:
        for number, (name, check) in enumerate(CHECKS.items()):
            torch.manual_seed(number)
            try:
                check(processes)
                outcomes[name] = "passed"
            except Exception:
                outcomes[name] = traceback.format_exc()
        if processes.rank == 2:
            time.sleep(1)
            Path(folder, LATE).touch()
    outcomes[LATE] = "passed" if Path(folder, LATE).exists() else "left before the last was done"
    assert current_processes() == ALONE
    assert not torch.distributed.is_initialized()
    Path(folder, f"{processes.rank}.json").write_text(json.dumps(outcomes))


@pytest.fixture(scope="module")
def outcomes(run_together, tmp_path_factory):
    folder = tmp_path_factory.mktemp("outcomes")
    done = run_together(__file__, folder, n_processes=3)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("check", [*CHECKS, LATE])
def test_in_three_processes(outcomes, check):
    assert [outcome[check] for outcome in outcomes] == ["passed"] * 3


@pytest.mark.parametrize("n_rows", [3, 7, 8, 128])
def test_parts_follow_each_other_and_differ_by_one_row_at_most(n_rows):
    parts = [range(n_rows)[Processes(rank, 3).part(n_rows)] for rank in range(3)]
    assert [row for part in parts for row in part] == list(range(n_rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert min(map(len, parts)) >= 1


def test_without_a_launcher_a_process_is_alone(monkeypatch):
    monkeypatch.setenv("RANK", "1")  # by itself it says nothing
    with join_processes() as processes:
        assert processes == current_processes() == ALONE
        assert not torch.distributed.is_initialized()
    assert processes.is_first


if __name__ == "__main__":
    main(sys.argv[1])
