"""What a model says of its own uncertainty, learned from rows that a network did not see.

Networks with the settings of the model are trained on four fifths of the rows and predict the other
fifth. Their errors there are the sizes of the errors to expect (conformal prediction with
cross-validation): about right, and a little too large, because those networks saw fewer rows. They
are larger still if only one ensemble member is trained.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_random_state
from torch import nn

from walkconv.estimators.divisions import CHEAP
from walkconv.estimators.fitting import read_rows, train
from walkconv.estimators.records import Fitted, Request
from walkconv.estimators.settings import CALIBRATION_FOLDS
from walkconv.networks import Network
from walkconv.training.batches import predict
from walkconv.training.processes import current_processes


def calibrate_model(
    request: Request,
    fitted: Fitted,
    X: Any,
    y: Any,
    sample_weight: Any,
    how: bool | Literal["auto"],
) -> Fitted:
    """Return a fitted model that knows its uncertainty; with "auto" only if rows suffice."""
    target, settings = fitted.target, fitted.settings
    rows = read_rows(X, y, sample_weight, fitted.learned.read, **request.target_checks)
    rows = replace(rows, y=target.encode(rows.y))
    if len(rows.y) < 2 * CALIBRATION_FOLDS:
        return fitted  # "auto": if it was asked for, the fit has refused them
    processes = current_processes()
    drawn = int(check_random_state(request.random_state).randint(2**31 - 1))
    seed = processes.from_first(lambda: drawn)
    alone = _request_for_folds(request, fitted, is_quick=how == "auto")
    outputs, truth = [], []
    for seen, apart in _folds(rows.y, seed, is_classification=target.is_classification):
        part = train(alone, target, rows.take(seen), None, seed)
        held = rows.take(apart)
        batches = part.learned.batches(held.samples, settings.device)
        size = settings.training.batch_size
        outputs.append(np.stack([predict(module, batches, size) for module in part.modules]))
        truth.append(held.y)
        if how == "auto" and sum(rows.samples.sizes) > CHEAP:
            break
    target, temperature = target.calibrated(np.concatenate(outputs, axis=1), np.concatenate(truth))
    for module in fitted.modules if temperature != 1 else []:
        _divide_outputs(module, temperature)
    return replace(fitted, target=target)


def _request_for_folds(request: Request, fitted: Fitted, *, is_quick: bool) -> Request:
    """Return what the fit was asked, with the settings found, in silence.

    All members are trained, as their mean errs less than one of them, or only one to be quick.
    """
    n_members = 1 if is_quick else fitted.settings.n_members
    given = {**request.given, **({} if fitted.choice is None else fitted.choice.settings)}
    return replace(
        request,
        settings=replace(fitted.settings, n_members=n_members, verbose=0),
        given=given,
        is_open=False,
        past=None,
        checkpoint=None,
        after_epoch=None,
    )


def _folds(
    y: np.ndarray, seed: int, *, is_classification: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the rows to train on and the rows to predict, stratified where classes allow it."""
    is_balanced = is_classification and np.bincount(y).min() >= CALIBRATION_FOLDS
    kind = StratifiedKFold if is_balanced else KFold
    return kind(CALIBRATION_FOLDS, shuffle=True, random_state=seed).split(np.empty(len(y)), y)


def _divide_outputs(network: nn.Module, temperature: float) -> None:
    """Divide the outputs by a temperature: the last layer is linear."""
    assert isinstance(network, Network)
    last = network.dense[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.div_(temperature)
        last.bias.div_(temperature)
