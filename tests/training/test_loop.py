import _thread
import io
import logging
import re
import signal
import sys

import numpy as np
import pytest
import torch
from torch import nn
from tqdm import tqdm

from walkconv.training.loop import (
    SCHEDULES,
    SOLVERS,
    WHOLE,
    InterruptedFitWarning,
    Training,
    TrainingSettings,
    _batches,
    fitting_size,
    one_cycle,
    seeded,
    train_members,
)

CPU = torch.device("cpu")
STEPPING = [name for name in SOLVERS if name != WHOLE]
"""Solvers that take many steps, at the rate of a schedule."""
SETTINGS = {
    "solver": "adamw",
    "schedule": "one_cycle",
    "learning_rate": 0.05,
    "weight_decay": 0.0,
    "batch_size": 8,
    "max_iter": 6,
    "patience": None,
}


def a_training(rng, score=None, member=0, **settings):
    """Thirty rows of a line, and a network with something random in it."""
    X = rng.normal(size=(30, 3))
    target = torch.from_numpy((X @ [1.0, -2.0, 0.5])[:, None].astype(np.float32))
    with seeded(7, member, 0, device=CPU):
        network = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 1))
    return Training(
        network,
        Rows(X),
        lambda outputs, rows: (outputs - target[rows]).square().mean(),
        TrainingSettings(**{**SETTINGS, **settings}),
        (7, member),
        score,
    )


class Rows:
    """The rows of an array as batches."""

    device = CPU

    def __init__(self, X):
        self.X = torch.from_numpy(X.astype(np.float32))

    def __len__(self):
        return len(self.X)

    def shuffled(self):
        return torch.randperm(len(self)).numpy()

    def batch(self, rows):
        return (self.X[rows],)


def weights(network):
    return torch.cat([tensor.flatten() for tensor in network.state_dict().values()]).tolist()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("solver", STEPPING)
def test_every_solver_lowers_the_loss(rng, solver, schedule):
    training = a_training(rng, solver=solver, schedule=schedule, learning_rate=0.01, max_iter=20)
    train_members([training])
    losses = [record["loss"] for record in training.history]
    assert len(losses) == 20
    assert losses[-1] < losses[0] / 2


def test_the_same_seed_gives_the_same_weights_and_another_member_others():
    runs = []
    for member in (0, 0, 1):
        training = a_training(np.random.default_rng(0), member=member)
        train_members([training])
        runs.append(weights(training.network))
    assert runs[0] == runs[1] != runs[2]


def test_the_global_generator_is_left_alone(rng):
    torch.manual_seed(5)
    expected = torch.rand(3).tolist()
    torch.manual_seed(5)
    train_members([a_training(rng)])
    assert torch.rand(3).tolist() == expected


def test_generators_of_devices_that_are_not_used_are_left_alone(monkeypatch):
    calls = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", calls.append)
    with seeded(1, 2, device=CPU):
        drawn = torch.rand(3).tolist()
    with seeded(1, 2, device=CPU):
        assert torch.rand(3).tolist() == drawn
    assert not calls


def test_the_global_generator_does_not_matter():
    runs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        training = a_training(np.random.default_rng(0))
        train_members([training])
        runs.append(weights(training.network))
    assert runs[0] == runs[1]


def test_every_row_is_seen_once_in_an_epoch_and_in_another_order_in_the_next(rng):
    training = a_training(rng)
    seen = []
    loss = training.batch_loss

    def watched(outputs, rows):
        seen.extend(rows.tolist())
        return loss(outputs, rows)

    training.batch_loss = watched
    training.run_epoch()
    training.run_epoch()
    assert sorted(seen[:30]) == sorted(seen[30:]) == list(range(30))
    assert seen[:30] != seen[30:]


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "lengths"),
    [(10, 4, [4, 4, 2]), (9, 4, [4, 5]), (8, 4, [4, 4]), (3, 4, [3]), (1, 4, [1]), (5, 4, [5])],
)
def test_a_single_left_over_row_joins_the_last_batch(n_rows, batch_size, lengths):
    batches = _batches(n_rows, batch_size)
    assert [len(range(n_rows)[batch]) for batch in batches] == lengths


