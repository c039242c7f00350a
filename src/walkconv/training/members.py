"""Ensemble members trained one after another, with progress, and a way to stop."""

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any

from torch import nn
from tqdm import tqdm

from walkconv.training.loop import Training

LOGGER = logging.getLogger("walkconv")


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
) -> tuple[list[nn.Module], list[dict[str, Any]]]:
    """Train until all are finished, and return the networks and the history of every epoch.

    On a KeyboardInterrupt the networks that have finished an epoch are returned, with a warning;
    without one the interrupt goes on.

    Parameters
    ----------
    trainings : list of Training
        Some may be further than others.
    verbose : int, default 0
        Whether to show progress: a bar on a terminal, elsewhere a line for every epoch. The lines
        go to the logger "walkconv" if it is set up for INFO, otherwise to the standard error.
    after_epoch : callable, optional
        Called with the training that has just finished an epoch.
    """
    first = trainings[0]
    # No bar object without a bar: tqdm shares a lock with forked processes even where it is silent.
    bar = _bar(trainings) if verbose and sys.stderr.isatty() else None
    try:
        for training in trainings:
            while not training.is_finished:
                training.run_epoch((lambda: None) if bar is None else bar.update)
                if bar is not None:
                    bar.set_postfix_str(_describe(training, len(trainings)))
                elif verbose:
                    _say(_describe(training, len(trainings)))
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


def _say(line: str) -> None:
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
    warnings.warn(InterruptedFitWarning(message, where), stacklevel=6)
