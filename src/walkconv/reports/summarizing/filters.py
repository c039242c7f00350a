"""The filters of the first convolution."""

from typing import Any

import numpy as np
import torch
from torch import nn

from walkconv.reports.summarizing.model import FittedModel
from walkconv.reports.summarizing.plain import plain_numbers
from walkconv.walks import slot_offsets

MOST_FILTERS = 24
MOST_CHANNELS = 16
MOST_SLOTS = 64


def first_weights(module: nn.Module) -> np.ndarray | None:
    """Return the weights (n_slots, n_channels, n_filters) of the first convolution, if known."""
    convolutions = getattr(module, "convolutions", None) or []
    weight = getattr(convolutions[0], "weight", None) if len(convolutions) else None
    if not isinstance(weight, torch.Tensor) or weight.ndim != 3:
        return None
    return weight.detach().cpu().double().numpy()


def summarize_filters(model: FittedModel) -> dict[str, Any] | None:
    """Return the filters of the first convolution of the first member, strongest first."""
    weight = first_weights(model.module_)
    if weight is None:
        return None
    n_slots, n_channels, n_filters = weight.shape
    offsets = None
    if model.positions_ is not None:
        offsets = slot_offsets(n_slots, n_dims=model.positions_.shape[1])[:MOST_SLOTS].tolist()
    # Filters that training has set to almost nothing come last.
    strength = np.abs(weight).max(axis=(0, 1))
    order = np.argsort(-strength, kind="stable")[:MOST_FILTERS]
    shown = weight[:MOST_SLOTS, :MOST_CHANNELS][:, :, order]  # (slots, channels, filters)
    return {
        "n_slots": n_slots,
        "n_channels": n_channels,
        "n_filters": n_filters,
        "offsets": offsets,
        "filters": [
            {
                "number": int(number) + 1,
                "weights": [
                    plain_numbers(shown[:, channel, place], 3) for channel in range(shown.shape[1])
                ],
            }
            for place, number in enumerate(order)
        ],
    }
