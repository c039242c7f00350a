"""Samples as batches, and the outputs of a network for all of them."""

from typing import Any, Protocol

import numpy as np
import torch

ROWS_AT_ONCE = 128


class Batches(Protocol):
    """Samples that a network takes a batch at a time."""

    device: torch.device

    def __len__(self) -> int: ...

    def shuffled(self) -> np.ndarray:
        """Return the numbers (n_samples,) of all samples in an order drawn by torch."""
        ...

    def batch(self, rows: np.ndarray | slice) -> tuple[Any, ...]:
        """Return some samples as the arguments of the network."""
        ...


@torch.inference_mode()
def predict(network: torch.nn.Module, table: Batches, batch_size: int | None = None) -> np.ndarray:
    """Return the outputs (n_samples, n_outputs) of a network for all samples, float32."""
    batch_size = batch_size or ROWS_AT_ONCE
    network.eval()
    starts = range(0, len(table), batch_size)
    outputs = [network(*table.batch(slice(start, start + batch_size))).cpu() for start in starts]
    return torch.cat(outputs).float().numpy()
