"""Time an epoch of training in one process and in two: the part `processes` of `bench_scale`.

Every contestant is a run of this file, alone or under ``torchrun``, by turns.
"""

import json
import os
import statistics
import subprocess
import sys

import numpy as np
from page import table

ARCHITECTURES = ("C20-C20", "C20-C20-FC512")
CONTESTANTS = {
    "1 process, 1 thread": (1, 1),
    "1 process, 2 threads": (1, 2),
    "2 processes, 1 thread each": (2, 1),
}
"""Processes, and threads of each."""
N_ROWS, N_COLUMNS, N_CLASSES = 12_800, 717, 10
BATCH_SIZE, N_EPOCHS = 128, 2
TURNS = 3


def measure_processes(n_rows: int = N_ROWS) -> list[dict]:
    """Return seconds per epoch of each contestant, medians over the turns, and the last loss."""
    rows = []
    for architecture in ARCHITECTURES:
        seconds: dict[str, list[float]] = {name: [] for name in CONTESTANTS}
        ran: dict = {}
        for _ in range(TURNS):
            for name, (n_processes, n_threads) in CONTESTANTS.items():
                ran[name] = _run(architecture, n_rows, n_processes, n_threads)
                seconds[name].append(ran[name]["seconds"])
        rows.append(
            {
                "architecture": architecture,
                "n_rows": n_rows,
                "n_columns": N_COLUMNS,
                "batch_size": BATCH_SIZE,
                "n_parameters": ran[next(iter(ran))]["n_parameters"],
                "seconds": {name: statistics.median(each) for name, each in seconds.items()},
                "loss": {name: ran[name]["loss"] for name in CONTESTANTS},
            }
        )
        for name in CONTESTANTS:
            print(f"  {architecture:14} {name:27} {rows[-1]['seconds'][name]:7.2f} s an epoch")
    return rows


def processes_section(rows: list[dict]) -> list[str]:
    """Return what was measured as Markdown."""
    names = list(rows[0]["seconds"])
    lines = []
    for row in rows:
        losses = [row["loss"][name] for name in names]
        lines.append(
            [
                row["architecture"],
                f"{row['n_parameters']:,}",
                *(f"{row['seconds'][name]:.2f} s" for name in names),
                f"{max(losses) / min(losses) - 1:.0e}",
            ]
        )
    first = rows[0]
    return [
        "## Training in several processes",
        f"Seconds of an epoch on one machine: {first['n_rows']:,} random rows of "
        f"{first['n_columns']} columns, batches of {first['batch_size']}, the last of {N_EPOCHS} "
        f"epochs; medians of {TURNS} turns. Processes add up their gradients, 4 bytes a weight, "
        "after every batch. The last column is how far apart the losses of that epoch are.",
        table(["network", "weights", *names, "losses apart"], lines),
    ]


def _run(architecture: str, n_rows: int, n_processes: int, n_threads: int) -> dict:
    command = [__file__, architecture, str(n_rows)]
    if n_processes > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
        command = [*launcher, str(n_processes), *command]
    environment = {**os.environ, "OMP_NUM_THREADS": str(n_threads)}
    done = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, text=True, env=environment
    )
    return json.loads(done.stdout)


def _fit(architecture: str, n_rows: int) -> None:
    import walkconv as wc

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_COLUMNS)).astype(np.float32)
    y = rng.integers(N_CLASSES, size=n_rows)
    model = wc.GraphCNNClassifier(
        architecture,
        n_neighbors=6,
        batch_size=BATCH_SIZE,
        max_iter=N_EPOCHS,
        n_members=1,
        random_state=0,
    )
    with wc.join_processes() as processes:
        model.fit(X, y)
    if processes.is_first:
        record = {key: model.history_[-1][key] for key in ("seconds", "loss")}
        print(json.dumps({**record, "n_parameters": model.n_parameters_}))


if __name__ == "__main__":
    _fit(sys.argv[1], int(sys.argv[2]))
