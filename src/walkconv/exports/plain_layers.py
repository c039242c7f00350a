"""The layers of a network in standard operators of torch, for prediction only.

Values are (m, n_nodes, n_channels) until they are flattened. Tables of the graph are buffers, and
they are part of ``state_dict``: unlike the layers that are trained, these belong to one graph.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

VALUES_AT_ONCE = 2**16
"""Most neighbours of a sample that a convolution gathers at once, times the channels.

400 neighbours of 4,505 columns are 1.8 million values: too many for a batch.
"""
FARTHEST = 1e6
"""Scaled values farther out, in units of the soft clip, are as good as clipped. Squares of these do
not overflow."""


class ScaledColumns(nn.Module):
    """Columns centred, divided by their deviation and softly clipped; NaN stays.

    The mean is subtracted in two parts. The second is the rounding error of the first: nothing is
    lost in columns that lie far from zero.

    Parameters
    ----------
    mean, deviation : ndarray of shape (n_columns, n_channels), float64
    soft_clip : float or None
    is_count : ndarray of shape (n_columns, n_channels), bool, optional
        Columns replaced by the logarithm of 1 + value beforehand.
    weight : ndarray of shape (n_columns, n_channels), float32, optional
        Factors of the columns afterwards.

    Shape
    -----
    Input (m, n_columns, n_channels), or (m, n_columns) if there is one channel. Output
    (m, n_columns, n_channels).
    """

    mean: Tensor
    rest: Tensor
    factor: Tensor
    is_count: Tensor | None
    weight: Tensor | None

    def __init__(
        self,
        mean: np.ndarray,
        deviation: np.ndarray,
        soft_clip: float | None,
        *,
        is_count: np.ndarray | None = None,
        weight: np.ndarray | None = None,
    ):
        super().__init__()
        has_counts = is_count is not None and bool(is_count.any())
        self.register_buffer("is_count", torch.from_numpy(is_count) if has_counts else None)
        self.register_buffer("weight", None if weight is None else torch.from_numpy(weight))
        self.soft_clip = soft_clip
        rounded = single(mean, "The means of the columns")
        self.register_buffer("mean", rounded)
        self.register_buffer("rest", torch.from_numpy(mean - rounded.numpy()).float())
        with np.errstate(over="ignore"):
            self.register_buffer("factor", single(1 / deviation, "The inverse deviations"))

    def forward(self, x: Tensor) -> Tensor:
        """Return the scaled columns."""
        n_columns, n_channels = self.mean.shape
        if x.ndim == 2 and n_channels == 1:
            x = x[:, :, None]
        if x.ndim != 3 or tuple(x.shape[1:]) != (n_columns, n_channels):
            channels = "" if n_channels == 1 else f", {n_channels}"
            raise ValueError(
                f"x must have shape (n_samples, {n_columns}{channels}); got {tuple(x.shape)}."
            )
        if self.is_count is not None:
            x = torch.where(self.is_count, x.sign() * x.abs().log1p(), x)
        # In double precision if x is, as in `predict`.
        scaled = (((x - self.mean) - self.rest) * self.factor).to(self.mean.dtype)
        if self.soft_clip is not None:
            farthest = FARTHEST * self.soft_clip
            scaled = scaled.clamp(-farthest, farthest)
            scaled = scaled / (1 + (scaled / self.soft_clip).square()).sqrt()
        return scaled if self.weight is None else scaled * self.weight


class FilledMissing(nn.Module):
    """Zero, the mean of a scaled column, in place of NaN."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the values without NaN."""
        return torch.where(x.isnan(), 0.0, x)


class Gathered(nn.Module):
    """Some slots of the neighbours of every node, side by side.

    Parameters
    ----------
    index : ndarray of shape (n_nodes, n_slots), int64
        -1 is an empty slot.
    n_channels : int
    empty : float
        The value of an empty slot.
    scale : ndarray of shape (n_nodes, n_slots), optional
        Factor for each slot.

    Shape
    -----
    Input (m, n_nodes, n_channels), output (m, n_nodes, n_slots * n_channels).
    """

    index: Tensor
    scale: Tensor | None

    def __init__(
        self, index: np.ndarray, n_channels: int, empty: float, scale: np.ndarray | None = None
    ):
        super().__init__()
        self.n_nodes, n_slots = index.shape
        self.width, self.empty = n_slots * n_channels, empty
        self.has_empty = bool((index < 0).any())
        # An empty slot reads a node behind the last one.
        filled = np.where(index < 0, self.n_nodes, index).ravel()
        self.register_buffer("index", torch.from_numpy(filled))
        each = None if scale is None else np.repeat(scale, n_channels, axis=1)
        self.register_buffer("scale", None if each is None else torch.from_numpy(each).float())

    def forward(self, x: Tensor) -> Tensor:
        """Return the neighbours."""
        if self.has_empty:
            x = functional.pad(x, (0, 0, 0, 1), value=self.empty)
        gathered = x.index_select(1, self.index).reshape(-1, self.n_nodes, self.width)
        return gathered if self.scale is None else gathered * self.scale


