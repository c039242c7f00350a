"""Workers of a dask cluster beside threads: the part `dask` of `bench_scale`."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from page import table
from scale_graphs import real_graphs

import walkconv as wc

GRAPHS = ("cnr-2000",)
N_NEIGHBORS, STEPS = 10, (2, 3)
N_WORKERS, TURNS = 2, 9


def measure_dask(names: list[str], warm_up: Callable[[], None]) -> list[dict]:
    """Time selections by worker processes of one thread beside as many threads, by turns.

    `warm_up` loads what the first call loads; it is called here and in the workers.
    """
    from distributed import Client, LocalCluster

    warm_up()
    rows = []
    with (
        patch.dict(os.environ),  # dask sets one thread there for later processes
        LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        client.run(warm_up)
        for name, graph in real_graphs(names):
            for n_steps in STEPS:
                rows.append({"graph": name, **compare(graph, n_steps, client)})
                print(
                    "  {graph:12} k = {n_steps}   threads {seconds:7.2f} s   workers "
                    "{dask_seconds:7.2f} s   overhead {overhead:4.0%}   same: {same}".format(
                        **rows[-1]
                    )
                )
    return rows


def compare(graph: sp.csr_array, n_steps: int, client: Any) -> dict:
    """Time threads and workers by turns, sending the graph included, and compare the answers."""
    settings = {"n_neighbors": N_NEIGHBORS, "n_steps": n_steps}
    times = []
    for _ in range(TURNS):
        start = time.perf_counter()
        expected = wc.select_neighbors(graph, n_threads=N_WORKERS, **settings)
        middle = time.perf_counter()
        found = wc.select_neighbors(graph, client=client, **settings)
        times.append((middle - start, time.perf_counter() - middle))
    seconds, dask_seconds = (statistics.median(turns) for turns in zip(*times, strict=True))
    return {
        "n_nodes": graph.shape[0],
        "n_steps": n_steps,
        "n_workers": N_WORKERS,
        "seconds": seconds,
        "dask_seconds": dask_seconds,
        "overhead": dask_seconds / seconds - 1,
        "same": np.array_equal(found.index, expected.index)
        and np.array_equal(found.visits, expected.visits)
        and np.array_equal(found.sign, expected.sign),
    }


def dask_section(rows: list[dict]) -> list[str]:
    """Return what was measured as Markdown."""
    lines = [
        [
            row["graph"],
            f"{row['n_nodes']:,}",
            str(row["n_steps"]),
            f"{row['seconds']:.2f} s",
            f"{row['dask_seconds']:.2f} s",
            f"{100 * row['overhead']:.0f} %",
            "yes" if row["same"] else "no",
        ]
        for row in rows
    ]
    n_workers = rows[0]["n_workers"]
    return [
        f"## Workers of a dask cluster, p = 10: {n_workers} processes beside {n_workers} threads",
        "The cluster was running; sending the graph and collecting the "
        f"neighbours count. Medians of {TURNS} turns; index, visits and sign were compared bit for "
        "bit.",
        table(["graph", "nodes", "k", "threads", "workers", "overhead", "same"], lines),
    ]
