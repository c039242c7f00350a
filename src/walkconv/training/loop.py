"""The loop: epochs over shuffled batches, the best weights kept.

Everything random in an epoch comes from (seed, member, epoch), and the rate of a step from its
position. So what an epoch does depends only on the weights, the moments of the solver and the
number of the epoch, and a run that is continued ends like one that was never stopped.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from walkconv.training.batches import Batches
from walkconv.training.processes import ALONE, Processes
from walkconv.training.solvers import SCHEDULES, SOLVERS
from walkconv.training.turns import seeded
from walkconv.training.whole_batch import whole_batch

BatchLoss = Callable[[Tensor, Tensor], Tensor]
Score = Callable[[nn.Module], float]


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
        self.batches = _batches(len(table), settings.batch_size or _fitting_size(len(table)))
        self.history: list[dict[str, Any]] = []
        self.best = _copy_of(network.state_dict())
        self.best_epoch = 0

    @property
    def epoch(self) -> int:
        """Epochs finished."""
        return len(self.history)

    @property
    def is_finished(self) -> bool:
        """Whether the last epoch is done, or the score has not improved for long enough."""
        patience = self.settings.patience
        is_stuck = patience is not None and self.epoch - self.best_epoch >= patience
        return self.epoch >= self.settings.max_iter or is_stuck

    def run_epoch(self, after_batch: Callable[[], Any] = lambda: None) -> None:
        """Train on every row once, then score and remember."""
        started = time.perf_counter()
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
        self._remember(record)

    def finish(self) -> None:
        """Put the best weights into the network and switch it to prediction."""
        self.network.load_state_dict(self.best)
        self.network.eval()

    def _pass_over_rows(self, after_batch: Callable[[], Any]) -> float:
        self.network.train()
        order = torch.randperm(len(self.table)).numpy()
        total = torch.zeros((), dtype=torch.float64)
        for number, part in enumerate(self.batches):
            self._set_rate((self.epoch + number / len(self.batches)) / self.settings.max_iter)
            rows = order[part]
            loss = self._contribution(rows)
            self.optimizer.zero_grad()
            loss.backward()
            self.processes.sum_gradients(self.network.parameters())
            self.optimizer.step()
            total += loss.detach().cpu() * len(rows)
            after_batch()
        return float(self.processes.sum(total)) / len(self.table)

    def _contribution(self, rows: np.ndarray) -> Tensor:
        """Return what this process adds to the loss of a batch.

        If there are fewer rows than processes, every process takes all of them.
        """
        everyone = self.processes
        sharing = everyone if len(rows) >= everyone.size else ALONE
        mine = rows[sharing.part(len(rows))]
        if sharing.size == 1:
            outputs = self.network(*self.table.batch(mine))
        else:
            with whole_batch(sharing):
                outputs = self.network(*self.table.batch(mine))
        share = len(mine) / len(rows) * sharing.size / everyone.size
        return self.batch_loss(outputs, torch.from_numpy(mine)) * share

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


def _fitting_size(n_rows: int) -> int:
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
