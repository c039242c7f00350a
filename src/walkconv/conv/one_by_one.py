"""How an operator is mapped over arguments of which it takes only one."""

from collections.abc import Callable
from typing import Any

import torch


def one_by_one(
    op: Callable, batch_size: int, in_dims: tuple[int | None, ...], arguments: tuple
) -> tuple[Any, Any]:
    """Return what `op` gives for each element of the batch, stacked, and where the batch is."""
    outputs = [
        op(
            *(
                argument if dim is None else argument.select(dim, element)
                for argument, dim in zip(arguments, in_dims, strict=True)
            )
        )
        for element in range(batch_size)
    ]
    if isinstance(outputs[0], tuple):
        stacked = tuple(torch.stack(column) for column in zip(*outputs, strict=True))
        return stacked, (0,) * len(stacked)
    return torch.stack(outputs), 0