@pytest.mark.parametrize(
    ("n_rows", "size"), [(2, 16), (800, 16), (1569, 31), (6400, 128), (60_000, 128)]
)
def test_a_small_table_has_small_batches(n_rows, size):
    assert fitting_size(n_rows) == size


def test_the_rate_rises_then_falls_to_nothing():
    rates = [one_cycle(progress) for progress in np.linspace(0, 1, 101)]
    assert np.argmax(rates) == 30
    assert max(rates) == pytest.approx(1)
    assert (np.diff(rates[:31]) > 0).all()
    assert (np.diff(rates[30:]) < 0).all()
    assert rates[-1] == pytest.approx(0)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("solver", STEPPING)
def test_the_schedule_reaches_the_optimizer(rng, solver, schedule):
    training = a_training(rng, solver=solver, schedule=schedule)
    rates = []
    for _ in range(6):
        training.run_epoch(lambda: rates.append(training.optimizer.param_groups[0]["lr"]))
    expected = [0.05 * SCHEDULES[schedule](step / 24) for step in range(24)]
    assert rates == pytest.approx(expected)


def test_the_best_weights_are_restored_and_training_stops():
    scores = iter([0.1, 0.5, 0.3, 0.5, 0.2, 0.9])
    training = a_training(np.random.default_rng(0), lambda _: next(scores), patience=3)
    plain = a_training(np.random.default_rng(0))
    for _ in range(2):
        plain.run_epoch()
    train_members([training])
    assert training.epoch == 5
    assert training.best_epoch == 2
    assert weights(training.network) == weights(plain.network)
    assert not training.network.training


def test_a_score_without_patience_is_recorded_and_the_best_kept():
    scores = [0.1, 0.5, 0.3, 0.4, 0.2, 0.1]
    left = iter(scores)
    training = a_training(np.random.default_rng(0), lambda _: next(left))
    _, history = train_members([training])
    assert [record["validation_score"] for record in history] == scores
    assert [record["epoch"] for record in history] == [1, 2, 3, 4, 5, 6]
    assert all(record["seconds"] > 0 for record in history)
    assert training.best_epoch == 2


