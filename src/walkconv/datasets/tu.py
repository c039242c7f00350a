"""Collections of graphs with a class each: MUTAG, PROTEINS, ENZYMES and others in their format."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from walkconv._adapters import edges_to_matrix
from walkconv._samples import GraphSample
from walkconv.datasets._places import DatasetNotFoundError, data_folders


@dataclass(frozen=True, eq=False)
class GraphCollection:
    """Graphs with a class each.

    Attributes
    ----------
    graphs : tuple of GraphSample
        Undirected, without weights. `tags` are the node types, and `x` the node features if the
        file has any.
    y : ndarray of shape (n_graphs,), int64
        The classes.
    name, source : str
        Which collection, and the file it came from.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import GraphSample, grid_graph
    >>> from walkconv.datasets import GraphCollection
    >>> paths = tuple(GraphSample(grid_graph((n,))) for n in (2, 4))
    >>> GraphCollection(paths, y=np.array([0, 1]), name="paths", source="made here")
    GraphCollection('paths', 2 graphs, 3.0 nodes each, 2 classes)
    """

    graphs: tuple[GraphSample, ...]
    y: np.ndarray
    name: str
    source: str

    def __repr__(self) -> str:
        n_nodes = sum(graph.n_nodes for graph in self.graphs) / len(self.graphs)
        return (
            f"GraphCollection({self.name!r}, {len(self.graphs)} graphs, {n_nodes:.1f} nodes each, "
            f"{len(np.unique(self.y))} classes)"
        )


def load_tu(name: str, *, data_home: str | os.PathLike[str] | None = None) -> GraphCollection:
    """Return a collection of graphs from ``<NAME>.txt``.

    The first line is the number of graphs. Each graph has a line ``n_nodes class``, then for each
    node ``tag degree neighbour neighbour ...``, with attributes after the neighbours if there are
    any. The file is looked for in `data_home`, in the folder that ``$WALKCONV_DATA`` names and in
    the cache, and in the subfolders of each. It is not downloaded.

    Parameters
    ----------
    name : str
        MUTAG, PROTEINS, ENZYMES or the name of any other such file.
    data_home : path, optional
        A folder to look in first.

    Returns
    -------
    GraphCollection
        `graphs` and `y`.

    Raises
    ------
    DatasetNotFoundError
        When no folder has the file; the message lists every folder.

    Examples
    --------
    >>> from walkconv.datasets import load_tu
    >>> load_tu("MUTAG", data_home="data")  # doctest: +SKIP
    GraphCollection('MUTAG', 188 graphs, 17.9 nodes each, 2 classes)
    """
    path = _find(name, data_home)
    try:
        with path.open(encoding="utf-8") as file:
            lines = [line.split() for line in file if line.strip()]
        graphs, classes = _parse(lines)
        y = np.array(classes, dtype=np.int64)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise ValueError(
            f"{path} must list its graphs as `n_nodes class`, then for each node "
            f"`tag degree neighbours`; {error}."
        ) from None
    return GraphCollection(tuple(graphs), y, name, str(path))


def _find(name: str, data_home: str | os.PathLike[str] | None) -> Path:
    attempts = []
    for label, parent in data_folders(data_home):
        found = [*parent.glob(f"{name}.txt"), *sorted(parent.glob(f"*/{name}.txt"))]
        if found:
            return found[0]
        attempts.append((f"{label} {parent}", f"no {name}.txt, neither here nor one folder down"))
    raise DatasetNotFoundError(
        f"The collection {name}",
        attempts,
        f"Put {name}.txt in a folder, and pass it as data_home or set the environment variable "
        "WALKCONV_DATA to it.",
    )


def _parse(lines: list[list[str]]) -> tuple[list[GraphSample], list[int]]:
    n_graphs, place = int(lines[0][0]), 1
    if n_graphs < 1:
        raise ValueError(f"the first line must be the number of graphs; it is {n_graphs}")
    graphs, classes = [], []
    for _ in range(n_graphs):
        n_nodes, label = (int(word) for word in lines[place][:2])
        graphs.append(_parse_graph(lines[place + 1 : place + 1 + n_nodes], n_nodes))
        classes.append(label)
        place += 1 + n_nodes
    if place != len(lines):
        raise ValueError(f"{len(lines) - place} lines are left after {n_graphs} graphs")
    return graphs, classes


def _parse_graph(lines: list[list[str]], n_nodes: int) -> GraphSample:
    if len(lines) < n_nodes:
        raise ValueError("the last graph is not whole")
    degrees = [int(words[1]) for words in lines]
    targets = [
        int(word)
        for words, degree in zip(lines, degrees, strict=True)
        for word in words[2 : 2 + degree]
    ]
    edges = np.stack([np.repeat(np.arange(n_nodes), degrees), np.array(targets, dtype=np.int64)])
    attributes = [
        [float(word) for word in words[2 + degree :]]
        for words, degree in zip(lines, degrees, strict=True)
    ]
    tags = np.array([int(words[0]) for words in lines])
    matrix = edges_to_matrix(edges, n_nodes=n_nodes)
    return GraphSample(matrix, x=attributes if attributes[0] else None, tags=tags)
