"""The convolution and the pooling in C: an engine that runs on torch's own threads.

Calls release the GIL, and give the same bits for any number of threads.
"""

import ctypes
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from walkconv import _native
from walkconv.conv.learned import Learned

INSTRUCTION_SETS = ("portable", "avx2", "avx512")
"""The position in this tuple is the kernel's number for an instruction set."""

DTYPES = {torch.float32: 0, torch.float64: 1}

DIRECT_SAMPLES = 16
"""With fewer samples the gradient of x is split by nodes, through a reverse list: samples alone
would be too few parts for the threads."""
DIRECT_BYTES = 2**18
"""A sample larger than this does not stay in the cache while one thread adds to it."""

MOST_TURNS = 256
"""Most nodes of a group that the kernel pools: it stores the position of the largest in a byte."""

_pointer = ctypes.c_void_p


@cache
def library() -> ctypes.CDLL | None:
    """Return the kernel, bound to torch's threads, or None where none was built that fits."""
    loaded = _native.library()
    if loaded is not None:
        loaded.walkconv_use_openmp(*(openmp() or (None, None)))
    return loaded


@cache
def openmp() -> tuple[int | None, ...] | None:
    """Return the addresses of two functions of the OpenMP runtime that torch uses, or None.

    Two thread pools would fight for the cores. torch looks its symbols up in the global scope
    first, then among its own dependencies; so does this. With None the kernel makes threads.
    """
    libraries = sorted((Path(torch.__file__).parent / "lib").glob("libtorch_cpu.*"))
    for name in (None, *map(str, libraries)):
        try:
            runtime = ctypes.CDLL(name)
            functions = runtime.GOMP_parallel, runtime.omp_get_thread_num
        except (OSError, AttributeError, TypeError):
            continue
        return tuple(ctypes.cast(function, _pointer).value for function in functions)
    return None


@cache
def supported() -> tuple[str, ...]:
    """Return the instruction sets that were built and that this machine has."""
    kernel = library()
    if kernel is None:
        return ()
    return tuple(
        name for place, name in enumerate(INSTRUCTION_SETS) if kernel.walkconv_supported(place)
    )


def preferred() -> str:
    """Return the instruction set, of those `supported`, that does best on this machine."""
    kernel = library()
    assert kernel is not None
    return INSTRUCTION_SETS[kernel.walkconv_preferred()]


