"""Train on a table larger than the memory it may take: `make bench-out-of-core`.

The table is a memory map of float64 that is made on the fly and deleted at the end; its size in GB
is the only argument (default 20). Each fit runs in a process of its own, which tells its largest
resident memory. A smaller table is fitted in memory and from the disk in turns, for the time per
row. Writes `results/out_of_core.json` and, as a page, `results/out_of_core.md`.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from machine import provenance
from page import origin, table
from sklearn.base import clone

import walkconv

RESULTS = Path(__file__).parent / "results" / "out_of_core.json"
PAGE = RESULTS.with_suffix(".md")
N_COLUMNS, SMALL_ROWS, SMALL_ROUNDS, ROWS_AT_ONCE = 200, 200_000, 5, 50_000
ROW_BYTES = 8 * N_COLUMNS
ARCHITECTURE, BATCH = "C4-FC16", 1024
WAYS = {"memory": "an array", "disk": "a memory map", "parquet": "a Parquet file"}


def make_table(path: Path, n_rows: int) -> None:
    """Write rows whose neighbouring columns agree, and their targets."""
    rng = np.random.default_rng(0)
    shape = (n_rows, N_COLUMNS)
    X = np.lib.format.open_memmap(path / "X.npy", mode="w+", dtype=np.float64, shape=shape)
    y = np.empty(n_rows, dtype=np.float32)
    for start in range(0, n_rows, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, n_rows))
        size = rows.stop - start
        steps = rng.standard_normal((size, N_COLUMNS), dtype=np.float32)
        part = np.cumsum(steps, axis=1)
        X[rows], y[rows] = part, np.abs(part[:, 40] - part[:, 41])
    X.flush()
    np.save(path / "y.npy", y)


def fit(folder: str, way: str) -> None:
    """Fit once and print the seconds and the largest resident memory."""
    path = Path(folder)
    y = np.load(path / "y.npy")
    X: object = np.load(path / "X.npy", mmap_mode=None if way == "memory" else "r")
    if way == "parquet":
        X = path / "X.parquet"
    model = walkconv.GraphCNNRegressor(
        ARCHITECTURE, n_members=1, max_iter=1, batch_size=BATCH, random_state=0
    )
    clone(model).fit(np.eye(9), np.arange(9))  # a first fit imports what torch needs
    start, start_cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - start_cpu
    status = Path("/proc/self/status").read_text().splitlines()
    peak = int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024
    found = {"seconds": seconds, "cpu_seconds": cpu_seconds, "peak_bytes": peak}
    print(json.dumps(found | {"loss": model.history_[0]["loss"]}))


def measured(folder: str, way: str) -> dict:
    """Return what a process of its own measures."""
    words = [sys.executable, __file__, "fit", folder, way]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def page(results: dict) -> str:
    """Return the results as Markdown."""
    fits = results["fits"]
    kinds = dict.fromkeys((row["n_rows"], row["way"]) for row in fits)
    lines = []
    for n_rows, way in kinds:
        same = [row for row in fits if (row["n_rows"], row["way"]) == (n_rows, way)]
        cpu, seconds = (median(row[name] for row in same) for name in ("cpu_seconds", "seconds"))
        lines.append(
            [
                f"{n_rows:,} rows, {n_rows * ROW_BYTES / 1e9:.2g} GB, as {WAYS[way]}",
                f"{cpu:.1f} s",
                f"{1e6 * cpu / n_rows:.1f} µs",
                f"{seconds:.0f} s",
                f"{max(row['peak_bytes'] for row in same) / 2**30:.2f} GiB",
                f"{same[0]['loss']:.3f}",
            ]
        )
    parts = [
        "# Tables larger than memory: what was measured",
        "Written by `make bench-out-of-core` from `out_of_core.json`. "
        f"`GraphCNNRegressor({ARCHITECTURE!r})`, batches of {BATCH}, one member, one epoch, on "
        f"{N_COLUMNS} columns of float64: scaling, correlation graph and training. Times of the "
        f"smaller table are medians of {SMALL_ROUNDS} fits that took turns. Memory is the largest "
        "resident memory of the process, Python and torch included.",
        table(["", "CPU time", "per row", "time by the clock", "memory", "loss"], lines),
        origin(results["made_with"]),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure, print the page and write it."""
    import polars as pl

    gb = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    n_large = int(gb * 1e9 / ROW_BYTES)
    results: dict = {"made_with": provenance("polars"), "fits": []}
    for n_rows, ways in ((n_large, ["disk"]), (SMALL_ROWS, list(WAYS) * SMALL_ROUNDS)):
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            make_table(Path(folder), n_rows)
            if "parquet" in ways:
                pl.DataFrame(np.load(f"{folder}/X.npy")).write_parquet(f"{folder}/X.parquet")
            for way in ways:
                results["fits"].append({"n_rows": n_rows, "way": way} | measured(folder, way))
                RESULTS.write_text(json.dumps(results, indent=1) + "\n")
                PAGE.write_text(page(results))
    print(page(results))


if __name__ == "__main__":
    fit(*sys.argv[2:]) if sys.argv[1:2] == ["fit"] else main()
