"""One value of each channel for a whole graph."""

from typing import Literal

import torch
from torch import Tensor, nn

from walkconv._checks import check_option


class GraphReadout(nn.Module):
    """The sum, mean or maximum over all nodes of a graph, channel by channel.

    Parameters
    ----------
    reduce : "sum", "mean" or "max", default "mean"

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

    def __init__(self, reduce: Literal["sum", "mean", "max"] = "mean"):
        super().__init__()
        self.reduce = check_option(reduce, "reduce", ["sum", "mean", "max"])

    def forward(self, x: Tensor, sizes: Tensor | None = None) -> Tensor:
        """Return what is kept of each graph."""
        if sizes is None:
            if x.ndim != 3:
                raise ValueError(f"x must have shape (M, n_nodes, c); got {tuple(x.shape)}.")
            return getattr(x, "amax" if self.reduce == "max" else self.reduce)(dim=1)
        if x.ndim != 2 or int(sizes.sum()) != len(x):
            raise ValueError(
                f"x must have shape (n_nodes, c) with n_nodes = {int(sizes.sum())}, the sum of the "
                f"sizes; got {tuple(x.shape)}."
            )
        return torch.segment_reduce(x, self.reduce, lengths=sizes, axis=0)

    def extra_repr(self) -> str:
        """Describe the layer where a model is printed."""
        return f"reduce={self.reduce!r}"