class NativeEngine:
    """The kernel with one instruction set; forward and backward as in `tiled`."""

    def __init__(self, instruction_set: str):
        kernel = library()
        assert kernel is not None
        self.kernel = kernel
        self.instruction_set = INSTRUCTION_SETS.index(instruction_set)

    def forward(
        self, x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
    ) -> Tensor:
        """Return the convolution (M, N, c_out); arguments as in `define_graph_conv`."""
        out = x.new_empty(x.shape[0], index.shape[-2], weight.shape[2])
        # The list keeps copies alive until the call returns: the kernel gets only addresses.
        arrays = [_contiguous(t) for t in (x, index, weight, bias, scale)]
        status = self.kernel.walkconv_forward(
            *self._settings(x, index, weight), *map(_address, arrays), out.data_ptr()
        )
        _native.check(status)
        return out

    def backward(
        self,
        grad: Tensor,
        x: Tensor,
        index: Tensor,
        weight: Tensor,
        scale: Tensor | None,
        wants_x: bool,
        wants_weight: bool,
        wants_bias: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return the gradients of x, weight and bias, empty where they are not wanted."""
        shapes = (x.shape, weight.shape, weight.shape[2:])
        grads = [
            x.new_empty(shape) if wanted else None
            for shape, wanted in zip(shapes, (wants_x, wants_weight, wants_bias), strict=True)
        ]
        arrays = [_contiguous(t) for t in (x, index, weight, scale, grad)]
        start = slot = None
        if wants_x and _needs_reverse_list(x, index):
            start, slot = self._reverse_list(index, x.shape[1])
        status = self.kernel.walkconv_backward(
            *self._settings(x, index, weight), *map(_address, (*arrays, start, slot, *grads))
        )
        _native.check(status)
        grad_x, grad_weight, grad_bias = (x.new_empty(0) if g is None else g for g in grads)
        return grad_x, grad_weight, grad_bias

    def largest(self, x: Tensor, start: Tensor, member: Tensor) -> tuple[Tensor, Tensor]:
        """Return the largest values and their turns; arguments as in `largest_of_groups`."""
        out = x.new_empty(*x.shape[:-2], len(start) - 1, x.shape[-1])
        winner = torch.empty_like(out, dtype=torch.uint8)
        self._pool(x, start, member, x, out, winner, None, None)
        return out, winner

    def largest_backward(
        self, grad: Tensor, winner: Tensor, start: Tensor, member: Tensor
    ) -> Tensor:
        """Return the gradient (..., n_nodes, c) from that of the groups (..., n_groups, c)."""
        grad_x = grad.new_empty(*grad.shape[:-2], len(member), grad.shape[-1])
        self._pool(grad_x, start, member, None, None, winner, grad, grad_x)
        return grad_x

    def _pool(self, nodes: Tensor, start: Tensor, member: Tensor, *arrays: Tensor | None) -> None:
        """Pool `nodes` (..., n_nodes, c), or give their gradient back."""
        # Outputs are new and dense, so they are not copied here, and the kernel writes into them.
        held = [_contiguous(each) for each in (start, member, *arrays)]
        status = self.kernel.walkconv_pool(
            DTYPES[nodes.dtype],
            self.instruction_set,
            torch.get_num_threads(),
            *(nodes.shape[:-2].numel(), len(member), len(start) - 1, nodes.shape[-1]),
            *map(_address, held),
        )
        _native.check(status)

    def _settings(self, x: Tensor, index: Tensor, weight: Tensor) -> tuple[int, ...]:
        """Return the numbers that come first in every call."""
        (n_samples, n_in, c_in), (n_nodes, n_slots) = x.shape, index.shape[-2:]
        return (
            DTYPES[x.dtype],
            self.instruction_set,
            torch.get_num_threads(),
            *(n_samples, n_nodes, n_in, n_slots, c_in, weight.shape[2]),
            index.ndim == 3,
        )

    def _reverse_list(self, index: Tensor, n_in: int) -> tuple[Tensor, Tensor]:
        """Return which nodes use each node, at which rank; kept as long as the table lives."""
        return _REVERSE_LISTS.of(index, lambda: self._build_reverse_list(index, n_in), n_in)

    def _build_reverse_list(self, index: Tensor, n_in: int) -> tuple[Tensor, Tensor]:
        table = _contiguous(index)
        n_nodes, n_slots = index.shape[-2:]
        n_tables = len(index) if index.ndim == 3 else 1
        n_starts = self.kernel.walkconv_reverse_starts(n_in, n_slots)
        start = torch.empty(n_tables, n_starts, dtype=torch.int64)
        slot = torch.empty(n_tables, n_nodes * n_slots, dtype=torch.int64)
        status = self.kernel.walkconv_reverse_list(
            torch.get_num_threads(),
            *(n_tables, n_nodes, n_in, n_slots),
            *map(_address, (table, start, slot)),
        )
        _native.check(status)
        return start, slot


_REVERSE_LISTS: Learned[tuple[Tensor, Tensor]] = Learned()


def _needs_reverse_list(x: Tensor, index: Tensor) -> bool:
    """Decide by the shapes alone: the last bits of the gradient depend on the choice."""
    n_samples, n_in, c_in = x.shape
    is_large = n_in * c_in * x.element_size() > DIRECT_BYTES
    return n_samples < DIRECT_SAMPLES or (index.ndim == 2 and is_large)


def _contiguous(tensor: Tensor | None) -> Tensor | None:
    """Return the tensor as the kernel reads it: dense, each value at an address it may have."""
    if tensor is None:
        return None
    # A view may begin at an address that is not a multiple of the size of its elements.
    dense = tensor.contiguous()
    return dense.clone() if dense.data_ptr() % dense.element_size() else dense


def _address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
