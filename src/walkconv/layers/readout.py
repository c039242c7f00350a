"""One value of each channel for a whole graph."""

from typing import Literal

import torch
from torch import Tensor, nn

from walkconv._checks import check_option


class GraphReadout(nn.Module):
    """The sum, its logarithm, the mean or the maximum over all nodes of a graph, by channel.

    Parameters
    ----------
    reduce : "sum", "log_sum", "mean" or "max", default "mean"
        "log_sum" is ``sign(s) * log(1 + |s|)`` of the sum s: for graphs of very different sizes,
        where the size matters but must not drown the rest.

    Shape
    -----
    Input (M, n_nodes, c), output (M, c). For a batch of graphs of different sizes the nodes stand
    one below the other: input (n_nodes, c) and `sizes` (n_graphs,), output (n_graphs, c).

    Examples
    --------
    >>> import torch
    >>> from walkconv import GraphReadout
    >>> x = torch.tensor([[1.0], [3.0], [10.0]])
    >>> GraphReadout("mean")(x, torch.tensor([2, 1]))
    tensor([[ 2.],
            [10.]])
    """

    def __init__(self, reduce: Literal["sum", "log_sum", "mean", "max"] = "mean"):
        super().__init__()
        self.reduce = check_option(reduce, "reduce", ["sum", "log_sum", "mean", "max"])

    def forward(self, x: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Return what is kept of each graph."""
        if sizes is None:
            if x.ndim != 3:
                raise ValueError(f"x must have shape (M, n_nodes, c); got {tuple(x.shape)}.")
            reduced = getattr(x, "amax" if self.reduce == "max" else self._over_nodes)(dim=1)
            return self._scaled(reduced)
        if x.ndim != 2 or int(sizes.sum()) != len(x):
            raise ValueError(
                f"x must have shape (n_nodes, c) with n_nodes = {int(sizes.sum())}, the sum of the "
                f"sizes; got {tuple(x.shape)}."
            )
        return self._scaled(torch.segment_reduce(x, self._over_nodes, lengths=sizes, axis=0))

    @property
    def _over_nodes(self) -> str:
        return self.reduce.removeprefix("log_")

    def _scaled(self, reduced: Tensor) -> Tensor:
        if self.reduce != "log_sum":
            return reduced
        # Of the two parts only `clamp` passes a gradient on at 0, where the slope is 1.
        return reduced.clamp(min=0).log1p() - (-reduced).relu().log1p()

    def extra_repr(self) -> str:
        """Describe the layer where a model is printed."""
        return f"reduce={self.reduce!r}"
