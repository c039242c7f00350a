"""Collections of graphs, divided into folds."""

from collections.abc import Sequence
from functools import cache

import networkx as nx
import numpy as np
from sklearn.model_selection import StratifiedKFold

from experiments.data import Data, accuracy
from walkconv import GraphSample
from walkconv.datasets import load_tu

N_FOLDS = 10
SMOKE_FOLDS = 2


def load_folds(name: str, *, seed: int, is_smoke: bool) -> list[Data]:
    """Return the collection once for each fold, which is tested on; the seed divides it.

    Every fold has the same share of each class.
    """
    graphs, y = _small_collection() if is_smoke else _collection(name)
    folds = StratifiedKFold(SMOKE_FOLDS if is_smoke else N_FOLDS, shuffle=True, random_state=seed)
    return [
        Data(graphs[a], y[a], graphs[b], y[b], "classification", measure=accuracy)
        for a, b in folds.split(y, y)
    ]


@cache
def _collection(name: str) -> tuple[np.ndarray, np.ndarray]:
    collection = load_tu(name)
    return _as_array([_with_degrees(graph) for graph in collection.graphs]), collection.y


@cache
def _small_collection() -> tuple[np.ndarray, np.ndarray]:
    """Return rings and stars."""
    shapes = [make(n) for n in range(4, 24) for make in (nx.cycle_graph, nx.star_graph)]
    graphs = [GraphSample(shape, tags=np.arange(len(shape)) % 2) for shape in shapes]
    return _as_array([_with_degrees(graph) for graph in graphs]), np.tile([0, 1], 20)


def _with_degrees(sample: GraphSample) -> GraphSample:
    """Return the graph with log(1 + degree) as one more node feature."""
    degrees = np.log1p(np.diff(sample.graph.indptr))
    known = degrees if sample.x is None else np.column_stack([sample.x, degrees])
    return GraphSample(sample.graph, x=known, tags=sample.tags)


def _as_array(graphs: Sequence[GraphSample]) -> np.ndarray:
    array = np.empty(len(graphs), dtype=object)
    array[:] = graphs
    return array
