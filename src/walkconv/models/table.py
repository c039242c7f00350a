"""The rows of a table as tensors, a batch at a time."""

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from walkconv.models.scaling import Scaling

ROWS_AT_ONCE = 128


class Batches(Protocol):
    """Samples that a network takes a batch at a time."""

    device: torch.device

    def __len__(self) -> int: ...

    def batch(self, rows: np.ndarray | slice) -> tuple[Any, ...]:
        """Return some samples as the arguments of the network."""
        ...


class Table:
    """Rows of X, densified and scaled when they are asked for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), or CSR
    scaling : Scaling
    clip : float or None
        Values z beyond about so many deviations are pulled in: ``z / sqrt(1 + (z / clip)^2)``.
        A rare column has values a hundred deviations from its mean; as they are, they rule.
    device : torch.device
    """

    def __init__(
        self,
        X: np.ndarray | sp.csr_array,
        scaling: Scaling,
        clip: float | None,
        device: torch.device,
    ):
        self.X = X
        self.scaling = scaling
        self.clip = clip
        self.device = device

    def __len__(self) -> int:
        return self.X.shape[0]

    def values(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return rows (m, n_nodes, n_channels) as they came."""
        picked = self.X[rows]
        values = picked if isinstance(picked, np.ndarray) else picked.toarray()
        return values.reshape(len(values), *self.scaling.mean.shape)

    def batch(self, rows: np.ndarray | slice) -> tuple[Tensor, ...]:
        """Return the rows (m, n_nodes, n_channels) and, if a value is missing, a mask of those."""
        values = self.values(rows)
        if self.clip is None:
            scaled = self.scaling.scale(values)
        else:
            with np.errstate(over="ignore"):  # infinity is pulled in too
                scaled = _pull_in(self.scaling.scale(values), self.clip)
        missing = np.isnan(scaled)
        x = torch.from_numpy(scaled).to(self.device)
        return (x, torch.from_numpy(missing).to(self.device)) if missing.any() else (x,)


def _pull_in(scaled: np.ndarray, clip: float) -> np.ndarray:
    # At a million times the limit it is reached, and squares do not overflow yet.
    scaled = np.clip(scaled, -1e6 * clip, 1e6 * clip)
    return scaled / np.sqrt(1 + np.square(scaled / clip))


@torch.inference_mode()
def predict(network: torch.nn.Module, table: Batches, batch_size: int | None = None) -> np.ndarray:
    """Return the outputs (n_samples, n_outputs) of a network for all rows, float32."""
    batch_size = batch_size or ROWS_AT_ONCE
    network.eval()
    starts = range(0, len(table), batch_size)
    outputs = [network(*table.batch(slice(start, start + batch_size))).cpu() for start in starts]
    return torch.cat(outputs).numpy()
