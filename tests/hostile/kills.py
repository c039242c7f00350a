"""Processes killed at random moments: ``python -m tests.hostile.kills --kills 1000``.

Each round starts a process that fits, saves, selects or predicts, kills it at a random moment, and
looks at what it left: every file must be whole, and a checkpoint must never lose what it had. At
the end of a round nothing is killed, and the answer must have the bits of one that never was.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

import walkconv
from walkconv import GraphCNNRegressor
from walkconv.io import write_table
from walkconv.persistence import read_file

X = np.random.default_rng(0).normal(size=(40, 6))
Y = X @ np.arange(6.0)
GRAPH = walkconv.grid_graph((30, 30))
MODEL = GraphCNNRegressor("C3-FC8", n_members=1, max_iter=12, batch_size=20, random_state=0)


def fit(folder):
    """Fit with a checkpoint, then save."""
    model = GraphCNNRegressor(**MODEL.get_params())
    model.fit(X, Y, checkpoint=folder / "c").save(folder / "answer")


def save(folder):
    """Save one model again and again over itself."""
    model = walkconv.load(folder / "model")
    for _ in range(10):
        model.save(folder / "model")
    model.save(folder / "answer")


def select(folder):
    """Select neighbours with a checkpoint."""
    settings = {"n_neighbors": 7, "n_steps": 3, "n_threads": 1}
    found = walkconv.select_neighbors(GRAPH, checkpoint=folder / "c", block_size=9, **settings)
    names = np.arange(found.n_nodes)
    walkconv.io.write_neighbors(found, names, folder / "answer.csv")


def predict(folder):
    """Predict from a file, and write the predictions again and again."""
    import polars as pl

    for _ in range(10):
        found = walkconv.load(folder / "model").predict(X)
        write_table(pl.DataFrame({"prediction": found}), folder / "answer.csv")


WORK = {"fit": fit, "save": save, "select": select, "predict": predict}
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)


class TornError(Exception):
    """A file is not whole, or has lost what it had."""


def look(name, folder, before):
    """Check what a killed process left, and return the size of its checkpoint."""
    for path in folder.iterdir():
        if path.name.startswith(".walkconv-"):
            continue
        if path.name == "answer.csv":
            _check_whole_text(path)
        elif path.name != "c":
            walkconv.load(path)
    checkpoint = folder / "c"
    if not checkpoint.exists():
        size = 0
    elif name == "fit":
        members = read_file(checkpoint, "checkpoint")[1]["members"]
        size = sum(len(each["history"]) for each in members)
    else:
        size = checkpoint.stat().st_size
    if size < before and name == "fit":
        raise TornError(f"the checkpoint had {before} epochs and has {size}")
    if before and not size:
        raise TornError("the checkpoint is gone")
    return size


def _check_whole_text(path):
    # In Python: polars has threads, and a process with threads must not fork.
    lines = path.read_text().split("\n")
    if len({line.count(",") for line in lines[:-1]}) != 1 or lines[-1] or len(lines) < 40:
        raise TornError(f"{path.name} is torn")


def run(name, folder):
    """Start a process that does the work, and return its number."""
    child = os.fork()
    if child:
        return child
    try:
        WORK[name](folder)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def one_round(name, draw, expected, n_kills):
    """Kill the work of one folder several times, then let it end; return the number of kills."""
    done = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        MODEL.save(folder / "model")
        before = 0
        for _ in range(n_kills):
            child = run(name, folder)
            time.sleep(draw.uniform(0, draw.choice([0.01, 0.05, 0.2, 0.5])))
            os.kill(child, draw.choice(SIGNALS))
            status = os.waitpid(child, 0)[1]
            if os.WIFSIGNALED(status):
                done += 1
            elif os.WEXITSTATUS(status):
                raise TornError(f"{name} failed where it should have gone on")
            before = look(name, folder, before)
        if os.waitpid(run(name, folder), 0)[1]:
            raise TornError(f"{name} failed at the end")
        look(name, folder, before)
        answers = [path for path in folder.iterdir() if path.name.startswith("answer")]
        found = {path.name: path.read_bytes() for path in answers}
        if expected is not None and found != expected:
            raise TornError(f"{name} ended with other bits")
        left = [p.name for p in folder.iterdir() if p.name.startswith(".walkconv-")]
        if len(left) > (name in ("save", "predict")) * 2:
            raise TornError(f"{name} left {left}")
    return done, found


def main():
    """Kill until there are enough kills, and print how many hit what."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", choices=list(WORK), action="append")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # a process with threads must not fork
    draw, kills, started = random.Random(arguments.seed), Counter(), time.monotonic()
    MODEL.fit(X, Y)
    names = arguments.work or list(WORK)
    expected = {name: one_round(name, draw, None, 0)[1] for name in names}
    reported = started
    while kills.total() < arguments.kills:
        name = min(names, key=lambda each: kills[each])
        kills[name] += one_round(name, draw, expected[name], draw.randint(1, 8))[0]
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            print(f"{kills.total()} kills {dict(kills)}", flush=True)
    seconds = time.monotonic() - started
    print(f"{kills.total()} kills {dict(kills)} in {seconds:.0f} s: no torn file, equal bits")


if __name__ == "__main__":
    sys.exit(main())
