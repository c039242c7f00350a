"""Time coarsening and the pooled training step on a large graph: `make bench-pooling`.

100,000 columns with 10 neighbours each. Beside the time of the coarsening stand one epoch of a
network on that graph and the training step with and without pooling. Prints what it finds, and
writes it to `results/pooling.json` and, as a page, to `results/pooling.md`.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch
from machine import provenance
from page import origin, table
from scipy.spatial import cKDTree
from torch import nn

import walkconv as wc
from walkconv.networks import Network, NetworkPlan, build_levels, parse_architecture

RESULTS = Path(__file__).parent / "results" / "pooling.json"
PAGE = RESULTS.with_suffix(".md")
N_NODES, N_EDGES, N_NEIGHBORS = 100_000, 10, 9
N_SAMPLES, BATCH, TIMED_STEPS = 10_000, 32, 3
ARCHITECTURES = ("C16-G", "C16-P4-G", "C16-C16-G", "C16-P4-C16-P4-G")


def columns_in_a_plane(n_nodes: int) -> sp.csr_array:
    """Return a graph in which every node points to the 10 nearest of points in a square."""
    places = np.random.default_rng(0).uniform(size=(n_nodes, 2))
    near = cKDTree(places).query(places, k=N_EDGES + 1)[1][:, 1:]
    rows = np.repeat(np.arange(n_nodes), N_EDGES)
    ones = np.ones(near.size)
    return sp.csr_array((ones, (rows, near.ravel())), shape=(n_nodes, n_nodes))


def seconds(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def step_seconds(graph: sp.csr_array, architecture: str) -> float:
    """Return the median time of a training step, all layers and the optimiser included."""
    layers = parse_architecture(architecture)
    torch.manual_seed(0)
    levels = build_levels(graph, layers, n_neighbors=N_NEIGHBORS)
    n_nodes = graph.shape[0]
    plan = NetworkPlan(
        layers=layers, levels=levels, n_nodes=n_nodes, n_outputs=10, normalization=None
    )
    network = Network(plan)
    optimizer = torch.optim.AdamW(network.parameters())
    rows, labels = torch.randn(BATCH, graph.shape[0], 1), torch.randint(0, 10, (BATCH,))

    def step() -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(rows), labels).backward()
        optimizer.step()

    step()
    return float(np.median([seconds(step) for _ in range(TIMED_STEPS)]))


def page(results: dict) -> str:
    """Return the results as Markdown."""
    steps, coarsening = results["step_seconds"], results["coarsen_seconds"]
    n_steps = -(-N_SAMPLES // BATCH)
    epoch = n_steps * steps[ARCHITECTURES[0]]
    parts = [
        "# Pooling: what was measured",
        "Written by `make bench-pooling` from `pooling.json`. "
        f"{N_NODES:,} columns, each with edges to its {N_EDGES} nearest of points in a square.",
        f"Choosing {results['n_groups']:,} groups of 4 or fewer took {coarsening:.1f} s. One epoch "
        f"of {ARCHITECTURES[0]} over {N_SAMPLES:,} rows in batches of {BATCH} takes {epoch:.0f} s, "
        f"{epoch / coarsening:.0f} times as long (scaled from {TIMED_STEPS} of {n_steps} steps).",
        table(
            [f"training step without normalisation, batch of {BATCH}", "time"],
            [[name, f"{1e3 * taken:.0f} ms"] for name, taken in steps.items()],
        ),
        origin(results["made_with"]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure, print the page and write it."""
    made_with = provenance("scipy")
    wc.coarsen(columns_in_a_plane(1000))
    graph = columns_in_a_plane(N_NODES)
    coarsening = []
    taken = seconds(lambda: coarsening.append(wc.coarsen(graph)))
    results = {
        "made_with": made_with,
        "coarsen_seconds": taken,
        "n_groups": coarsening[0].n_groups,
        "step_seconds": {name: step_seconds(graph, name) for name in ARCHITECTURES},
    }
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    main()
