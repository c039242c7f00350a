"""What training lowers, and what tells how well it goes: the loss and the validation score."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from walkconv.estimators.inputs import Rows
from walkconv.estimators.kinds import make_table
from walkconv.estimators.settings import Settings
from walkconv.models.table import predict
from walkconv.models.training import BatchLoss, Score


def batch_loss(model: Any, rows: Rows, device: torch.device) -> BatchLoss:
    """Return the weighted mean loss of a model's outputs for some of the rows."""
    target = torch.from_numpy(rows.y)
    weight = model._loss_weight(rows)
    share = torch.from_numpy((weight / weight.mean()).astype(np.float32))

    def loss(outputs: Tensor, batch: Tensor) -> Tensor:
        losses = model._row_losses(outputs, target[batch].to(device))
        return (losses * share[batch].to(device)).mean()

    return loss


def scorer(model: Any, rows: Rows, settings: Settings) -> Score:
    """Return the score of a network of the model on validation rows, NaN where it overflows."""
    if len(rows.y) < 2:
        raise ValueError(
            f"There must be at least two validation rows; got {len(rows.y)}. "
            "Raise validation_fraction or give validation_data."
        )
    table = make_table(model, rows.X, settings.device, model.clip)
    batch_size = settings.training.batch_size

    def score(network: nn.Module) -> float:
        outputs = predict(network, table, batch_size)
        return model._score_outputs(outputs, rows) if np.isfinite(outputs).all() else np.nan

    return score
