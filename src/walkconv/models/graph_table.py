"""Graphs as batches, their neighbours found once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch

from walkconv._samples import GraphSample
from walkconv.models.architecture import Layer, format_architecture
from walkconv.models.encoding import NodeEncoding
from walkconv.models.graph_batch import GraphBatch, join_graphs
from walkconv.models.hierarchy import Level, build_levels
from walkconv.walks import refine_colors

COLORING_STEPS = 2
"""Length of the walk that tells nodes apart where the length of the other is left to each graph."""


@dataclass(frozen=True)
class Walks:
    """How the levels of every graph are built and used; see `build_levels` and `GraphConv`."""

    layers: tuple[Layer, ...]
    n_neighbors: int
    n_steps: int | Literal["auto"]
    order: str = "visits"
    weighting: str = "rank"


class GraphTable:
    """Graphs that are joined to batches when they are asked for.

    The nodes of each graph are put into an order that its structure and tags decide, so that how
    they were numbered does not matter; but pooling may cut a graph in which many nodes look alike
    in one of several ways, and signs of edges are not looked at. What was found for a graph is kept
    as long as the graph.

    Parameters
    ----------
    samples : ndarray of GraphSample
    encoding : NodeEncoding
    walks : Walks
    device : torch.device
    """

    def __init__(
        self,
        samples: Sequence[GraphSample],
        encoding: NodeEncoding,
        walks: Walks,
        device: torch.device,
    ):
        self.walks = walks
        self.device = device
        self.levels, self.x = [], []
        for sample in samples:
            order, levels = _prepare(sample, walks)
            self.levels.append(levels)
            self.x.append(encoding.encode(sample)[order])

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, rows: np.ndarray | slice) -> tuple[GraphBatch]:
        """Return some of the graphs as one batch."""
        places = np.arange(len(self))[rows]
        x, levels = ([part[place] for place in places] for part in (self.x, self.levels))
        return (join_graphs(x, levels, self.walks.n_neighbors, self.device),)


_PREPARED: WeakKeyDictionary[GraphSample, dict] = WeakKeyDictionary()


def _prepare(sample: GraphSample, walks: Walks) -> tuple[np.ndarray, list[Level]]:
    """Return the order of the nodes (n_nodes,) and the levels of the graph in that order."""
    known = _PREPARED.setdefault(sample, {})
    key = format_architecture(walks.layers), walks.n_neighbors, walks.n_steps
    if key not in known:
        n_steps = COLORING_STEPS if walks.n_steps == "auto" else walks.n_steps
        order = np.argsort(refine_colors(sample.graph, _colors(sample), n_steps=n_steps))
        graph = sp.csr_array(sample.graph[order][:, order])
        levels = build_levels(
            graph, walks.layers, n_neighbors=walks.n_neighbors, n_steps=walks.n_steps
        )
        known[key] = order, levels
    return known[key]


def _colors(sample: GraphSample) -> np.ndarray:
    """Return what tells nodes apart before any walk, (n_nodes, n_columns)."""
    given = [part for part in (sample.tags, sample.x) if part is not None]
    return np.column_stack(given or [np.diff(sample.graph.indptr)])
