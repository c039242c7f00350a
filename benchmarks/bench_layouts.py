"""Time layouts and oriented slots as the graph grows, beside an epoch: `make bench-layouts`.

Times are core-seconds, of all threads together: they do not depend on what else the machine does.
Prints the table, and writes what it holds to `results/layouts.json`.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from machine import provenance
from scipy.spatial import cKDTree
from torch import nn

import walkconv as wc

RESULTS = Path(__file__).parent / "results" / "layouts.json"
N_SAMPLES, BATCH, N_FILTERS, N_NEIGHBORS = 10_000, 128, 32, 25
TIMED_BATCHES = 4


def columns_in_a_plane(n_nodes: int) -> sp.csr_array:
    """Return weights that fall with the distance, noisy, of shuffled sites up to 4 steps apart."""
    rng = np.random.default_rng(0)
    width = int(np.sqrt(n_nodes))
    sites = np.stack(np.divmod(rng.permutation(n_nodes), width), axis=1)
    a, b = cKDTree(sites).query_pairs(4.0, output_type="ndarray").T
    gap = np.linalg.norm(sites[a] - sites[b], axis=1)
    weight = np.exp(-gap / 4) * rng.uniform(0.9, 1.1, size=len(a))
    half = sp.csr_array((weight, (a, b)), shape=(n_nodes, n_nodes))
    return sp.csr_array(half + half.T)


def measure(n_nodes: int) -> dict[str, float]:
    """Time layout and slots of one graph, in a process of its own, whose peak memory it is."""
    small = columns_in_a_plane(100)
    wc.select_neighbors(
        small, n_neighbors=9, order="direction", positions=wc.layout_graph(small).positions
    )
    graph = columns_in_a_plane(n_nodes)
    before = peak_bytes()
    start = time.process_time()
    layout = wc.layout_graph(graph)
    middle = time.process_time()
    neighbors = wc.select_neighbors(
        graph, n_neighbors=N_NEIGHBORS, order="direction", positions=layout.positions
    )
    return {
        "n_nodes": n_nodes,
        "layout_core_seconds": middle - start,
        "slots_core_seconds": time.process_time() - middle,
        "peak_bytes": peak_bytes(),
        "peak_bytes_before": before,
        "filled": float((neighbors.index >= 0).mean()),
    }


def peak_bytes() -> int:
    """Return the largest size this process has had (Linux)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def epoch_core_seconds(n_nodes: int) -> float:
    """Time a few batches of a one-layer network and return the core-seconds of an epoch."""
    torch.manual_seed(0)
    width = int(np.sqrt(n_nodes))
    positions = np.stack(np.divmod(np.arange(n_nodes), width), axis=1)
    neighbors = wc.select_neighbors(
        wc.grid_graph((width, width)),
        n_neighbors=N_NEIGHBORS,
        n_steps=3,
        order="direction",
        positions=positions,
    )
    network = nn.Sequential(
        wc.GraphConv(1, N_FILTERS, neighbors),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(n_nodes * N_FILTERS, 10),
    )
    optimizer = torch.optim.AdamW(network.parameters())
    rows, labels = torch.randn(BATCH, n_nodes, 1), torch.randint(0, 10, (BATCH,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(rows), labels).backward()
        optimizer.step()

    step()
    start = time.process_time()
    for _ in range(TIMED_BATCHES):
        step()
    return (time.process_time() - start) / TIMED_BATCHES * np.ceil(N_SAMPLES / BATCH)


def main() -> None:
    """Measure each size in a process of its own, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, help="measure one number of nodes and print it as JSON")
    only = parser.parse_args().only
    if only is not None:
        print(json.dumps(measure(only)))
        return
    made_with = provenance("scipy")
    print("\n".join(f"{key}: {value}" for key, value in made_with.items()))
    rows = []
    for n_nodes in (1_000, 10_000, 100_000):
        command = [sys.executable, __file__, "--only", str(n_nodes)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append(json.loads(output))
        print(
            "{n_nodes:8,d} nodes: layout {layout_core_seconds:7.2f} s   "
            "slots {slots_core_seconds:6.2f} s   peak {gib:5.2f} GiB".format(
                gib=rows[-1]["peak_bytes"] / 2**30, **rows[-1]
            )
        )
    epoch = epoch_core_seconds(10_000)
    print(
        f"  one epoch of C{N_FILTERS} on 10,000 nodes, {N_SAMPLES:,} samples, batch {BATCH}: "
        f"{epoch:.1f} s (from {TIMED_BATCHES} batches)"
    )
    RESULTS.write_text(
        json.dumps({"made_with": made_with, "sizes": rows, "epoch_core_seconds": epoch}, indent=1)
        + "\n"
    )


if __name__ == "__main__":
    main()
