"""Graphs of different sizes as one flat table: nodes one below the other, indices shifted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from walkconv.models.hierarchy import Level


@dataclass(frozen=True, eq=False)
class FlatLevel:
    """The nodes of all graphs of a batch between two poolings.

    Attributes
    ----------
    index : Tensor of shape (n_nodes, n_neighbors), int64, or None
        Neighbours, which never lie in another graph; -1 is an empty slot. None where no
        convolution stands on this level.
    scale : Tensor of shape (n_nodes, n_neighbors) or None
        Sign of the edge times expected visits.
    groups : ndarray of shape (n_nodes,), int64, or None
        The node of the next level that each node is pooled into; None on the last level.
    """

    index: Tensor | None
    scale: Tensor | None
    groups: np.ndarray | None


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Graphs one below the other.

    Attributes
    ----------
    x : Tensor of shape (n_nodes, n_channels)
        What is known of the nodes of all graphs.
    levels : list of FlatLevel
    sizes : Tensor of shape (n_graphs,), int64
        Nodes of each graph on the last level.
    """

    x: Tensor
    levels: list[FlatLevel]
    sizes: Tensor


def join_graphs(
    x: Sequence[np.ndarray],
    levels: Sequence[Sequence[Level]],
    n_neighbors: int,
    device: torch.device,
) -> GraphBatch:
    """Return graphs as one batch.

    Parameters
    ----------
    x : sequence of ndarray of shape (n_nodes, n_channels), float32
        The nodes of each graph.
    levels : sequence of sequence of Level
        Of each graph, from `build_levels`.
    n_neighbors : int
        Slots; a graph with fewer nodes leaves the rest empty.
    device : torch.device

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from walkconv import as_graph
    >>> from walkconv.models import build_levels, join_graphs, parse_architecture
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
    joined = [_join_level(parts, n_neighbors, device) for parts in zip(*levels, strict=True)]
    sizes = torch.tensor([parts[-1].n_nodes for parts in levels])
    nodes = torch.from_numpy(np.concatenate(x))
    return GraphBatch(nodes.to(device), joined, sizes.to(device))


def _join_level(parts: Sequence[Level], n_neighbors: int, device: torch.device) -> FlatLevel:
    index = scale = groups = None
    if parts[0].neighbors is not None:
        tables = [part.neighbors for part in parts if part.neighbors is not None]
        starts = _starts([table.n_nodes for table in tables])
        shifted = [
            np.where(table.index < 0, -1, table.index + start)
            for table, start in zip(tables, starts, strict=True)
        ]
        index = torch.from_numpy(_stack(shifted, n_neighbors, -1)).to(device)
        visits = _stack([table.sign * table.visits for table in tables], n_neighbors, 0.0)
        scale = torch.from_numpy(visits.astype(np.float32)).to(device)
    if parts[0].groups is not None:
        given = [part.groups for part in parts if part.groups is not None]
        starts = _starts([int(part.max()) + 1 for part in given])
        groups = np.concatenate([part + start for part, start in zip(given, starts, strict=True)])
    return FlatLevel(index, scale, groups)


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.cumsum([0, *sizes[:-1]])


def _stack(tables: Sequence[np.ndarray], n_columns: int, empty: float) -> np.ndarray:
    """Return tables one below the other, filled up to so many columns."""
    stacked = np.full((sum(map(len, tables)), n_columns), empty, dtype=tables[0].dtype)
    start = 0
    for table in tables:
        stacked[start : start + len(table), : table.shape[1]] = table
        start += len(table)
    return stacked
