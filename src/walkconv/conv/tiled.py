"""The convolution in plain torch, a tile of samples or nodes at a time.

Gathering all neighbours first writes a tensor p times the input. Here a tile of it that fits in the
cache is gathered, multiplied and overwritten by the next, so memory stays O(M * N) and most
of the time goes to the matrix products. Runs on any device.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

CPU_TILE_BYTES = 2**22
"""Measured on shapes of 128 x 717 x 6 x 20 to 4 x 200,000 x 8 x 16: 1 to 4 MiB did best."""
DEVICE_TILE_BYTES = 2**28


def forward(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> Tensor:
    """Return the convolution (M, N, c_out); arguments as in `define_graph_conv`."""
    n_slots, c_in, c_out = weight.shape
    filters = weight.reshape(n_slots * c_in, c_out)
    out = x.new_empty(x.shape[0], index.shape[-2], c_out)
    for samples, nodes in _tiles(x, index):
        gathered = _gather(x[samples], *_tables(index, scale, samples, nodes))
        product = gathered.view(-1, n_slots * c_in) @ filters
        out[samples, nodes] = product.view(gathered.shape[0], -1, c_out)
    return out if bias is None else out.add_(bias)


def backward(
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
    n_slots, c_in, c_out = weight.shape
    filters = weight.reshape(n_slots * c_in, c_out)
    # Sums of 16-bit numbers stop growing at a few hundred: they are kept in 32 bits.
    sums = torch.promote_types(x.dtype, torch.float32)
    grad_x = x.new_zeros(x.shape, dtype=sums) if wants_x else x.new_empty(0)
    grad_weight = x.new_zeros(weight.shape, dtype=sums) if wants_weight else x.new_empty(0)
    grad_bias = grad.sum((0, 1)) if wants_bias else x.new_empty(0)
    for samples, nodes in _tiles(x, index):
        table, factor = _tables(index, scale, samples, nodes)
        grad_tile = grad[samples, nodes].reshape(-1, c_out)
        if wants_weight:
            gathered = _gather(x[samples], table, factor).view(-1, n_slots * c_in)
            grad_weight.view(-1, c_out).addmm_(gathered.t().to(sums), grad_tile.to(sums))
        if wants_x:
            spread = (grad_tile @ filters.t()).view(-1, *table.shape, c_in)
            _scatter(grad_x[samples], table, _masked(spread, table, factor).to(sums))
    return grad_x.to(x.dtype), grad_weight.to(x.dtype), grad_bias


def _tiles(x: Tensor, index: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield (samples, nodes): some samples with all nodes, or one sample with some nodes."""
    (n_samples, _, c_in), (n_nodes, n_slots) = x.shape, index.shape[-2:]
    tile_bytes = CPU_TILE_BYTES if x.device.type == "cpu" else DEVICE_TILE_BYTES
    n_rows = max(1, tile_bytes // max(1, n_slots * c_in * x.element_size()))
    samples_at_once = 1 if index.ndim == 3 else max(1, n_rows // max(1, n_nodes))
    nodes_at_once = n_nodes if samples_at_once > 1 else n_rows
    for m in range(0, n_samples, samples_at_once):
        for n in range(0, n_nodes, nodes_at_once):
            yield slice(m, m + samples_at_once), slice(n, n + nodes_at_once)


def _tables(
    index: Tensor, scale: Tensor | None, samples: slice, nodes: slice
) -> tuple[Tensor, Tensor | None]:
    """Return the tile of index and scale, each (nodes, p); a table per sample has one sample."""
    where = nodes if index.ndim == 2 else (samples.start, nodes)
    return index[where], None if scale is None else scale[where]


def _gather(x: Tensor, table: Tensor, factor: Tensor | None) -> Tensor:
    """Return the neighbours' values (samples, nodes, p, c_in)."""
    picked = x.index_select(1, table.clamp(min=0).reshape(-1))
    return _masked(picked.view(x.shape[0], *table.shape, x.shape[2]), table, factor)


def _masked(values: Tensor, table: Tensor, factor: Tensor | None) -> Tensor:
    """Scale values (samples, nodes, p, c_in) in place and zero the empty slots, NaN or not."""
    if factor is not None:
        values.mul_(factor[..., None])
    return values.masked_fill_((table < 0)[..., None], 0)


def _scatter(grad_x: Tensor, table: Tensor, values: Tensor) -> None:
    """Add values (samples, nodes, p, c_in) to the nodes (samples, n_in, c_in) of a table."""
    n_samples, n_in, c_in = grad_x.shape
    first_node = torch.arange(0, n_samples * n_in, n_in, device=table.device)
    flat = (first_node[:, None] + table.clamp(min=0).reshape(-1)).view(-1)
    grad_x.view(-1, c_in).index_add_(0, flat, values.reshape(-1, c_in))
