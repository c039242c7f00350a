"""The graphs of `bench_scale.py`: real ones from files, random ones of any size."""

import gzip
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

FILES = {
    "cnr-2000": "cnr2000_csr.npz",
    "email-Enron": "email-Enron.txt.gz",
    "ca-GrQc": "ca-GrQc.txt.gz",
}


def real_graphs(names: Iterable[str]) -> Iterator[tuple[str, sp.csr_array]]:
    """Yield the graphs that are found, with their names; say which are not."""
    for name in names:
        graph = real_graph(name)
        if graph is None:
            print(f"  {name}: not found; set WALKCONV_DATA")
        else:
            yield name, graph


def real_graph(name: str) -> sp.csr_array | None:
    """Return a graph without loops, an edge of weight 1 where either end names the other.

    The files are in the folder `graphs` of ``$WALKCONV_DATA``. Returns None if they are missing.
    """
    path = Path(os.environ.get("WALKCONV_DATA", ".")) / "graphs" / FILES[name]
    if not path.is_file():
        return None
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            target = arrays["indices"]
            source = np.repeat(np.arange(len(arrays["indptr"]) - 1), np.diff(arrays["indptr"]))
    else:
        with gzip.open(path, "rt") as file:
            edges = [line.split() for line in file if line[0].isdigit()]
        _, ends = np.unique(np.array(edges, dtype=np.int64), return_inverse=True)
        source, target = ends.reshape(-1, 2).T
    return undirected(source[source != target], target[source != target])


def random_graph(n_nodes: int, mean_degree: int) -> sp.csr_array:
    """Return a graph of random edges of weight 1."""
    rng = np.random.default_rng(0)
    n_edges = n_nodes * mean_degree // 2
    ends = rng.integers(0, n_nodes, size=(2, n_edges), dtype=np.int32)
    return undirected(*ends, n_nodes=n_nodes)


def undirected(source: np.ndarray, target: np.ndarray, n_nodes: int | None = None) -> sp.csr_array:
    """Return a symmetric matrix of ones."""
    n_nodes = n_nodes or int(max(source.max(), target.max())) + 1
    ends = np.concatenate([source, target]), np.concatenate([target, source])
    graph = sp.csr_array((np.ones(len(ends[0])), ends), shape=(n_nodes, n_nodes))
    graph.sum_duplicates()
    graph.data[:] = 1.0
    return graph
