"""Layers that hold tables of a graph."""

from collections.abc import Callable
from typing import Self

from torch import Tensor, nn


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
