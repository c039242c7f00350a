"""Pooling over groups of nodes as a module."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from walkconv._checks import as_array, check_option, describe
from walkconv.layers.conv import LayerWithTables, beside
from walkconv.layers.largest import largest_of_groups


@dataclass(frozen=True, eq=False)
class GroupTables:
    """Groups of nodes as the tables that pooling reads.

    Attributes
    ----------
    group : Tensor of shape (n_nodes,), int64
        The group of each node, from 0 without gaps.
    member : Tensor of shape (n_nodes,), int64
        The nodes, group by group.
    start : Tensor of shape (n_groups + 1,), int64
        Where each group begins in `member`.
    largest : int
        Nodes of the largest group.
    """

    group: Tensor
    member: Tensor
    start: Tensor
    largest: int

    def to(self, device: torch.device) -> "GroupTables":
        """Return the tables on a device."""
        group, member, start = (t.to(device) for t in (self.group, self.member, self.start))
        return GroupTables(group, member, start, self.largest)


def group_tables(groups: Any) -> GroupTables:
    """Return the tables of groups, given as `GraphPool` takes them."""
    groups = check_groups(groups)
    sizes = np.bincount(groups)
    return GroupTables(
        torch.from_numpy(groups),
        torch.from_numpy(np.argsort(groups, kind="stable")),
        torch.from_numpy(np.concatenate([[0], np.cumsum(sizes)])),
        int(sizes.max()),
    )


def join_group_tables(parts: Sequence[GroupTables]) -> GroupTables:
    """Return the groups of several graphs whose nodes are stacked in one table."""
    n_nodes = [len(part.member) for part in parts]
    n_groups = [len(part.start) - 1 for part in parts]
    shifts = list(zip(parts, _starts(n_nodes), _starts(n_groups), strict=True))
    return GroupTables(
        torch.cat([part.group + first_group for part, _, first_group in shifts]),
        torch.cat([part.member + first_node for part, first_node, _ in shifts]),
        torch.cat([parts[0].start[:1], *[p.start[1:] + first_node for p, first_node, _ in shifts]]),
        max(part.largest for part in parts),
    )


class GraphPool(LayerWithTables):
    """The maximum or the mean of every group of nodes, channel by channel.

    Parameters
    ----------
    groups : Coarsening, or array of shape (n_nodes,), integers; or None
        From `coarsen`, or the group of each node, from 0 without gaps. None if every call brings
        its own groups, for samples that have a graph each.
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

    start: Tensor | None
    member: Tensor | None
    group: Tensor | None

    def __init__(self, groups: Any, *, reduce: Literal["max", "mean"] = "max"):
        super().__init__()
        self.reduce = check_option(reduce, "reduce", ["max", "mean"])
        tables = None if groups is None else group_tables(groups)
        self.largest = 0 if tables is None else tables.largest
        for name in ("group", "member", "start"):
            table = None if tables is None else getattr(tables, name)
            self.register_buffer(name, table, persistent=False)

    @property
    def n_nodes(self) -> int | None:
        """Number of nodes, None where every call brings its own groups."""
        return None if self.member is None else len(self.member)

    @property
    def n_groups(self) -> int | None:
        """Number of groups, None where every call brings its own groups."""
        return None if self.start is None else len(self.start) - 1

    def forward(self, x: Tensor, tables: GroupTables | None = None) -> Tensor:
        """Return the pooled values (..., n_groups, c) of x (..., n_nodes, c).

        `tables` are the groups of this call where the layer has none of its own.
        """
        if tables is None:
            tables = self._own_tables()
        elif self.group is not None:
            raise ValueError("The layer needs one set of groups, its own or yours; got a second.")
        n_nodes, n_groups = len(tables.member), len(tables.start) - 1
        if x.ndim < 2 or x.shape[-2] != n_nodes:
            raise ValueError(
                f"x must have shape (..., n_nodes, c) with n_nodes = {n_nodes}; "
                f"got {tuple(x.shape)}."
            )
        if x.device != tables.start.device and not x.is_meta:
            raise ValueError(
                f"x must be on the device of the layer, {tables.start.device}; got {x.device}."
            )
        start = beside(x, tables.start)
        if self.reduce == "max":
            return largest_of_groups(x, start, beside(x, tables.member), tables.largest)
        zeros = x.new_zeros(*x.shape[:-2], n_groups, x.shape[-1])
        return zeros.index_add(-2, beside(x, tables.group), x) / start.diff()[:, None]

    def _own_tables(self) -> GroupTables:
        if self.group is None or self.member is None or self.start is None:
            raise ValueError(
                "The layer needs one set of groups, its own or yours; got none. Call it with the "
                "groups of this batch."
            )
        return GroupTables(self.group, self.member, self.start, self.largest)

    def extra_repr(self) -> str:
        """Describe the layer where a model is printed."""
        n_nodes, n_groups = ("any" if n is None else n for n in (self.n_nodes, self.n_groups))
        return f"{n_nodes} -> {n_groups}, reduce={self.reduce!r}"


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
            f"{used[0]} to {used[-1]}. np.unique(groups, return_inverse=True) numbers them again."
        )
    return array.astype(np.int64)


def _starts(sizes: Sequence[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]
