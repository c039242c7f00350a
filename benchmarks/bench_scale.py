"""Time what grows large: `make bench-scale`.

`selection`: real graphs beside scipy, whose rows are timed on a random sample and scaled, and
compared. `growth`: random graphs, each in a process of its own. `dask`: two worker processes beside
two threads. `tables`: wide tables and their strongest correlations. `processes`: training in one
process and in two. Prints what it finds, and writes it to `results/scale.json` and, as a page,
`scale.md`.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import scipy_rows
from machine import provenance
from scale_dask import GRAPHS, measure_dask
from scale_graphs import FILES, random_graph, real_graphs
from scale_page import RESULTS, write_page
from scale_processes import N_ROWS, measure_processes
from scale_tables import measure_tables
from timing import peak_bytes

import walkconv as wc

N_NEIGHBORS = 10
SAMPLE = {2: 8192, 3: 2048}
"""Rows that scipy is timed on, by steps."""
TURNS = 3
SECONDS = 3.0
"""Fewest turns in which selections are timed, and the fewest seconds."""
MEAN_DEGREE, GROWTH_STEPS = 10, 2
SIZES = (100_000, 1_000_000, 10_000_000)


def warm_up() -> None:
    """Load what the first call loads."""
    graph = random_graph(300, MEAN_DEGREE)
    for n_steps in SAMPLE:
        wc.select_neighbors(graph, n_neighbors=N_NEIGHBORS, n_steps=n_steps, method="sparse")


def measure_selection(names: list[str]) -> list[dict]:
    """Time whole selections of real graphs, and scipy on some of their rows."""
    warm_up()
    rows = []
    for name, graph in real_graphs(names):
        for n_steps in SAMPLE:
            rows.append({"graph": name, **compare(graph, n_steps)})
            print(
                "  {graph:12} k = {n_steps}   ours {seconds:7.2f} s   scipy {scipy_seconds:7.1f} s"
                "   speed-up {speed_up:5.1f}   same: {same}".format(**rows[-1])
            )
    return rows


def compare(graph: sp.csr_array, n_steps: int) -> dict:
    """Time selections and scipy's rows by turns, and compare the neighbours of these rows."""
    n_nodes = graph.shape[0]
    step = sp.csr_array(sp.diags_array(1 / np.maximum(graph.sum(axis=1), 1)) @ graph)
    n_sampled = min(n_nodes, SAMPLE[n_steps])
    rows = np.sort(np.random.default_rng(0).permutation(n_nodes)[:n_sampled])
    times = []
    while len(times) < TURNS or np.sum(times) < SECONDS:
        start = time.perf_counter()
        found = wc.select_neighbors(graph, n_neighbors=N_NEIGHBORS, n_steps=n_steps)
        middle = time.perf_counter()
        scipy_rows.select(step, rows, n_steps, N_NEIGHBORS)
        times.append((middle - start, time.perf_counter() - middle))
    seconds, sampled_seconds = (statistics.median(turns) for turns in zip(*times, strict=True))
    scipy_seconds = sampled_seconds * n_nodes / n_sampled
    return {
        "n_nodes": n_nodes,
        "n_edges": graph.nnz // 2,
        "largest_degree": int(np.diff(graph.indptr).max()),
        "n_steps": n_steps,
        "seconds": seconds,
        "scipy_seconds": scipy_seconds,
        "scipy_rows": n_sampled,
        "speed_up": scipy_seconds / seconds,
        "same": scipy_rows.is_same(step, rows, n_steps, found.index[rows]),
    }


def measure_growth(sizes: list[int]) -> list[dict]:
    """Measure each size in a process of its own."""
    rows = []
    for n_nodes in sizes:
        command = [sys.executable, __file__, "--only", str(n_nodes)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        rows.append(json.loads(output))
        print(
            "  {n_nodes:10,d} nodes: {seconds:8.2f} s, {us:6.2f} us a node, "
            "{gib:5.2f} GiB beyond the graph".format(
                **rows[-1],
                us=1e6 * rows[-1]["seconds"] / n_nodes,
                gib=rows[-1]["extra_bytes"] / 2**30,
            )
        )
    return rows


def measure_size(n_nodes: int) -> dict:
    """Time the selection of one random graph, and its peak memory beyond the graph."""
    warm_up()
    graph = random_graph(n_nodes, MEAN_DEGREE)
    seconds = []

    def select() -> wc.Neighbors:
        start = time.perf_counter()
        found = wc.select_neighbors(graph, n_neighbors=N_NEIGHBORS, n_steps=GROWTH_STEPS)
        seconds.append(time.perf_counter() - start)
        return found

    extra = peak_bytes(select, is_warm=True)
    while sum(seconds) < 2 * SECONDS:
        select()
    arrays = (graph.data, graph.indices, graph.indptr)
    return {
        "n_nodes": n_nodes,
        "n_steps": GROWTH_STEPS,
        "seconds": statistics.median(seconds),
        "graph_bytes": sum(array.nbytes for array in arrays),
        "extra_bytes": extra,
        "allowed_bytes": 6 * n_nodes * N_NEIGHBORS * 8 + 2**30,
    }


def main() -> None:
    """Measure what was asked for and write it beside what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ["selection", "growth", "dask", "tables", "processes"]
    parser.add_argument("parts", nargs="*", default=parts, metavar="|".join(parts))
    parser.add_argument("--graphs", nargs="*", default=list(FILES), help="of the selection")
    parser.add_argument("--dask-graphs", nargs="*", default=GRAPHS, help="of the workers")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, help="of the growth")
    parser.add_argument("--rows", type=int, default=N_ROWS, help="to train on, of the processes")
    parser.add_argument("--only", type=int, help="measure one size and print it as JSON")
    settings = parser.parse_args()
    if unknown := set(settings.parts) - set(parts):
        parser.error(f"the parts are {', '.join(parts)}; got {', '.join(unknown)}")
    if settings.only is not None:
        print(json.dumps(measure_size(settings.only)))
        return
    measure: dict[str, Callable[[], object]] = {
        "selection": lambda: measure_selection(settings.graphs),
        "growth": lambda: measure_growth(settings.sizes),
        "dask": lambda: measure_dask(settings.dask_graphs, warm_up),
        "tables": measure_tables,
        "processes": lambda: measure_processes(settings.rows),
    }
    made_with = provenance("scipy", "distributed")
    print("\n".join(f"{key}: {value}" for key, value in made_with.items()))
    for part in settings.parts:
        print(f"\n{part}")
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[part] = {"made_with": made_with, "measured": measure[part]()}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        write_page()


if __name__ == "__main__":
    main()
