"""Count the files that fit, save, load and predict pass through, and the checks they repeat.

Run it with ``python benchmarks/trace_journeys.py``. A reader who follows a call has to open these
files, so fewer is better. Compiled loops do not count: no Python runs there.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

import walkconv
from walkconv import GraphCNNClassifier

PACKAGE = Path(walkconv.__file__).parent


class Journey:
    """The files of the package that a call enters, and how often each function is called."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.calls: Counter[str] = Counter()

    def follow(self, call: Callable[[], Any]) -> Any:
        """Run a call under the profiler and return its result."""
        sys.setprofile(self._note)
        try:
            return call()
        finally:
            sys.setprofile(None)

    def _note(self, frame: Any, event: str, _: Any) -> None:
        if event != "call":
            return
        path = Path(frame.f_code.co_filename)
        if PACKAGE in path.parents:
            file = path.relative_to(PACKAGE).as_posix()
            self.files[file] = None
            self.calls[frame.f_code.co_name] += 1

    def in_room(self, room: str) -> list[str]:
        """Return the files that lie in a room."""
        return [file for file in self.files if file.startswith(f"{room}/")]


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Return 40 rows of 6 named columns, and two classes."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 6)), columns=list("abcdef"))
    return X, (X["a"] > 0).to_numpy().astype(int)


def graphs() -> tuple[list[nx.Graph], np.ndarray]:
    """Return 16 small graphs, and two classes."""
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(16):
        upper = np.triu(rng.random((7, 7)) < 0.5, 1)
        samples.append(nx.from_numpy_array(upper + upper.T))
    return samples, np.arange(16) % 2


def fit_and_save(path: Path) -> Journey:
    """Follow a fit on a DataFrame and the writing of its file."""
    X, y = table()
    model = GraphCNNClassifier("C2-FC4", max_iter=1, random_state=0)
    journey = Journey()
    journey.follow(lambda: model.fit(X, y).save(path))
    return journey


def load_and_predict(path: Path) -> Journey:
    """Follow the reading of a file and a prediction."""
    X, _ = table()
    journey = Journey()
    journey.follow(lambda: walkconv.load(path).predict(X))
    return journey


def fit_graphs() -> Journey:
    """Follow a fit on 16 graphs."""
    samples, y = graphs()
    model = GraphCNNClassifier("C2-P2-C2-G-FC4", max_iter=1, random_state=0)
    journey = Journey()
    journey.follow(lambda: model.fit(samples, y))
    return journey


def main() -> None:
    """Print a line for each journey."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        fit_and_save(path)  # once before: what is imported or compiled on first use is not counted
        journeys = {
            "fit + save": fit_and_save(path),
            "load + predict": load_and_predict(path),
            "fit on 16 graphs": fit_graphs(),
        }
    for name, journey in journeys.items():
        inside = len(journey.in_room("estimators"))
        print(f"{name}: {len(journey.files)} files, {inside} in estimators/")
        print(f"  settings checked {journey.calls['check_settings']} times, ", end="")
        print(f"architecture parsed {journey.calls['parse_architecture']} times, ", end="")
        print(f"graphs validated {journey.calls['as_graph']} times")
        if "--files" in sys.argv:
            print("\n".join(f"    {file}" for file in journey.files))


if __name__ == "__main__":
    main()
