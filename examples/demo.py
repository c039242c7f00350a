"""Read handwritten digits without knowing that they are pictures.

The pixels of MNIST are shuffled, so that their order says nothing. The library finds the plane that
they came from, and trains a small network whose filters have directions in that plane. The network
is saved, used from the command line, and described in a report. A picture shows the neighbourhoods
on the true grid, which the network never saw.

    python examples/demo.py             MNIST, about three minutes on two cores
    python examples/demo.py --digits    the small digits that come with scikit-learn, some seconds
"""

import subprocess
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from drawing import draw_neighborhoods
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import walkconv

OUTPUT = Path("demo-output")
N_FROM_COMMAND_LINE = 200
say = partial(Console(highlight=False).print, soft_wrap=True)


@dataclass
class Digits:
    """Shuffled pixels that vary, and where each of them lies in the picture."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    place: np.ndarray
    shape: tuple[int, int]
    network: str
    n_epochs: int


def main() -> None:
    """Run the demonstration."""
    started = time.perf_counter()
    OUTPUT.mkdir(exist_ok=True)
    digits = load_small() if "--digits" in sys.argv else load_mnist_or_small()
    n_train, n_pixels = digits.X_train.shape
    say(f"{n_train:,} digits of {n_pixels} pixels that vary, in an order that says nothing.\n")

    _, first = train("logistic regression", digits, "", max_iter=digits.n_epochs)
    # 25 neighbours did better than 9 on 10,000 training digits held out; nothing else was tried.
    chosen = {"n_neighbors": 25, "learning_rate": 3e-3, "max_iter": digits.n_epochs}
    model, second = train("directions", digits, digits.network, order="auto", **chosen)
    say(f"\n[bold]Structure found:[/bold] {model.orientation_.reason}.\n")
    say(results([first, second], with_paper=digits.shape == (28, 28)))

    predict_from_the_command_line(model, digits)
    picture = OUTPUT / "neighborhoods.png"
    draw_neighborhoods(
        model.neighbors_.index, digits.place, digits.shape, digits.X_test[0], picture
    )
    say(f"The learned neighbourhoods, drawn back on the grid: {picture}")
    page = OUTPUT / "report.html"
    model.report(page, digits.X_test, digits.y_test)
    say(f"What the model learned and where it fails, to open in a browser: {page.resolve()}")
    say(f"{time.perf_counter() - started:.0f} seconds in all.")


def load_mnist_or_small() -> Digits:
    """Return MNIST, or the digits of scikit-learn where MNIST cannot be had."""
    try:
        mnist = walkconv.datasets.load_mnist()
    except walkconv.datasets.DatasetNotFoundError as error:
        say(f"{error}\n\nGoing on with the small digits that come with scikit-learn.\n")
        return load_small()
    say(f"MNIST from {mnist.source}")
    parts = mnist.X_train, mnist.y_train, mnist.X_test, mnist.y_test
    return shuffled(*parts, shape=(28, 28), network="C16-P4-C32-P4-FC64", n_epochs=6)


def load_small() -> Digits:
    """Return the 8 x 8 digits of scikit-learn, a quarter of them for the test."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    return shuffled(X_train, y_train, X_test, y_test, shape=(8, 8), network="C16-FC64", n_epochs=30)


def shuffled(
    X_train: np.ndarray,
    y_train: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    *,
    shape: tuple[int, int],
    network: str,
    n_epochs: int,
) -> Digits:
    """Return the pixels that vary over the training rows, shuffled, from 0 to 1."""
    varying = np.flatnonzero(np.ptp(X_train, axis=0))
    place = np.random.default_rng(0).permutation(varying)
    scale = np.float32(X_train.max())
    tables = (np.asarray(X[:, place], dtype=np.float32) / scale for X in (X_train, X_test))
    return Digits(next(tables), y_train, next(tables), y_test, place, shape, network, n_epochs)


def train(name: str, digits: Digits, architecture: str, **settings) -> tuple:
    """Return a fitted classifier and its row of the results: name, error, parameters, seconds."""
    started = time.perf_counter()
    model = walkconv.GraphCNNClassifier(architecture, **settings, random_state=0, verbose=1)
    model.fit(digits.X_train, digits.y_train)
    seconds = time.perf_counter() - started
    error = 100 * (1 - model.score(digits.X_test, digits.y_test))
    return model, (name, error, model.n_parameters_, seconds)


def results(rows: list[tuple], *, with_paper: bool) -> Table:
    """Return the table of errors, beside those of the paper where it has them."""
    paper = {"logistic regression": "7.49"} if with_paper else {}
    table = Table("", "test error %", "paper %", "parameters", "seconds")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, error, n_parameters, seconds in rows:
        table.add_row(
            name, f"{error:.2f}", paper.get(name, ""), f"{n_parameters:,}", f"{seconds:.0f}"
        )
    if with_paper:
        table.add_row("the paper's best network", "", "1.45", "7,347,862", "")
    return table


def predict_from_the_command_line(model, digits: Digits) -> None:
    """Save the model, predict some test digits in another process, and compare."""
    saved, rows, answers = (
        OUTPUT / name for name in ("digits.safetensors", "new.csv", "answers.csv")
    )
    model.save(saved)
    X = digits.X_test[:N_FROM_COMMAND_LINE]
    pl.DataFrame(X, schema=[f"pixel{i}" for i in range(X.shape[1])]).write_csv(rows)
    arguments = ["predict", str(saved), str(rows), "-o", str(answers)]
    say(f"\n$ walkconv {' '.join(arguments)}")
    subprocess.run([sys.executable, "-m", "walkconv", *arguments], check=True)
    written = pl.read_csv(answers)["prediction"].to_numpy()
    n_same = int((written == model.predict(X)).sum())
    n_right = int((written == digits.y_test[: len(X)]).sum())
    say(f"{n_same} of {len(X)} answers are those of this process; {n_right} are right.\n")


if __name__ == "__main__":
    main()
