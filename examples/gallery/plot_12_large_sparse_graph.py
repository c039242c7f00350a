"""
A large sparse graph
====================

Neighbours by random walk on a graph with 200,000 nodes, in seconds. Time and memory grow with the
number of nodes.
"""

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import walkconv as wc


def random_graph(n_nodes, degree=10, seed=0):
    """Return a random sparse graph with this mean degree."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_nodes, size=(2, n_nodes * degree // 2))
    return wc.graph_from_edges(ends[:, ends[0] != ends[1]], n_nodes=n_nodes)


# %%
sizes = [12_500, 25_000, 50_000, 100_000, 200_000]
seconds = []
for n_nodes in sizes:
    graph = random_graph(n_nodes)
    start = time.perf_counter()
    neighbors = wc.select_neighbors(graph, n_neighbors=10, n_steps=2)
    seconds.append(time.perf_counter() - start)
    print(f"{n_nodes:>8,} nodes, {graph.nnz:>9,} entries: {seconds[-1]:.2f} s")
print(neighbors)

# %%
figure, ax = plt.subplots(figsize=(5.4, 3), layout="constrained")
ax.loglog(sizes, seconds, "o-", color="#00798c")
ax.set(xlabel="nodes", ylabel="seconds")
plt.show()