class PlainConvolution(nn.Module):
    """A graph convolution as gathering and matrix products.

    Parameters
    ----------
    index : ndarray of shape (n_nodes, p), int64
        -1 is an empty slot.
    weight : ndarray of shape (p, c_in, c_out)
    bias : ndarray of shape (c_out,)
    scale : ndarray of shape (n_nodes, p) or None
        Factor for each slot.
    counts_missing : bool
        Whether the input may hold NaN: as in `GraphConv`, the sum over the values present is then
        multiplied by the number of values in the filled slots over the number of those present.

    Shape
    -----
    Input (m, n_nodes, c_in), output (m, n_nodes, c_out).
    """

    n_filled: Tensor | None

    def __init__(
        self,
        index: np.ndarray,
        weight: np.ndarray,
        bias: np.ndarray,
        scale: np.ndarray | None,
        *,
        counts_missing: bool,
    ):
        super().__init__()
        n_slots, c_in, c_out = weight.shape
        self.counts_missing = counts_missing
        at_once = max(1, VALUES_AT_ONCE // (len(index) * c_in))
        parts = [slice(start, start + at_once) for start in range(0, n_slots, at_once)]
        empty = float("nan") if counts_missing else 0.0
        self.gathers = nn.ModuleList(
            Gathered(index[:, part], c_in, empty, None if scale is None else scale[:, part])
            for part in parts
        )
        self.widths = [c_in * len(weight[part]) for part in parts]
        self.weight = frozen(weight.reshape(-1, c_out))
        self.bias = frozen(bias)
        n_filled = c_in * (index >= 0).sum(axis=1, keepdims=True)
        self.register_buffer("n_filled", torch.from_numpy(n_filled).float())

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution."""
        parts = zip(self.gathers, self.weight.split(self.widths), strict=True)
        total = n_present = None
        for gather, weight in parts:
            gathered = gather(x)
            if self.counts_missing:
                is_missing = gathered.isnan()
                count = (~is_missing).to(x.dtype).sum(dim=-1, keepdim=True)
                n_present = count if n_present is None else n_present + count
                gathered = torch.where(is_missing, 0.0, gathered)
            product = gathered @ weight
            total = product if total is None else total + product
        assert total is not None
        if n_present is not None:
            total = total * (self.n_filled / n_present.clamp(min=1))
        return total + self.bias


class PlainPooling(nn.Module):
    """The maximum or the mean of every group of nodes.

    Parameters
    ----------
    member : ndarray of shape (n_groups, largest), int64
        The nodes of each group; -1 where a group has fewer than the largest.
    reduce : "max" or "mean"

    Shape
    -----
    Input (m, n_nodes, c), output (m, n_groups, c).
    """

    member: Tensor
    share: Tensor | None

    def __init__(self, member: np.ndarray, reduce: str):
        super().__init__()
        self.reduce = reduce
        self.n_groups, self.largest = member.shape
        # A gap repeats the first node: this changes no maximum, and has no share of the mean.
        repeated = np.where(member < 0, member[:, :1], member).ravel()
        self.register_buffer("member", torch.from_numpy(repeated))
        share = None
        if reduce == "mean":
            is_node = member >= 0
            share = torch.from_numpy(is_node / is_node.sum(axis=1, keepdims=True)).float()[
                ..., None
            ]
        self.register_buffer("share", share)

    def forward(self, x: Tensor) -> Tensor:
        """Return the pooled values."""
        members = x.index_select(1, self.member).unflatten(1, (self.n_groups, self.largest))
        if self.share is None:
            return members.amax(dim=2)
        return (members * self.share).sum(dim=2)


def frozen(values: np.ndarray) -> nn.Parameter:
    """Return weights in single precision that need no gradient."""
    return nn.Parameter(torch.from_numpy(values).float().contiguous(), requires_grad=False)


def single(values: np.ndarray, what: str) -> Tensor:
    """Return values in single precision, or raise an error if they do not fit."""
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
    if not np.isfinite(rounded).all():
        raise ValueError(
            f"{what} must be numbers that float32 can hold, up to 3.4e38, to be exported; the "
            f"largest is {np.abs(values).max():g}. Multiply the column by a constant and fit again."
        )
    return torch.from_numpy(rounded)
