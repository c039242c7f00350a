"""Wide tables: the strongest correlations of every column, beside what they are made of.

In single precision half of the tiles of the matrix, products only, on columns that are already
centred and scaled, is the least work that finds all correlations; `numpy.corrcoef` and a partition
of its rows is what one would write without thinking of memory.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
from page import table
from timing import peak_bytes

import walkconv as wc

N_EDGES, N_ROWS, TILE = 10, 2_000, 1024
BARE, NUMPY = "bare products", "numpy"
TABLES = ((50_000, BARE), (20_000, BARE), (10_000, BARE), (10_000, NUMPY))
"""Numbers of columns, and the rivals timed beside walkconv."""
TURNS = 3


def measure_tables() -> list[dict]:
    """Time and weigh the strongest correlations of every table."""
    wc.correlation_graph(wide_table(500), n_edges=N_EDGES)
    rows = []
    for n_columns, rival in TABLES:
        rows.append(compare(n_columns, rival))
        print(
            "  {n_columns:6,d} columns   ours {seconds:6.2f} s, {extra_bytes:14,d} bytes   "
            "{rival} {rival_seconds:6.2f} s, {rival_bytes:14,d} bytes".format(**rows[-1])
        )
    return rows


def tables_section(rows: list[dict]) -> list[str]:
    """Return what was measured as Markdown."""
    lines = [
        [
            f"{row['n_columns']:,}",
            row["rival"],
            f"{row['seconds']:.2f} s",
            f"{row['rival_seconds']:.2f} s",
            f"{row['seconds'] / row['rival_seconds']:.2f}",
            f"{row['extra_bytes'] / 2**30:.2f} GiB",
            f"{row['rival_bytes'] / 2**30:.2f} GiB",
        ]
        for row in rows
    ]
    header = ["columns", "beside", "walkconv", "the other", "ratio", "memory", "of the other"]
    return [
        f"## Wide tables: {rows[0]['n_rows']:,} rows, the {rows[0]['n_edges']} strongest "
        "correlations of every column",
        "`correlation_graph` with `n_edges`, medians of 3 turns, and peak memory beyond the table, "
        "which is in single precision. Bare products: half of the tiles of the matrix multiplied "
        "in single precision and thrown away, on columns centred and scaled before (what is ready "
        "before is not counted in their memory). numpy: `corrcoef` and `argpartition`.",
        table(header, lines),
    ]


def compare(n_columns: int, rival: str) -> dict:
    """Weigh each, then time both by turns."""
    X = wide_table(n_columns)

    def ours() -> object:
        return wc.correlation_graph(X, n_edges=N_EDGES)

    extra_bytes = peak_bytes(ours, is_warm=True)
    others = {BARE: bare_products, NUMPY: all_pairs}[rival](X)
    rival_bytes = peak_bytes(others, is_warm=True)
    turns = [(_seconds(ours), _seconds(others)) for _ in range(TURNS)]
    seconds, rival_seconds = (statistics.median(turn) for turn in zip(*turns, strict=True))
    return {
        "n_columns": n_columns,
        "n_rows": N_ROWS,
        "n_edges": N_EDGES,
        "rival": rival,
        "seconds": seconds,
        "rival_seconds": rival_seconds,
        "extra_bytes": extra_bytes,
        "rival_bytes": rival_bytes,
    }


def wide_table(n_columns: int) -> np.ndarray:
    """Return a table (N_ROWS, n_columns) in single precision: groups of ten alike, and noise."""
    rng = np.random.default_rng(0)
    causes = rng.standard_normal((N_ROWS, -(-n_columns // 10)), dtype=np.float32)
    X = rng.standard_normal((N_ROWS, n_columns), dtype=np.float32)
    X += causes[:, rng.integers(0, causes.shape[1], size=n_columns)]
    return X


def bare_products(X: np.ndarray) -> Callable[[], object]:
    """Return the products of half of the tiles, on columns made ready before."""
    ready = X - X.mean(axis=0)
    ready /= np.linalg.norm(ready, axis=0)
    blocks = [ready[:, start : start + TILE].copy() for start in range(0, X.shape[1], TILE)]
    del ready

    def multiply() -> None:
        for place, here in enumerate(blocks):
            for there in blocks[place:]:
                here.T @ there

    return multiply


def all_pairs(X: np.ndarray) -> Callable[[], object]:
    """Return all correlations by numpy, and the strongest of each column."""

    def partition() -> np.ndarray:
        strength = np.abs(np.corrcoef(X.T))
        np.fill_diagonal(strength, 0.0)
        return np.argpartition(strength, -N_EDGES, axis=1)[:, -N_EDGES:]

    return partition


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
