"""The loop: epochs over shuffled batches, the best weights kept, one ensemble member after another.

Everything random in an epoch comes from (seed, member, epoch), and the rate of a step from its
position. So what an epoch does depends only on the weights, the moments of the solver and the
number of the epoch, and a run that is continued ends like one that was never stopped.
"""

import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import Parameter
from torch.optim import Optimizer
from tqdm import tqdm

from walkconv._progress import has_bar
from walkconv._warnings import warn_user
from walkconv.training.batches import Batches
from walkconv.training.countdown import Countdown
from walkconv.training.lbfgs import LBFGS
from walkconv.training.processes import ALONE, Processes
from walkconv.training.rmsprop import RMSprop
from walkconv.training.whole_batch import whole_batch

BatchLoss = Callable[[Tensor, Tensor], Tensor]
Precision = Literal["float32", "bfloat16"]
Score = Callable[[nn.Module], float]
LOGGER = logging.getLogger("walkconv")
WHOLE = "lbfgs"
"""The solver whose steps take all rows."""
WARM_UP = 0.3
FIRST_SHARE = 0.04
TURN = RLock()
"""Held by the thread whose random numbers and default type torch has."""


def one_cycle(progress: float) -> float:
    """Return the share of the peak rate at `progress` in [0, 1]: up from 4 %, then down to 0.

    Both ways follow half a cosine (Smith and Topin 2017). A function of the position alone, so
    training continues from any step without a state.

    Examples
    --------
    >>> from walkconv.training.loop import one_cycle
    >>> [round(one_cycle(progress), 2) for progress in (0.0, 0.3, 0.65, 1.0)]
    [0.04, 1.0, 0.5, 0.0]
    """
    if progress < WARM_UP:
        risen = (1 - math.cos(math.pi * progress / WARM_UP)) / 2
        return FIRST_SHARE + (1 - FIRST_SHARE) * risen
    return (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP))) / 2


def constant(progress: float) -> float:
    """Return the full rate, always."""
    return 1.0


def _adamw(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)


def _adam(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)


