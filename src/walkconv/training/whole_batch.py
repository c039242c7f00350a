"""Batch normalization and dropout over a whole batch when several processes hold its parts.

A network handles each row by itself, with two exceptions: batch normalization takes means over all
rows, and dropout and shifting draw random numbers for all rows from one stream. Inside
`whole_batch` torch's own functions include the rows of the other processes, so networks need no
change. In a single process nothing changes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from walkconv.training.batch_norm import batch_norm
from walkconv.training.processes import ALONE, Processes

_SHARING: ContextVar[Processes] = ContextVar("sharing", default=ALONE)


@contextmanager
def whole_batch(processes: Processes) -> Iterator[None]:
    """Treat the rows inside as a part of a batch that all processes hold together.

    The parts follow each other in the order of the processes. What runs along the first dimension
    may be rows or the nodes of graphs, and their number may differ between processes. In one
    process nothing changes.
    """
    if processes.size == 1:
        yield
        return
    token = _SHARING.set(processes)
    try:
        with WholeBatch():
            yield
    finally:
        _SHARING.reset(token)


def draw_for_rows(n_rows: int, draw: Callable[[int], Tensor]) -> Tensor:
    """Return ``draw(n_rows)``, or this process's rows of what is drawn for the whole batch.

    Every process draws for all, so that the streams of random numbers stay together.

    Parameters
    ----------
    n_rows : int
        Rows of this process.
    draw : callable
        Number of rows n -> Tensor of shape (n, ...).
    """
    sharing = _SHARING.get()
    if sharing.size == 1:
        return draw(n_rows)
    counts = sharing.gather(torch.tensor(n_rows)).tolist()
    start = sum(counts[: sharing.rank])
    return draw(sum(counts))[start : start + n_rows]


class WholeBatch(TorchFunctionMode):
    """A mode of torch in which dropout and batch normalization see more than these rows."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.dropout or func is functional.batch_norm:
            given = signature(func).bind(*args, **kwargs)
            given.apply_defaults()
            settings = given.arguments
            if func is functional.dropout and settings["training"] and settings["p"] > 0:
                return _dropout(settings["input"], settings["p"])
            if func is functional.batch_norm and settings["training"]:
                return batch_norm(_SHARING.get(), *given.args)
        return func(*args, **kwargs)


def _dropout(x: Tensor, chance: float) -> Tensor:
    def mask(n_rows: int) -> Tensor:
        return functional.dropout(x.new_ones(n_rows, *x.shape[1:]), chance)

    return x * draw_for_rows(len(x), mask)
