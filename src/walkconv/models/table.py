"""The rows of a table as tensors, a batch at a time."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from walkconv.models.scaling import Scaling


class Table:
    """Rows of X, densified and scaled when they are asked for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), or CSR
    scaling : Scaling
    device : torch.device
    """

    def __init__(self, X: np.ndarray | sp.csr_array, scaling: Scaling, device: torch.device):
        self.X = X
        self.scaling = scaling
        self.device = device

    def __len__(self) -> int:
        return self.X.shape[0]

    def batch(self, rows: np.ndarray | slice) -> tuple[Tensor, Tensor | None]:
        """Return the rows (m, n_nodes, n_channels), and where they are missing if any is."""
        picked = self.X[rows]
        values = picked if isinstance(picked, np.ndarray) else picked.toarray()
        scaled = self.scaling.scale(values.reshape(len(values), *self.scaling.mean.shape))
        missing = np.isnan(scaled)
        x = torch.from_numpy(scaled).to(self.device)
        return x, torch.from_numpy(missing).to(self.device) if missing.any() else None


@torch.inference_mode()
def predict(network: torch.nn.Module, table: Table, batch_size: int) -> np.ndarray:
    """Return the outputs (n_samples, n_outputs) of a network for all rows, float32."""
    network.eval()
    starts = range(0, len(table), batch_size)
    outputs = [network(*table.batch(slice(start, start + batch_size))).cpu() for start in starts]
    return torch.cat(outputs).numpy()