def _rmsprop(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    # NOTE[PAPER]: 0.9 is Keras's default, with which the original code was run; torch's is 0.99.
    return RMSprop(parameters, lr=rate, alpha=0.9, weight_decay=decay)


def _lbfgs(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    return LBFGS(parameters, weight_decay=decay)


Solver = Callable[[Iterable[Parameter], float, float], Optimizer]

SOLVERS: dict[str, Solver] = {
    "adamw": _adamw,
    "adam": _adam,
    "rmsprop": _rmsprop,
    WHOLE: _lbfgs,
}
SCHEDULES: dict[str, Callable[[float], float]] = {"one_cycle": one_cycle, "constant": constant}
"""From the progress of the training in [0, 1] to the share of the learning rate."""


def _renew_turn() -> None:
    """Let a forked process have a turn: the thread that held it was not forked."""
    global TURN
    TURN = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turn)


@contextmanager
def single_precision() -> Iterator[None]:
    """Let float32 be torch's default type inside; threads take turns, as in `seeded`."""
    with TURN:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


@contextmanager
def seeded(*numbers: int, device: torch.device) -> Iterator[None]:
    """Seed torch from the numbers inside, and leave its generators outside as they were.

    They belong to the process, so threads that fit models take turns, an epoch each.
    """
    seed = int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
    devices = [] if device.type == "cpu" else [device]
    kind = device.type if devices else "cuda"
    with TURN, torch.random.fork_rng(devices, device_type=kind):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed seeds every device there is
        for each in devices:
            state = torch.Generator(each).manual_seed(seed).get_state()
            torch.get_device_module(each).set_rng_state(state, each)
        yield


@dataclass(frozen=True)
class TrainingSettings:
    """How to train: see the estimators for the meaning of each.

    `batch_size` is None if the number of rows decides, `patience` is None without early stopping.
    """

    solver: str
    schedule: str
    learning_rate: float
    weight_decay: float
    batch_size: int | None
    max_iter: int
    patience: int | None
    precision: Precision = "float32"

    def rows_at_once(self, n_rows: int) -> int:
        """Return the rows of a step."""
        return n_rows if self.solver == WHOLE else self.batch_size or fitting_size(n_rows)


class Training:
    """The training of one network, an epoch at a time.

    Parameters
    ----------
    network : Module
        Trained in place.
    table : Batches
        The training samples.
    batch_loss : callable
        (outputs (m, n_outputs), rows (m,)) -> the loss of those rows of the table.
    settings : TrainingSettings
    randomness : tuple of int
        (seed, member).
    score : callable, optional
        network -> a number, higher is better, NaN where the outputs are not finite; None where
        there are no validation rows.
    processes : Processes, optional
        Those that train the network together; all of them run the same epochs.

    Attributes
    ----------
    history : list of dict
        One record for each finished epoch.
    batches : list of slice
        Slices of the batches in the shuffled rows.
    best : dict of str to Tensor
        Weights of the epoch with the best score, of the last finished epoch without a score.
    seconds : float or None
        Time for this training, None without a limit. The learning rate then follows the time where
        that is ahead of the epochs, and the last epoch ends when the time does.
    """

    def __init__(
        self,
        network: nn.Module,
        table: Batches,
        batch_loss: BatchLoss,
        settings: TrainingSettings,
        randomness: tuple[int, int],
        score: Score | None = None,
        processes: Processes = ALONE,
    ):
        self.processes = processes
        self.network, self.table, self.batch_loss = network, table, batch_loss
        self.settings, self.randomness, self.score = settings, randomness, score
        self.schedule = SCHEDULES[settings.schedule]
        self.optimizer = SOLVERS[settings.solver](
            network.parameters(), settings.learning_rate, settings.weight_decay
        )
        # Near its minimum a loss in single precision says too little about the weights.
        is_exact = settings.solver == WHOLE and table.device.type != "mps"  # which lacks the type
        self.dtype = torch.float64 if is_exact else torch.float32
        self.batches = _batches(len(table), settings.rows_at_once(len(table)))
        self.history: list[dict[str, Any]] = []
        self.best = _copy_of(network.state_dict())
        self.best_epoch = 0
        self.seconds: float | None = None
        self._spent = 0.0

    @property
    def epoch(self) -> int:
        """Epochs finished."""
        return len(self.history)

    @property
    def is_finished(self) -> bool:
        """Whether the last epoch is done, or the score has not improved for long enough."""
        patience = self.settings.patience
        is_stuck = patience is not None and self.epoch - self.best_epoch >= patience
        return self.epoch >= self.settings.max_iter or is_stuck or self._time() >= 1

    def run_epoch(self, after_batch: Callable[[], Any] = lambda: None) -> None:
        """Train on every row once, then score and remember."""
        started, before = time.perf_counter(), self._spent
        with (
            torch.enable_grad(),
            seeded(*self.randomness, self.epoch + 1, device=self.table.device),
        ):
            loss = self._pass_over_rows(after_batch)
        if not np.isfinite(loss):
            raise self._divergence("loss", loss)
        if not all(weight.isfinite().all() for weight in self.network.parameters()):
            raise self._divergence("weights", "NaN or infinity")
        record: dict[str, Any] = {"member": self.randomness[1], "epoch": self.epoch + 1}
        record["loss"] = loss
        if self.score is not None:
            score_of = self.score
            score = self.processes.from_first(lambda: float(score_of(self.network)))
            if np.isnan(score):
                raise self._divergence("outputs for the validation rows", "NaN or infinity")
            record["validation_score"] = score
        record["seconds"] = time.perf_counter() - started
        self._spent = before + record["seconds"]
        self._remember(record)

    def finish(self) -> None:
        """Put the best weights into the network and switch it to prediction."""
        self.network.load_state_dict(self.best)
        self.network.eval()

    def _pass_over_rows(self, after_batch: Callable[[], Any]) -> float:
        self.network.train()
        order = self.table.shuffled()
        total, n_rows = torch.zeros((), dtype=torch.float64), 0
        started, before = time.perf_counter(), self._spent
        for number, part in enumerate(self.batches):
            if number and self._time() >= 1:
                break
            progress = (self.epoch + number / len(self.batches)) / self.settings.max_iter
            self._set_rate(max(progress, min(1.0, self._time())))
            rows = order[part]
            loss = self._step(rows, lambda: before + time.perf_counter() - started)
            total += loss.detach().cpu() * len(rows)
            n_rows += len(rows)
            self._spent = before + time.perf_counter() - started
            after_batch()
        return float(self.processes.sum(total)) / n_rows

    def _step(self, rows: np.ndarray, spent: Callable[[], float]) -> Tensor:
        """Change the weights by what a batch says, and return what this process adds to its loss.

        `spent` gives the seconds since the training began: a solver may look at the batch often.
        """
        contribution = self._contribution(rows)
        is_whole = self.settings.solver == WHOLE  # every process then needs the loss of all rows
        is_first = True
        if is_whole:
            self.network.to(self.dtype)

        def differentiated() -> Any:  # a Tensor; the stubs of torch say float
            nonlocal is_first
            if not is_first:
                self._spent = spent()
                if self._time() >= 1:
                    raise StopIteration
            is_first = False
            loss = contribution()
            self.optimizer.zero_grad()
            loss.backward()
            self.processes.sum_gradients(self.network.parameters())
            return self.processes.sum(loss.detach().clone()) if is_whole else loss

        loss = cast(Tensor, self.optimizer.step(differentiated))
        if not is_whole:
            return loss
        self.network.float()
        return loss / self.processes.size

    def _time(self) -> float:
        """Return the share of the time that is spent, 0 without a limit."""
        return 0.0 if self.seconds is None else self._spent / max(self.seconds, 1e-9)

    def _contribution(self, rows: np.ndarray) -> Callable[[], Tensor]:
        """Return a function for what this process adds to the loss of a batch.

        If there are fewer rows than processes, every process takes all of them.
        """
        everyone = self.processes
        sharing = everyone if len(rows) >= everyone.size else ALONE
        mine = rows[sharing.part(len(rows))]
        share = len(mine) / len(rows) * sharing.size / everyone.size
        numbers = torch.from_numpy(mine)

        def shared() -> AbstractContextManager[None]:
            return nullcontext() if sharing is ALONE else whole_batch(sharing)

        with shared():
            inputs = self.table.batch(mine)
        if self.dtype == torch.float64:
            inputs = tuple(each.double() if each.is_floating_point() else each for each in inputs)

        def contribution() -> Tensor:
            with products_in(self.settings.precision, self.table.device), shared():
                outputs = self.network(*inputs).to(self.dtype)
            return self.batch_loss(outputs, numbers) * share

        return contribution

    def _set_rate(self, progress: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.learning_rate * self.schedule(progress)

    def _remember(self, record: dict[str, Any]) -> None:
        best = self.history[self.best_epoch - 1] if self.history else None
        self.history.append(record)
        if self.score is None or not best or record["validation_score"] > best["validation_score"]:
            self.best = _copy_of(self.network.state_dict())
            self.best_epoch = self.epoch

    def _divergence(self, what: str, got: Any) -> ValueError:
        return ValueError(
            f"The {what} must stay finite; got {got} in epoch {self.epoch + 1}. "
            f"Lower learning_rate (now {self.settings.learning_rate})."
        )


def products_in(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Return a context for one forward pass; weights, losses and steps stay float32.

    With "float32" a surrounding ``torch.autocast`` decides.

    Examples
    --------
    >>> import torch
    >>> from walkconv.training.loop import products_in
    >>> weight, x = torch.ones(2, 2), torch.ones(1, 2)
    >>> with products_in("bfloat16", x.device):
    ...     (x @ weight).dtype
    torch.bfloat16
    """
    kind = device.type
    if precision == "bfloat16":
        dtype = torch.bfloat16
    elif torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    else:
        return nullcontext()
    # Autocast would keep its copies of the weights until the outermost context ends, while every
    # step changes the weights.
    return torch.autocast(kind, dtype=dtype, cache_enabled=False)


def fitting_size(n_rows: int) -> int:
    """Return a batch size that leaves a small table some fifty steps in an epoch."""
    return min(max(n_rows // 50, 16), 128)


def _batches(n_rows: int, batch_size: int) -> list[slice]:
    """Return the slices of the batches; a single last row joins the batch before it.

    Batch normalization cannot be trained on a single row.
    """
    starts = list(range(0, n_rows, batch_size))
    if len(starts) > 1 and n_rows - starts[-1] == 1:
        starts.pop()
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], n_rows], strict=True)]


def _copy_of(state: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in state.items()}


class InterruptedFitWarning(UserWarning):
    """Training was stopped by the keyboard; what was learned so far is kept.

    Attributes
    ----------
    where : str
        The epoch, such as "epoch 3 of 100".
    """

    def __init__(self, message: str, where: str) -> None:
        super().__init__(message, where)
        self.where = where

    def __str__(self) -> str:
        return self.args[0]


def train_members(
    trainings: list[Training],
    *,
    verbose: int = 0,
    after_epoch: Callable[[Training], Any] = lambda training: None,
    time_left: Countdown | None = None,
) -> tuple[list[nn.Module], list[dict[str, Any]]]:
    """Train until all are finished, and return the networks and the history of every epoch.

    On a KeyboardInterrupt the networks that have finished an epoch are returned, with a warning;
    without one the interrupt goes on.

    Parameters
    ----------
    trainings : list of Training
        Some may be further than others.
    verbose : int, default 0
        Whether to show progress: a bar on a terminal and in a notebook, elsewhere a line for every
        epoch. The lines go to the logger "walkconv" if it is set up for INFO, otherwise to the
        standard error.
    after_epoch : callable, optional
        Called with the training that has just finished an epoch.
    time_left : Countdown, optional
        Seconds that are left for all trainings; each gets an equal part of what is left.
    """
    first = trainings[0]
    # No bar object without a bar: tqdm shares a lock with forked processes even where it is silent.
    bar = _bar(trainings) if verbose and has_bar() else None
    try:
        for number, training in enumerate(trainings):
            if time_left is not None:
                training.seconds = max(0.0, time_left()) / (len(trainings) - number)
            while not training.is_finished:
                training.run_epoch((lambda: None) if bar is None else bar.update)
                if bar is not None:
                    bar.set_postfix_str(_describe(training, len(trainings)))
                elif verbose:
                    say(_describe(training, len(trainings)))
                after_epoch(training)
    except KeyboardInterrupt:
        if not first.epoch:
            raise
        _warn_of_interrupt(trainings)
    finally:
        if bar is not None:
            bar.close()
    kept = [training for training in trainings if training.epoch]
    for training in kept:
        training.finish()
    history = [record for training in kept for record in training.history]
    return [training.network for training in kept], history


def _bar(trainings: list[Training]) -> tqdm:
    """Return a bar over all batches, at the batches that a checkpoint has already done."""
    first = trainings[0]
    total = len(trainings) * first.settings.max_iter * len(first.batches)
    done = sum(training.epoch * len(training.batches) for training in trainings)
    return tqdm(total=total, initial=done, unit="batch", file=sys.stderr)


def say(line: str) -> None:
    """Write a line of progress to the logger "walkconv", or to the standard error."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info(line)
    else:
        print(f"walkconv: {line}", file=sys.stderr)


def _describe(training: Training, n_members: int) -> str:
    record = training.history[-1]
    member = f"member {record['member'] + 1}/{n_members}, " if n_members > 1 else ""
    score = f", score {record['validation_score']:.4g}" if "validation_score" in record else ""
    epochs = f"epoch {record['epoch']}/{training.settings.max_iter}"
    return f"{member}{epochs}, loss {record['loss']:.4g}{score}"


def _warn_of_interrupt(trainings: list[Training]) -> None:
    kept = [training for training in trainings if training.epoch]
    current = next((each for each in trainings if not each.is_finished), trainings[-1])
    n_epochs = current.settings.max_iter
    where = f"epoch {min(current.epoch + 1, n_epochs)} of {n_epochs}"
    weights = f"the weights of epoch {kept[-1].best_epoch}"
    result = f"{weights} are kept."
    if len(trainings) > 1:
        where = f"{where} of member {trainings.index(current) + 1}"
        result = f"{len(kept)} of {len(trainings)} members are kept, the last with {weights}."
    message = f"Training was interrupted in {where}; {result}"
    warn_user(InterruptedFitWarning(message, where))
