"""Graphs of different sizes as one batch: nodes stacked in one table, indices shifted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from walkconv.layers import GroupTables, join_group_tables
from walkconv.networks.levels import Level


@dataclass(frozen=True, eq=False)
class BatchLevel:
    """The nodes of all graphs of a batch between two poolings.

    Attributes
    ----------
    index : Tensor of shape (n_nodes, n_neighbors), int64, or None
        Neighbours, always in the same graph; -1 is an empty slot. None if no convolution uses
        this level.
    scale : Tensor of shape (n_nodes, n_neighbors) or None
        Sign of the edge times expected visits; None unless the convolutions need it.
    pool : GroupTables or None
        The groups that the next pooling merges; None on the last level.
    """

    index: Tensor | None
    scale: Tensor | None
    pool: GroupTables | None


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Graphs stacked in one table.

    Attributes
    ----------
    x : Tensor of shape (n_nodes, n_channels)
        Node features of all graphs.
    levels : list of BatchLevel
    sizes : Tensor of shape (n_graphs,), int64
        Number of nodes of each graph on the last level.

    Examples
    --------
    >>> import torch
    >>> from walkconv.networks import GraphBatch
    >>> GraphBatch(x=torch.zeros(5, 1), levels=[], sizes=torch.tensor([2, 3])).sizes.sum()
    tensor(5)
    """

    x: Tensor
    levels: list[BatchLevel]
    sizes: Tensor


def join_graphs(
    x: Sequence[np.ndarray],
    levels: Sequence[Sequence[Level]],
    n_neighbors: int,
    device: torch.device,
    *,
    with_scale: bool = False,
) -> GraphBatch:
    """Return graphs as one batch.

    Parameters
    ----------
    x : sequence of ndarray of shape (n_nodes, n_channels), float32
        Node features of each graph.
    levels : sequence of sequence of Level
        Levels of each graph, from `build_levels`.
    n_neighbors : int
        Number of slots; a graph with fewer nodes leaves the rest empty.
    device : torch.device
    with_scale : bool, default False
        Whether the convolutions use signed visits.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from walkconv import as_graph
    >>> from walkconv.networks import build_levels, join_graphs, parse_architecture
    >>> layers = parse_architecture("C8-G")
    >>> pair, alone = as_graph([[0, 1], [1, 0]]), as_graph([[0]])
    >>> levels = [build_levels(graph, layers, n_neighbors=3) for graph in (pair, alone)]
    >>> x = [np.zeros((2, 1), dtype=np.float32), np.ones((1, 1), dtype=np.float32)]
    >>> batch = join_graphs(x, levels, 3, torch.device("cpu"))
    >>> batch.levels[0].index
    tensor([[ 0,  1, -1],
            [ 1,  0, -1],
            [ 2, -1, -1]])
    >>> batch.sizes
    tensor([2, 1])
    """
    joined = [
        _join_level(parts, n_neighbors, device, with_scale=with_scale)
        for parts in zip(*levels, strict=True)
    ]
    sizes = torch.tensor([parts[-1].n_nodes for parts in levels])
    nodes = torch.from_numpy(np.concatenate(x))
    return GraphBatch(nodes.to(device), joined, sizes.to(device))


def _join_level(
    parts: Sequence[Level], n_neighbors: int, device: torch.device, *, with_scale: bool
) -> BatchLevel:
    index = scale = pool = None
    if parts[0].neighbors is not None:
        tables = [part.neighbors for part in parts if part.neighbors is not None]
        starts = np.cumsum([0, *(table.n_nodes for table in tables[:-1])])
        shifted = [
            np.where(table.index < 0, -1, table.index + start)
            for table, start in zip(tables, starts, strict=True)
        ]
        index = torch.from_numpy(_stack(shifted, n_neighbors, -1)).to(device)
        if with_scale:
            visits = _stack([table.sign * table.visits for table in tables], n_neighbors, 0.0)
            scale = torch.from_numpy(visits.astype(np.float32)).to(device)
    if parts[0].pool is not None:
        pool = join_group_tables([part.pool for part in parts if part.pool is not None]).to(device)
    return BatchLevel(index, scale, pool)


def _stack(tables: Sequence[np.ndarray], n_columns: int, empty: float) -> np.ndarray:
    """Return tables stacked in one, padded to `n_columns` columns."""
    stacked = np.full((sum(map(len, tables)), n_columns), empty, dtype=tables[0].dtype)
    start = 0
    for table in tables:
        stacked[start : start + len(table), : table.shape[1]] = table
        start += len(table)
    return stacked
