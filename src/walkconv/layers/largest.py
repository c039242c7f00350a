"""The largest value of every group of nodes, as an operator of torch: in C, or in torch itself."""

from typing import Any

import torch
from torch import Tensor

from walkconv.conv.learned import Learned
from walkconv.conv.native import MOST_TURNS, NativeEngine
from walkconv.conv.one_by_one import one_by_one
from walkconv.conv.torch_op import engine_for

_LIBRARY = torch.library.Library("walkconv", "FRAGMENT")
_LIBRARY.define(
    "largest(Tensor x, Tensor start, Tensor member, int n_turns) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_LIBRARY.define(
    "largest_backward(Tensor grad, Tensor winner, Tensor start, Tensor member) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def largest_of_groups(x: Tensor, start: Tensor, member: Tensor, n_turns: int) -> Tensor:
    """Return the largest value of every group, channel by channel.

    The gradient goes to the first of equal values, in the order of `member`.

    Parameters
    ----------
    x : Tensor of shape (..., n_nodes, c)
    start : int64 tensor of shape (n_groups + 1,)
        Group g is ``member[start[g] : start[g + 1]]``, at least one node.
    member : int64 tensor of shape (n_nodes,)
    n_turns : int
        Nodes of the largest group.

    Returns
    -------
    Tensor of shape (..., n_groups, c)

    Examples
    --------
    >>> import torch
    >>> from walkconv.layers.largest import largest_of_groups
    >>> x = torch.tensor([[5.0], [1.0], [2.0]])
    >>> largest_of_groups(x, torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2]), 2).flatten()
    tensor([1., 5.])
    """
    return _Recorded.apply(x, start, member, n_turns)[0]


class _Recorded(torch.autograd.Function):
    """The operator, recorded for its gradient."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, start: Tensor, member: Tensor, n_turns: int) -> tuple[Tensor, Tensor]:
        """Return the largest values and the turns of their nodes, both (..., n_groups, c)."""
        return torch.ops.walkconv.largest(x, start, member, n_turns)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
        """Keep the winners for the gradient."""
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1], inputs[1], inputs[2])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient (..., n_nodes, c): that of its group for a winner, else 0."""
        is_recorded = torch.is_grad_enabled()  # for derivatives of a higher order
        differentiate = _give_back if is_recorded else torch.ops.walkconv.largest_backward
        return differentiate(grads[0], *ctx.saved_tensors), None, None, None


def _find(x: Tensor, start: Tensor, member: Tensor, n_turns: int) -> tuple[Tensor, Tensor]:
    # Checked here and not on input: under torch.compile only this code sees values.
    largest = _LARGEST.of(member, lambda: _largest_group(start, member), start)
    _check_nodes(x, len(member))
    if n_turns != largest:
        raise ValueError(
            f"n_turns must be the size of the largest group, {largest}; got {n_turns}."
        )
    engine = engine_for(x)
    if isinstance(engine, NativeEngine) and n_turns <= MOST_TURNS:
        return engine.largest(x, start, member)
    return _take_turns(x, start, member, n_turns)


_LARGEST: Learned[int] = Learned()
"""The members of checked groups -> nodes of the largest group."""


def _check_nodes(x: Tensor, n_nodes: int) -> None:
    if x.ndim < 2 or x.shape[-2] != n_nodes or not x.dtype.is_floating_point:
        raise ValueError(
            f"x must hold floats of shape (..., n_nodes, c) with n_nodes = {n_nodes}; got "
            f"{x.dtype} of shape {tuple(x.shape)}."
        )


def _largest_group(start: Tensor, member: Tensor) -> int:
    """Refuse tables that would lead the kernel to nodes that are not there."""
    for name, table in (("start", start), ("member", member)):
        if table.ndim != 1 or table.dtype != torch.int64 or not len(table):
            raise ValueError(
                f"{name} must be int64 of one axis, not empty; got {table.dtype} of shape "
                f"{tuple(table.shape)}."
            )
    n_nodes = len(member)
    if len(start) < 2:
        raise IndexError("start must have at least one group; got none.")
    first, last, least = int(start[0]), int(start[-1]), int(start.diff().min())
    if (first, last) != (0, n_nodes) or least < 1:
        raise IndexError(
            f"start must rise from 0 to the number of nodes ({n_nodes}); got {first} to {last} "
            f"with a step of {least}. The table was changed: make the layer again."
        )
    lowest, highest = (int(bound) for bound in torch.aminmax(member))
    if lowest < 0 or highest >= n_nodes:
        raise IndexError(
            f"member must lie between 0 and {n_nodes - 1}; got "
            f"{lowest if lowest < 0 else highest}. The table was changed: make the layer again."
        )
    return int(start.diff().max())


def _take_turns(x: Tensor, start: Tensor, member: Tensor, n_turns: int) -> tuple[Tensor, Tensor]:
    """Let all second members play against the first ones, then all third members, ...

    The groups stand in rows, the largest first, so that every turn fills the rows from the top: no
    slot is empty. A mask is a number here, since torch compares and multiplies many times faster
    than it fills, gathers and scatters.
    """
    sizes = start.diff()
    by_size = sizes.argsort(descending=True, stable=True)
    first = start[by_size]
    n_playing = (len(sizes) - sizes.bincount().cumsum(0)).tolist()  # in each turn
    largest = x.index_select(-2, member[first])
    winner = torch.zeros_like(largest, dtype=_turn_dtype(n_turns))
    for turn in range(1, n_turns):
        members = member[first[: n_playing[turn]] + turn]
        values = x.index_select(-2, members)
        before = largest.narrow(-2, 0, len(members))
        won = winner.narrow(-2, 0, len(members))
        wins = (values > before) | (values.isnan() & ~before.isnan())
        won.copy_(torch.maximum(won, wins * won.new_tensor(turn)))
        before.copy_(torch.maximum(before, values))
    row_of_group = by_size.argsort()
    return largest.index_select(-2, row_of_group), winner.index_select(-2, row_of_group)


def _differentiate(grad: Tensor, winner: Tensor, start: Tensor, member: Tensor) -> Tensor:
    _LARGEST.of(member, lambda: _largest_group(start, member), start)
    _check_nodes(grad, len(start) - 1)
    if winner.shape != grad.shape or winner.dtype not in (torch.uint8, torch.int64):
        raise ValueError(
            f"winner must be the turns of the groups {tuple(grad.shape)}; got {winner.dtype} of "
            f"shape {tuple(winner.shape)}."
        )
    engine = engine_for(grad)
    if isinstance(engine, NativeEngine) and winner.dtype == torch.uint8:
        return engine.largest_backward(grad, winner, start, member)
    return _give_back(grad, winner, start, member)


def _give_back(grad: Tensor, winner: Tensor, start: Tensor, member: Tensor) -> Tensor:
    """Return the gradient by steps that torch can differentiate again."""
    groups = torch.arange(len(start) - 1, device=start.device)
    groups = groups.repeat_interleave(start.diff(), output_size=len(member))
    turns = torch.arange(len(member), device=start.device) - start[groups]
    place = member.argsort()
    group, turn = groups[place], turns[place].to(winner.dtype)
    is_winner = winner.index_select(-2, group) == turn[:, None]
    return grad.index_select(-2, group).masked_fill(~is_winner, 0)


def _turn_dtype(n_turns: int) -> torch.dtype:
    return torch.uint8 if n_turns <= MOST_TURNS else torch.int64


_LIBRARY.impl("largest", _find, "CompositeExplicitAutograd")
_LIBRARY.impl("largest_backward", _differentiate, "CompositeExplicitAutograd")


@torch.library.register_fake("walkconv::largest", lib=_LIBRARY)
def _(x, start, member, n_turns):
    shape = (*x.shape[:-2], start.shape[0] - 1, x.shape[-1])
    return x.new_empty(shape), x.new_empty(shape, dtype=_turn_dtype(n_turns))


@torch.library.register_fake("walkconv::largest_backward", lib=_LIBRARY)
def _(grad, winner, start, member):
    return grad.new_empty(*grad.shape[:-2], member.shape[0], grad.shape[-1])


def _map_forward(info, in_dims, x, start, member, n_turns):
    op = torch.ops.walkconv.largest
    if in_dims[1:] == (None,) * 3:
        return op(x.movedim(in_dims[0], 0), start, member, n_turns), (0, 0)
    return one_by_one(op, info.batch_size, in_dims, (x, start, member, n_turns))


def _map_backward(info, in_dims, grad, winner, start, member):
    op = torch.ops.walkconv.largest_backward
    if None not in in_dims[:2] and in_dims[2:] == (None, None):
        return op(grad.movedim(in_dims[0], 0), winner.movedim(in_dims[1], 0), start, member), 0
    return one_by_one(op, info.batch_size, in_dims, (grad, winner, start, member))


torch.library.register_vmap("walkconv::largest", _map_forward, lib=_LIBRARY)
torch.library.register_vmap("walkconv::largest_backward", _map_backward, lib=_LIBRARY)
