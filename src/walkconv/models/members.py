"""Several networks trained one after another, with a bar, and a way to stop."""

import sys
import warnings
from collections.abc import Callable
from typing import Any

from torch import nn
from tqdm import tqdm

from walkconv.models.training import Training


class InterruptedFitWarning(UserWarning):
    """Training was stopped by the keyboard; what was learned so far is kept."""


def train_members(
    trainings: list[Training],
    *,
    verbose: int = 0,
    after_epoch: Callable[[Training], Any] = lambda training: None,
) -> tuple[list[nn.Module], list[dict[str, Any]]]:
    """Train until all are finished, and return the networks and the history of every epoch.

    On a KeyboardInterrupt the networks that have finished an epoch are returned, with a warning;
    without one the interrupt goes on.

    Parameters
    ----------
    trainings : list of Training
        Some may be further than others.
    verbose : int, default 0
        Whether to show a bar; never where the standard error is not a terminal.
    after_epoch : callable, optional
        Called with the training that has just finished an epoch.
    """
    first = trainings[0]
    total = len(trainings) * first.settings.max_iter * len(first.batches)
    is_silent = not verbose or not sys.stderr.isatty()
    try:
        with tqdm(total=total, disable=is_silent, unit="batch", file=sys.stderr) as bar:
            for training in trainings:
                bar.update(training.epoch * len(training.batches))
                while not training.is_finished:
                    training.run_epoch(bar.update)
                    bar.set_postfix_str(_describe(training, len(trainings)))
                    after_epoch(training)
    except KeyboardInterrupt:
        if not first.epoch:
            raise
        _warn_of_interrupt(trainings)
    kept = [training for training in trainings if training.epoch]
    for training in kept:
        training.finish()
    history = [record for training in kept for record in training.history]
    return [training.network for training in kept], history


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
    epoch = f"epoch {min(current.epoch + 1, n_epochs)} of {n_epochs}"
    weights = f"the weights of epoch {kept[-1].best_epoch}"
    said = f"{epoch}; {weights} are kept."
    if len(trainings) > 1:
        member = trainings.index(current) + 1
        said = (
            f"{epoch} of member {member}; {len(kept)} of {len(trainings)} members are kept, the "
            f"last with {weights}."
        )
    warnings.warn(
        f"Training was interrupted in {said}",
        InterruptedFitWarning,
        stacklevel=5,
    )
