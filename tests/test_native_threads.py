"""The compiled loops over graphs give the same bits for any number of threads.

`make sanitize-thread` runs these tests under ThreadSanitizer. So they must not import polars, whose
memory allocator crashes there.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import _native, correlation_graph, select_neighbors
from walkconv.graphs.correlation import search
from walkconv.walks import sparse

pytestmark = pytest.mark.skipif(_native.library() is None, reason="the library was not built")

THREADS = (1, 2, 3, 2)


def graph_with_a_hub(rng, n_nodes=700):
    """Few edges for each node, but two nodes with more than half of all."""
    edges = rng.integers(0, n_nodes, (2, 3 * n_nodes))
    hubs = rng.integers(0, 2, n_nodes), rng.integers(0, n_nodes, n_nodes)
    rows, columns = np.hstack([edges, hubs])
    graph = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_nodes, n_nodes))
    return sp.csr_array(graph + graph.T)


@pytest.mark.parametrize("large", [1, 2**16], ids=["tables", "tallies"])
@pytest.mark.parametrize("n_steps", [2, 3, "auto"])
def test_walks(rng, monkeypatch, n_steps, large):
    monkeypatch.setattr(sparse, "LARGE", large)
    graph = graph_with_a_hub(rng)
    if n_steps == 3:
        graph.data = rng.random(graph.nnz)
    found = [
        select_neighbors(
            graph,
            n_neighbors=12,
            n_steps=n_steps,
            method="sparse",
            ties="random",
            random_state=0,
            block_size=40,
            n_threads=n_threads,
        )
        for n_threads in THREADS
    ]
    for each in found[1:]:
        np.testing.assert_array_equal(each.index, found[0].index)
        np.testing.assert_array_equal(each.visits, found[0].visits)


def test_slots(rng):
    positions = rng.random((300, 2))
    graph = sp.csr_array((rng.random((300, 300)) < 0.05) * 1.0)
    found = [
        select_neighbors(
            graph,
            n_neighbors=9,
            n_steps=2,
            order="direction",
            positions=positions,
            method="sparse",
            block_size=20,
            n_threads=n_threads,
        ).index
        for n_threads in THREADS
    ]
    for each in found[1:]:
        np.testing.assert_array_equal(each, found[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_correlations(rng, monkeypatch, dtype):
    causes = rng.normal(size=(60, 40))[:, rng.integers(0, 40, 400)]
    X = (rng.normal(size=(60, 400)) + causes).astype(dtype)
    found = []
    for n_threads in THREADS:
        monkeypatch.setattr(search, "available_threads", lambda n=n_threads: n)
        found.append(correlation_graph(X, n_edges=5, tile_size=64))
    for each in found[1:]:
        np.testing.assert_array_equal(each.indices, found[0].indices)
        np.testing.assert_array_equal(each.data, found[0].data)
