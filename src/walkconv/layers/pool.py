"""Pooling over groups of nodes as a module."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from walkconv._checks import as_array, check_option, describe


class GraphPool(nn.Module):
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

    nodes: Tensor
    row: Tensor
    turn: Tensor
    size: Tensor
    row_of_group: Tensor

    def __init__(self, groups: Any, *, reduce: Literal["max", "mean"] = "max"):
        super().__init__()
        self.reduce = check_option(reduce, "reduce", ["max", "mean"])
        groups = check_groups(groups)
        self.n_nodes, self.n_groups = len(groups), int(groups.max()) + 1
        self.counts, tables = take_turns(groups)
        for name, table in tables.items():
            self.register_buffer(name, torch.from_numpy(table), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the pooled values (..., n_groups, c) of x (..., n_nodes, c)."""
        if x.ndim < 2 or x.shape[-2] != self.n_nodes:
            raise ValueError(
                f"x must have shape (..., n_nodes, c) with n_nodes = {self.n_nodes}; "
                f"got {tuple(x.shape)}."
            )
        if self.reduce == "max":
            pooled, _ = Largest.apply(x, self.nodes, self.row, self.turn, self.counts)
        else:
            zeros = x.new_zeros(*x.shape[:-2], self.n_groups, x.shape[-1])
            pooled = zeros.index_add(-2, self.row, x) / self.size
        return pooled.index_select(-2, self.row_of_group)

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


def take_turns(groups: np.ndarray) -> tuple[list[int], dict[str, np.ndarray]]:
    """Return the nodes of every group in turn: all first members, then all second ones, ...

    The groups stand in rows, the largest first, so that every turn fills the rows from the top:
    no slot is empty, and nothing can leak from one.

    Returns
    -------
    counts : list of int
        Nodes of each turn.
    tables : dict of ndarray
        ``nodes`` (n_nodes,): the nodes by turn, then by row. ``row`` and ``turn`` (n_nodes,): the
        row of a node's group, and the node's turn in it. ``size`` (n_groups, 1): members of the
        group in each row. ``row_of_group`` (n_groups,).

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.layers.pool import take_turns
    >>> counts, tables = take_turns(np.array([0, 1, 0, 1, 1]))
    >>> counts, tables["nodes"].tolist(), tables["row_of_group"].tolist()
    ([2, 2, 1], [1, 0, 3, 2, 4], [1, 0])
    """
    sizes = np.bincount(groups)
    by_size = np.argsort(-sizes, kind="stable")
    row_of_group = np.empty_like(by_size)
    row_of_group[by_size] = np.arange(len(sizes))
    by_group = np.argsort(groups, kind="stable")
    turn = np.empty_like(groups)
    turn[by_group] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    row = row_of_group[groups]
    counts = np.bincount(turn).tolist()
    return counts, {
        "nodes": np.lexsort((row, turn)),
        "row": row,
        "turn": turn.astype(np.uint8 if len(counts) <= 256 else np.int64),
        "size": sizes[by_size][:, None],
        "row_of_group": row_of_group,
    }


class Largest(torch.autograd.Function):
    """The maximum of every row of `take_turns`, and the turn of the first node that has it.

    Written for speed on a CPU: a mask is a number here, since torch compares, adds and multiplies
    many times faster than it fills, gathers and scatters.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(
        x: Tensor, nodes: Tensor, row: Tensor, turn: Tensor, counts: list[int]
    ) -> tuple[Tensor, Tensor]:
        """Return maxima and turns, both (..., n_groups, c)."""
        first, *later = nodes.split(counts)
        largest = x.index_select(-2, first)
        winner = torch.zeros_like(largest, dtype=turn.dtype)
        for number, members in enumerate(later, start=1):
            values = x.index_select(-2, members)
            before = largest.narrow(-2, 0, len(members))
            won = winner.narrow(-2, 0, len(members))
            won.copy_(torch.maximum(won, (values > before) * won.new_tensor(number)))
            before.copy_(torch.maximum(before, values))
        return largest, winner

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
        """Keep who won."""
        _, _, row, turn, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(row, turn, output[1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient (..., n_nodes, c): that of its row for the winner, 0 for others."""
        row, turn, winner = ctx.saved_tensors
        is_winner = winner.index_select(-2, row) == turn[:, None]
        return gradients[0].index_select(-2, row) * is_winner, None, None, None, None
