"""Integrated gradients: the difference to a baseline, shared out among the inputs of a network.

Between a baseline b and a sample x the value F of a network changes by F(x) - F(b). Input i gets

    integral over t from 0 to 1 of  dF/dx_i (b + t (x - b)) (x_i - b_i)

of it. These shares sum to the whole difference, whatever the network. Several baselines give the
mean of their shares (expected gradients). The path is straight in what the network sees, that is in
scaled and clipped values. Scaling and clipping treat each column alone, so the share of a scaled
column is the share of the column.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from walkconv.networks import GraphBatch
from walkconv.training.batches import ROWS_AT_ONCE, Batches

Value = Callable[[Tensor, Tensor], Tensor]
"""(outputs (m, n_outputs), numbers of the samples (m,)) -> the value (m,) to share out."""
MOST_POINTS = 2048
"""Of a path, where fewer miss the tolerance."""
VALUES_AT_ONCE = 2**18
"""Inputs of a pass: of a small table it takes many points of a path together."""


@dataclass(frozen=True, eq=False)
class Attributions:
    """The shares of the inputs in the difference between each sample and the baseline.

    Attributes
    ----------
    shares : list of ndarray of shape (n_networks, n_nodes, n_channels), float64
        One array for each sample.
    difference : ndarray of shape (n_samples,), float64
        Value of the sample minus mean value of the baselines, averaged over the networks.
    """

    shares: list[np.ndarray]
    difference: np.ndarray


def attribute(
    networks: Sequence[nn.Module],
    batches: Batches,
    sizes: Sequence[int],
    value: Value,
    *,
    baseline: Tensor | None = None,
    n_points: int = 32,
    tolerance: float = 0.01,
) -> Attributions:
    """Return the shares of all inputs in the value of every sample.

    A missing value has no path. Hiding it changes the value at the baseline; the missing values of
    a sample share this change equally.

    Parameters
    ----------
    networks : sequence of Module
        The ensemble members, each from scaled samples to outputs.
    batches : Batches
        The samples.
    sizes : sequence of int
        Number of nodes of each sample.
    value : callable
        What is shared out: one number for each sample, made of the outputs.
    baseline : Tensor of shape (n_baselines, n_nodes, n_channels), optional
        What the samples are compared with, scaled. By default one that is 0 everywhere, the mean
        of each column.
    n_points : int, default 32
        Points of a path. Where the shares, averaged over the networks, miss the difference by more
        than `tolerance` times the largest difference of all samples, the integral is repeated with
        twice the points, up to 2,048.
    tolerance : float, default 0.01

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from walkconv.tables.scaling import no_scaling
    >>> from walkconv.estimators.table_samples import TableBatches
    >>> from walkconv.inspection import attribute
    >>> X = np.array([[1.0, 2.0]])
    >>> batches = TableBatches(X, no_scaling(X), None, torch.device("cpu"))
    >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(2, 1))
    >>> _ = torch.nn.init.constant_(network[1].weight, 3.0)
    >>> found = attribute([network], batches, [2], lambda outputs, rows: outputs[:, 0])
    >>> found.shares[0][0, :, 0]
    array([3., 6.])
    """
    n_samples = len(batches)
    shares: list[np.ndarray] = [np.empty(0)] * n_samples
    difference, error = np.zeros(n_samples), np.zeros(n_samples)
    with torch.inference_mode(False), torch.enable_grad():
        members = [_Paths(network, batches, value, baseline) for network in networks]
        for rows in _pieces(np.arange(n_samples)):
            difference[rows] = np.mean([paths.differences(rows) for paths in members], axis=0)
        allowed = tolerance * np.abs(difference).max(initial=0.0)
        remaining = np.arange(n_samples)
        while len(remaining):
            for rows in _pieces(remaining):
                found = np.stack([paths.integrals(rows, n_points) for paths in members])
                ends = np.cumsum([sizes[row] for row in rows])[:-1]
                for row, part in zip(rows, np.split(found, ends, axis=1), strict=True):
                    shares[row] = part
                    error[row] = part.sum() / len(networks) - difference[row]
            n_points *= 2
            is_wrong = np.abs(error[remaining]) > allowed
            remaining = remaining[is_wrong] if n_points <= MOST_POINTS else remaining[:0]
    return Attributions(shares, difference)


class _Paths:
    """The paths of one network from the baselines to the samples."""

    def __init__(self, network: nn.Module, batches: Batches, value: Value, baseline: Tensor | None):
        self.network, self.batches, self.value = network.eval(), batches, value
        self.baseline = baseline
        # Without the parameters there is nothing to differentiate but the inputs.
        self.weights = {name: tensor.detach() for name, tensor in network.state_dict().items()}

    def differences(self, rows: np.ndarray) -> np.ndarray:
        """Return the value of each sample minus the mean value of the baselines, (m,)."""
        x, missing, graphs = self._inputs(rows)
        with torch.no_grad():
            bases = [self._values(rows, base, None, graphs) for base in self._bases(x)]
            values = self._values(rows, x, missing, graphs)
            return _numbers(values - torch.stack(bases).mean(dim=0))

    def integrals(self, rows: np.ndarray, n_points: int) -> np.ndarray:
        """Return the shares (all nodes of the samples, n_channels), mean over the baselines."""
        x, missing, graphs = self._inputs(rows)
        places = (torch.arange(n_points, device=x.device, dtype=x.dtype) + 0.5) / n_points
        at_once = 1 if graphs is not None else max(1, VALUES_AT_ONCE // x.numel())
        total, bases = np.zeros((x.shape[:-1].numel(), x.shape[-1])), self._bases(x)
        for base in bases:
            step = x - base if missing is None else (x - base).masked_fill(missing, 0)
            for some in places.split(at_once):
                slope = self._slope(rows, base, step, some, missing, graphs)
                total += _numbers(slope * step).reshape(total.shape) / n_points
            if missing is not None:
                total += self._hidden(rows, base, missing).reshape(total.shape)
        return total / len(bases)

    def _slope(
        self,
        rows: np.ndarray,
        base: Tensor,
        step: Tensor,
        places: Tensor,
        missing: Tensor | None,
        graphs: GraphBatch | None,
    ) -> Tensor:
        """Return the sum of the gradients of x at some places of the paths."""
        n = len(places)
        here = (base + places.view(n, *[1] * base.ndim) * step).flatten(0, 1).requires_grad_()
        is_missing = None if missing is None else missing.repeat(n, 1, 1)
        values = self._values(np.tile(rows, n), here, is_missing, graphs)
        (slopes,) = torch.autograd.grad(values.sum(), here)
        return slopes.view(n, *base.shape).sum(dim=0)

    def _inputs(self, rows: np.ndarray) -> tuple[Tensor, Tensor | None, GraphBatch | None]:
        """Return x, a mask of what is missing, and the graphs if samples are graphs."""
        first, *others = self.batches.batch(rows)
        if isinstance(first, GraphBatch):
            return first.x, None, first
        return first, others[0] if others else None, None

    def _values(
        self, rows: np.ndarray, x: Tensor, missing: Tensor | None, graphs: GraphBatch | None
    ) -> Tensor:
        """Return the value (m,) of samples with other inputs x."""
        inputs = (x if graphs is None else replace(graphs, x=x),)
        inputs += () if missing is None else (missing,)
        outputs = functional_call(self.network, self.weights, inputs)
        return self.value(outputs, torch.from_numpy(rows).to(x.device))

    def _bases(self, x: Tensor) -> list[Tensor]:
        """Return the baselines, each as many times as there are samples."""
        if self.baseline is None:
            return [torch.zeros_like(x)]
        return [base.expand_as(x) for base in self.baseline]

    def _hidden(self, rows: np.ndarray, base: Tensor, missing: Tensor) -> np.ndarray:
        """Return what hiding values at the baseline changes, in equal parts where they are."""
        with torch.no_grad():
            hidden = self._values(rows, base, missing, None)
            change = _numbers(hidden - self._values(rows, base, None, None))
        is_hidden = missing.cpu().numpy()
        n_hidden = np.maximum(is_hidden.sum(axis=(1, 2)), 1)
        return is_hidden * (change / n_hidden)[:, None, None]


def _pieces(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def _numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()
