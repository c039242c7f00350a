"""The graph convolution as a module, and what all layers with tables of a graph share."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from walkconv._checks import check_integer, check_option, check_parameters, describe
from walkconv.conv import graph_conv
from walkconv.walks import Neighbors


class LayerWithTables(nn.Module):
    """A layer whose buffers are tables of its graph, kept out of ``state_dict``.

    Nothing could bring their values back, so the layer does not part with them: ``to_empty``
    empties its filters alone, and on the meta device its tables stay where they were.
    """

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Apply `fn` as torch does, but to a table only its new place and type."""
        tables = [table for table in self._buffers.values() if table is not None]

        def apply(tensor: Tensor) -> Tensor:
            if not any(tensor is table for table in tables):
                return fn(tensor)
            goal = fn(tensor.flatten()[:0])
            return tensor.to(goal.dtype) if goal.is_meta else tensor.to(goal)

        return super()._apply(apply, recurse)


def beside(x: Tensor, table: Tensor) -> Tensor:
    """Return the table on the device of x: those of a layer on the meta device are elsewhere."""
    return table if table.device == x.device else table.to(x.device)


class GraphConv(LayerWithTables):
    """A convolution over the neighbours of every node, weights shared by rank.

    The filters belong to the layer, the neighbours to the graph: the table does not enter
    ``state_dict``, so filters trained on one graph load into a layer on another, and it is not
    lost with them: a layer from the meta device needs nothing but filters.

    Parameters
    ----------
    c_in, c_out : int
        Channels of a node before and after.
    neighbors : Neighbors or int
        From `select_neighbors`, or the number of neighbours alone: then every call brings a table
        of its own, for samples that have a graph each.
    weighting : "rank" or "signed_visits", default "rank"
        "rank" is the paper's Conv1. "signed_visits" is its Conv2: each neighbour is multiplied by
        the sign of its edge and its expected visits.
    bias : bool, default True
        Whether every filter has a bias.
    device, dtype
        Of the filters, as in torch's own layers.

    Attributes
    ----------
    weight : Parameter of shape (n_neighbors, c_in, c_out)
    bias : Parameter of shape (c_out,) or None

    Shape
    -----
    Input (..., n_nodes, c_in), output (..., n_nodes, c_out). Tables of the graphs of a batch may
    stand one below the other, indices shifted: nodes (n_nodes, c_in) and `index` (n_nodes, p).

    Examples
    --------
    >>> import torch
    >>> from walkconv import GraphConv, grid_graph, select_neighbors
    >>> neighbors = select_neighbors(grid_graph((4, 4)), n_neighbors=5)
    >>> layer = GraphConv(1, 8, neighbors)
    >>> layer(torch.zeros(32, 16, 1)).shape
    torch.Size([32, 16, 8])
    >>> wider = select_neighbors(grid_graph((9, 9)), n_neighbors=5)
    >>> _ = GraphConv(1, 8, wider).load_state_dict(layer.state_dict())
    """

    index: Tensor | None
    scale: Tensor | None

    def __init__(
        self,
        c_in: int,
        c_out: int,
        neighbors: Neighbors | int,
        *,
        weighting: Literal["rank", "signed_visits"] = "rank",
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        if not isinstance(neighbors, Neighbors | Integral):
            raise TypeError(
                "neighbors must come from select_neighbors, or be their number; "
                f"got {describe(neighbors)}. For your own table use "
                "GraphConv(c_in, c_out, p)(x, index)."
            )
        self.c_in = check_integer(c_in, "c_in", minimum=1)
        self.c_out = check_integer(c_out, "c_out", minimum=1)
        self.weighting = check_option(weighting, "weighting", ["rank", "signed_visits"])
        is_fixed = isinstance(neighbors, Neighbors)
        n_neighbors = neighbors.index.shape[1] if is_fixed else neighbors
        n_neighbors = check_integer(n_neighbors, "neighbors", minimum=1)
        shape = (n_neighbors, self.c_in, self.c_out)
        if not torch.empty(0, device=device).is_meta:  # a loaded model has its weights
            check_parameters(*shape, layer=f"C{self.c_out}")
        self.weight = nn.Parameter(torch.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = nn.Parameter(torch.empty(self.c_out, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        index = scale = None
        if is_fixed:
            place = torch.device("cpu") if self.weight.is_meta else self.weight.device
            index = torch.tensor(neighbors.index, device=place)
            if self.weighting == "signed_visits":
                scale = torch.tensor(
                    neighbors.sign * neighbors.visits, device=place, dtype=self.weight.dtype
                )
        self.register_buffer("index", index, persistent=False)
        self.register_buffer("scale", scale, persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the filters again, uniform with the bound of torch's convolutions."""
        bound = 1.0 / math.sqrt(self.weight.shape[0] * self.c_in)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        scale: Tensor | None = None,
        *,
        missing: Tensor | None = None,
    ) -> Tensor:
        """Return the convolution (..., n_nodes, c_out) of x (..., n_nodes, c_in).

        `index` and, for "signed_visits", `scale` (n_nodes, n_neighbors) are the table of this call
        where the layer has none of its own. `missing` (..., n_nodes, c_in) is True where a value of
        x is missing; the value itself, often NaN, does not matter. The sum over the values present
        is multiplied by the number of values in the filled slots over the number of those present,
        so its size does not depend on how many are missing. A node none of whose neighbours is
        present has the bias alone.
        """
        if (index is None) == (self.index is None):
            given = "none" if index is None else "a second one"
            raise ValueError(
                f"The layer needs one table of neighbours, its own or yours; got {given}."
            )
        if index is None:
            index, scale = self.index, self.scale
        elif (scale is None) == (self.weighting == "signed_visits"):
            raise ValueError(
                f"scale must be given with weighting='signed_visits' and only then; "
                f"weighting is {self.weighting!r}."
            )
        assert index is not None
        if x.ndim < 2 or tuple(x.shape[-2:]) != (index.shape[-2], self.c_in):
            raise ValueError(
                f"x must have shape (..., n_nodes, c_in) = (..., {index.shape[-2]}, {self.c_in}); "
                f"got {tuple(x.shape)}."
            )
        if missing is None:
            return graph_conv(x, index, self.weight, self.bias, scale)
        return self._convolve_present(x, beside(x, index), scale, missing)

    def _convolve_present(
        self, x: Tensor, index: Tensor, scale: Tensor | None, missing: Tensor
    ) -> Tensor:
        present = (~missing).to(x.dtype)
        ones = x.new_ones(self.weight.shape[0], self.c_in, 1)
        n_present = graph_conv(present, index, ones)  # (..., n_nodes, 1)
        n_filled = self.c_in * (index >= 0).sum(dim=-1, keepdim=True)
        over_present = graph_conv(x.masked_fill(missing, 0), index, self.weight, None, scale)
        out = over_present * (n_filled / n_present.clamp(min=1))
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        """Describe the layer where a model is printed."""
        n_neighbors = self.weight.shape[0]
        n_nodes = "any" if self.index is None else len(self.index)
        return (
            f"{self.c_in}, {self.c_out}, n_nodes={n_nodes}, n_neighbors={n_neighbors}, "
            f"weighting={self.weighting!r}, bias={self.bias is not None}"
        )
