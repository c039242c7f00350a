"""Pooling over groups of nodes as a module."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from walkconv._checks import as_array, check_option, describe
from walkconv.layers.largest import largest_of_groups
from walkconv.layers.tables import LayerWithTables, beside


class GraphPool(LayerWithTables):
    """The maximum or the mean of every group of nodes, channel by channel.

    Parameters
    ----------
    groups : Coarsening, or array of shape (n_nodes,), integers
        From `coarsen`, or the group of each node, from 0 without gaps.
    reduce : "max" or "mean", default "max"
        The gradient of a maximum goes to the first of equal values, in the order of the nodes.

    Shape
    -----
    Input (..., n_nodes, c), output (..., n_groups, c).

    Examples
    --------
    >>> import torch
    >>> from walkconv import GraphPool, coarsen, grid_graph
    >>> pool = GraphPool(coarsen(grid_graph((4, 4))))
    >>> pool(torch.arange(16.0).reshape(1, 16, 1)).flatten()
    tensor([ 5.,  7., 13., 15.])
    """

    start: Tensor
    member: Tensor
    group: Tensor

    def __init__(self, groups: Any, *, reduce: Literal["max", "mean"] = "max"):
        super().__init__()
        self.reduce = check_option(reduce, "reduce", ["max", "mean"])
        groups = check_groups(groups)
        sizes = np.bincount(groups)
        self.n_nodes, self.n_groups, self.n_turns = len(groups), len(sizes), int(sizes.max())
        tables = {
            "group": groups,
            "member": np.argsort(groups, kind="stable"),
            "start": np.concatenate([[0], np.cumsum(sizes)]),
        }
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(table), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the pooled values (..., n_groups, c) of x (..., n_nodes, c)."""
        if x.ndim < 2 or x.shape[-2] != self.n_nodes:
            raise ValueError(
                f"x must have shape (..., n_nodes, c) with n_nodes = {self.n_nodes}; "
                f"got {tuple(x.shape)}."
            )
        if x.device != self.start.device and not x.is_meta:
            raise ValueError(
                f"x must be on the device of the layer, {self.start.device}; got {x.device}."
            )
        start = beside(x, self.start)
        if self.reduce == "max":
            return largest_of_groups(x, start, beside(x, self.member), self.n_turns)
        zeros = x.new_zeros(*x.shape[:-2], self.n_groups, x.shape[-1])
        return zeros.index_add(-2, beside(x, self.group), x) / start.diff()[:, None]

    def extra_repr(self) -> str:
        """Describe the layer where a model is printed."""
        return f"{self.n_nodes} -> {self.n_groups}, reduce={self.reduce!r}"


def check_groups(groups: Any) -> np.ndarray:
    """Return groups (n_nodes,) as int64: every number from 0 to the largest is used."""
    array = as_array(getattr(groups, "groups", groups), "groups")
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        raise ValueError(
            f"groups must be integers of shape (n_nodes,), one for each node; got {describe(array)}"
            f" of {array.dtype}."
        )
    used = np.unique(array)
    if used[0] != 0 or used[-1] != len(used) - 1:
        raise ValueError(
            f"groups must be numbered from 0 without gaps; got {len(used)} groups from "
            f"{used[0]} to {used[-1]}. np.unique(groups, return_inverse=True) numbers them anew."
        )
    return array.astype(np.int64)
