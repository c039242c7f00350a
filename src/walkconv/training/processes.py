"""The processes that train one network together, each on its part of every batch.

All of them hold the same rows and weights and draw the same order. A process adds what its part of
a batch contributes to the gradient of the whole, and all take the same step: the weights are those
of one process, but for the rounding of sums.
"""

import gc
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import Parameter

from walkconv._launched import launched

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """The place of a process among those that work together.

    Attributes
    ----------
    rank : int
        Number of this process, from 0.
    size : int
        Number of processes; 1 if this process trains alone.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that prints and writes files."""
        return self.rank == 0

    def part(self, n_rows: int) -> slice:
        """Return the place of this process's rows in a batch; lengths differ by one at most.

        Examples
        --------
        >>> from walkconv.training.processes import Processes
        >>> [Processes(rank, 3).part(8) for rank in range(3)]
        [slice(0, 2, None), slice(2, 5, None), slice(5, 8, None)]
        """
        return slice(n_rows * self.rank // self.size, n_rows * (self.rank + 1) // self.size)

    def gather(self, tensor: Tensor) -> Tensor:
        """Return the tensors of all processes, which have one shape, one below the other."""
        if self.size == 1:
            return tensor[None]
        parts = [torch.empty_like(tensor) for _ in range(self.size)]
        dist.all_gather(parts, tensor)
        return torch.stack(parts)

    def sum(self, tensor: Tensor) -> Tensor:
        """Return a tensor added up over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def sum_gradients(self, parameters: Iterable[Parameter]) -> None:
        """Add up the gradients over all processes, in place and in one piece."""
        if self.size == 1:
            return
        gradients = [each.grad for each in parameters if each.grad is not None]
        flat = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, total in zip(gradients, flat.split(sizes), strict=True):
            gradient.copy_(total.view_as(gradient))

    def from_first(self, make: Callable[[], T]) -> T:
        """Return what the first process makes; the others wait for it and make nothing.

        If it cannot, its error is raised in all of them.
        """
        if self.size == 1:
            return make()
        box: list[Any] = [_outcome(make) if self.is_first else None]
        dist.broadcast_object_list(box)
        value, error = box[0]
        if error is not None:
            raise error
        return value

    def refuse_differences(self, given: dict[str, Any]) -> None:
        """Refuse plain values by name, or digests, that are not those of the first process.

        All processes raise the same error.
        """
        if self.size == 1:
            return
        theirs = self.from_first(lambda: given)
        names = sorted({*theirs, *given})
        mine = next((name for name in names if theirs.get(name) != given.get(name)), None)
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, mine)
        for rank, name in enumerate(found):
            if name is not None:
                raise ValueError(
                    "Processes that train together must be given the same data and settings; "
                    f"{name.removeprefix('data: ')} of process {rank} is not that of process 0."
                )


ALONE = Processes()
_CURRENT: ContextVar[Processes] = ContextVar("processes", default=ALONE)


def current_processes() -> Processes:
    """Return the processes that were joined in this context, or this one alone."""
    return _CURRENT.get()


@contextmanager
def on_its_own() -> Iterator[None]:
    """Let every `fit` inside run in this process alone; the others wait for it elsewhere."""
    token = _CURRENT.set(ALONE)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def join_processes() -> Iterator[Processes]:
    """Let every `fit` inside train one model in all processes that ``torchrun`` has started.

    Run a script with ``torchrun --nproc-per-node 2 script.py``, on several machines with its
    ``--nnodes`` and ``--rdzv-endpoint``. Every process must make the same calls with the same data;
    each takes its part of every batch, and all end with the same model, which is the model of one
    process up to the rounding of sums: batches, dropout, batch normalization and shifts are those
    of the whole batch. The first process scores validation rows, shows the bar and writes
    checkpoints; all leave the block together. Without ``torchrun`` nothing changes. A process group
    that is there already is used and left as it was; outside of the block `fit` never uses one.

    Yields
    ------
    Processes
        ``is_first`` says whether to print, and to save the model; ``rank`` and ``size``.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import GraphCNNRegressor, join_processes
    >>> X = np.random.default_rng(0).normal(size=(100, 8)).cumsum(axis=1)
    >>> with join_processes() as processes:
    ...     model = GraphCNNRegressor(max_iter=2).fit(X, X[:, 3])
    >>> processes.is_first, processes.size  # then: model.save("model.safetensors")
    (True, 1)
    """
    is_there = dist.is_available() and dist.is_initialized()
    is_ours = not is_there and launched()[1] > 1
    if is_ours:
        _start_group()
    try:
        joined = Processes(dist.get_rank(), dist.get_world_size()) if is_there or is_ours else ALONE
        token = _CURRENT.set(joined)
        try:
            yield joined
            if is_ours:
                # The first process to leave would close connections that others still read.
                joined.sum(torch.zeros(1))
        finally:
            _CURRENT.reset(token)
    finally:
        if is_ours:
            dist.destroy_process_group()
            gc.collect()  # what still holds the group: its threads would abort Python's own end


def _outcome(make: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return make(), None
    except Exception as error:
        return None, error


def _start_group() -> None:
    place = int(os.environ.get("LOCAL_RANK", "0"))  # of this process on its machine
    has_gpus = place < torch.cuda.device_count()
    if has_gpus:
        torch.cuda.set_device(place)
    dist.init_process_group("cpu:gloo,cuda:nccl" if has_gpus else "gloo")