@pytest.fixture
def interruptible():
    """Listen to the keyboard, which a process in the background does not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_the_last_finished_epoch():
    training = a_training(np.random.default_rng(0))
    plain = a_training(np.random.default_rng(0))
    for _ in range(2):
        plain.run_epoch()
    loss, calls = training.batch_loss, []

    def interrupted(outputs, rows):
        calls.append(rows)
        if len(calls) == 10:  # an epoch has four batches: in the third
            _thread.interrupt_main()
        return loss(outputs, rows)

    training.batch_loss = interrupted
    with pytest.warns(
        InterruptedFitWarning, match=r"in epoch 3 of 6; the weights of epoch 2 are kept\.$"
    ):
        _, history = train_members([training])
    assert len(history) == 2
    assert weights(training.network) == weights(plain.network)


def test_an_interrupt_drops_members_that_have_not_begun(rng):
    trainings = [a_training(rng, member=member, max_iter=2) for member in range(3)]

    def stop(training):
        if training is trainings[1]:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedFitWarning, match="2 of 3 members are kept"):
        networks, history = train_members(trainings, after_epoch=stop)
    assert len(networks) == 2
    assert [record["member"] for record in history] == [0, 0, 1]


def test_an_interrupt_tells_the_member_that_was_trained(rng):
    trainings = [a_training(rng, member=member, max_iter=2) for member in range(3)]

    def interrupt(outputs, rows):
        raise KeyboardInterrupt

    trainings[1].batch_loss = interrupt
    with pytest.warns(
        InterruptedFitWarning,
        match=r"epoch 1 of 2 of member 2; 1 of 3 members are kept, the last with .* epoch 2\.$",
    ):
        train_members(trainings)


def test_an_interrupt_before_the_first_epoch_goes_on(rng):
    training = a_training(rng)

    def interrupt(outputs, rows):
        raise KeyboardInterrupt

    training.batch_loss = interrupt
    with pytest.raises(KeyboardInterrupt):
        train_members([training])


def test_a_loss_that_is_not_finite_is_an_error(rng):
    training = a_training(rng, learning_rate=0.25)
    training.batch_loss = lambda outputs, rows: outputs.sum() * torch.inf
    with pytest.raises(ValueError, match=r"finite; got .* epoch 1. Lower learning_rate \(now 0.25"):
        train_members([training])


def test_weights_that_are_not_finite_after_the_last_step_are_an_error(rng):
    training = a_training(rng)

    def spoil():
        nn.init.constant_(training.network[0].bias, torch.nan)

    training.batches = [slice(0, 30)]
    with pytest.raises(ValueError, match=r"The weights must stay finite; .* epoch 1. Lower learn"):
        training.run_epoch(spoil)


def test_a_score_that_is_not_a_number_is_an_error(rng):
    scores = iter([0.1, np.nan])
    training = a_training(rng, lambda _: next(scores))
    with pytest.raises(ValueError, match=r"validation rows .* got NaN .* epoch 2. Lower learn"):
        train_members([training])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class NotebookStream(io.StringIO):
    """Standard error as a notebook has it: no terminal, but it redraws lines."""

    __module__ = "ipykernel.iostream"


@pytest.fixture
def quiet_logger():
    """Return the logger "walkconv" as it is where nobody has set it up."""
    logger = logging.getLogger("walkconv")
    before = logger.level
    logger.setLevel(logging.WARNING)
    yield logger
    logger.setLevel(before)


@pytest.fixture
def bars(monkeypatch):
    """Return the bars that are made, in a list."""
    made = []

    def watched(*args, **kwargs):
        made.append(tqdm(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr("walkconv.training.loop.tqdm", watched)
    return made


@pytest.mark.usefixtures("quiet_logger")
@pytest.mark.parametrize("stream", [Terminal, NotebookStream])
def test_a_terminal_and_a_notebook_show_a_bar(rng, monkeypatch, bars, stream):
    monkeypatch.setattr("sys.stderr", stream())
    train_members([a_training(rng, max_iter=2)], verbose=1)
    assert "epoch 2/2, loss" in sys.stderr.getvalue()
    assert "8/8" in sys.stderr.getvalue()
    assert "walkconv:" not in sys.stderr.getvalue()
    (bar,) = bars
    assert bar.n == bar.total == 8


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_silent_training_prints_nothing_and_makes_no_bar(rng, monkeypatch, bars, caplog, stream):
    caplog.set_level(logging.INFO, "walkconv")
    monkeypatch.setattr("sys.stderr", stream())
    train_members([a_training(rng, max_iter=2)], verbose=0)
    assert not sys.stderr.getvalue()
    assert not caplog.records
    assert not bars


@pytest.mark.usefixtures("quiet_logger")
def test_without_a_terminal_every_epoch_is_a_line_on_stderr(rng, monkeypatch, bars, capsys):
    scores = iter([0.25, 0.5])
    trainings = [
        a_training(rng, lambda _: next(scores), max_iter=2),
        a_training(rng, member=1, max_iter=2),
    ]
    monkeypatch.setattr("sys.stderr", io.StringIO())
    train_members(trainings, verbose=1)
    first, second, third, fourth = sys.stderr.getvalue().splitlines()
    assert re.fullmatch(r"walkconv: member 1/2, epoch 1/2, loss [\d.]+, score 0.25", first)
    assert re.fullmatch(r"walkconv: member 1/2, epoch 2/2, loss [\d.]+, score 0.5", second)
    assert re.fullmatch(r"walkconv: member 2/2, epoch 1/2, loss [\d.]+", third)
    assert re.fullmatch(r"walkconv: member 2/2, epoch 2/2, loss [\d.]+", fourth)
    assert not capsys.readouterr().out
    assert not bars


def test_the_lines_go_to_the_logger_that_is_enabled_for_them(rng, monkeypatch, bars, caplog):
    caplog.set_level(logging.INFO, "walkconv")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    train_members([a_training(rng, max_iter=2)], verbose=1)
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("walkconv", "INFO")
    ] * 2
    assert [message.split(",")[0] for message in caplog.messages] == ["epoch 1/2", "epoch 2/2"]
    assert not sys.stderr.getvalue()
    assert not bars
