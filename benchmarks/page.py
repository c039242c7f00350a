"""The results of `bench_conv.py` as a page: every number in it comes from the JSON file."""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "conv.json"
PAGE = RESULTS.with_suffix(".md")
OURS, USUAL, BARE = "walkconv", "gather + tensordot", "bare GEMMs"


def write_page() -> None:
    """Write the page from the results."""
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


def page(results: dict) -> str:
    """Return the results as Markdown."""
    sections = {"shapes": _shapes, "memory": _memory, "growth": _growth, "epochs": _epochs}
    parts = ["# Convolution: what was measured", "Written by `make bench-conv` from `conv.json`."]
    for name, describe in sections.items():
        if name in results:
            parts += [*describe(results[name]["measured"]), origin(results[name]["made_with"])]
    return "\n\n".join(parts) + "\n"


def _shapes(rows: list[dict]) -> list[str]:
    parts = [
        "## Beside the other ways",
        "Medians of calls that took turns; in brackets, how many times ours it takes. The bare "
        "products read data already gathered, so they are the limit of the usual way.",
    ]
    for what, title in (("forward", "Forward"), ("training", "Forward and backward")):
        header = [title, *(f"{row['name']}<br>{_shape(row['shape'])}" for row in rows)]
        ways = [
            [way, *(_beside_ours(row[what][way], row[what][OURS]) for row in rows)]
            for way in rows[0][what]
        ]
        parts.append(table(header, ways))
    return parts


def _memory(rows: list[dict]) -> list[str]:
    ways = list(rows[0]["extra_bytes"])
    lines = [
        [
            row["name"],
            f"{row['counted_bytes'] / 2**20:.1f} MiB",
            *(
                f"{row['extra_bytes'][way] / 2**20:.1f} MiB "
                f"({row['extra_bytes'][way] / row['counted_bytes']:.1%})"
                for way in ways
            ),
        ]
        for row in rows
    ]
    return [
        "## Peak memory of a training step beyond input, output and gradients",
        table(["", "input, output, gradients", *ways], lines),
    ]


def _growth(growth: dict[str, list[dict]]) -> list[str]:
    nodes = [
        [_shape(row["shape"]), _ms(row["seconds"]), f"{1e9 * row['seconds'] / (m * n):.0f} ns"]
        for row in growth["nodes"]
        for m, n in [row["shape"][:2]]
    ]
    neighbors = [
        [_shape(row["shape"]), _ms(row["seconds"]), _ms(row["seconds"] / row["shape"][2])]
        for row in growth["neighbors"]
    ]
    return [
        "## Growth of a training step",
        table(["M, N, p, d, f", "time", "per sample and node"], nodes),
        table(["M, N, p, d, f", "time", "per neighbour"], neighbors),
        _line(growth["neighbors"]),
    ]


def _line(rows: list[dict]) -> str:
    """Say how far the times are from a straight line in p, relative to what it gives."""
    p = np.array([row["shape"][2] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    design = np.column_stack([np.ones(len(p)), p]) / seconds[:, None]
    (fixed, each), *_ = np.linalg.lstsq(design, np.ones(len(p)), rcond=None)
    off = np.abs(seconds / (fixed + each * p) - 1).max()
    return (
        f"The straight line {_ms(fixed)} + p * {_ms(each)} is off by at most {off:.0%}: reading "
        "and writing x, the result and their gradients costs the same for any p."
    )


def _epochs(rows: list[dict]) -> list[str]:
    lines = [
        [row["architecture"], f"{s[OURS]:.2f} s", f"{s[USUAL]:.2f} s", f"{s[USUAL] / s[OURS]:.2f}x"]
        for row in rows
        for s in [row["seconds"]]
    ]
    return [
        "## Training, all layers and the optimiser included",
        f"{rows[0]['n_batches']} batches of 128 rows of 717 columns.",
        table(["", OURS, USUAL, "speed-up"], lines),
    ]


def origin(made_with: dict) -> str:
    """Return what `provenance` found as one line."""
    versions = ", ".join(f"{name} {number}" for name, number in made_with["versions"].items())
    return (
        f"*{made_with['processor']}, {made_with['cores']} cores, {made_with['threads']} threads, "
        f"{versions}, commit {made_with['commit']}.*"
    )


def table(header: list[str], rows: Iterable[list[str]]) -> str:
    """Return a table of Markdown."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _beside_ours(seconds: float, ours: float) -> str:
    return f"{_ms(seconds)} ({seconds / ours:.2f})"


def _shape(shape: list[int]) -> str:
    return ", ".join(map(str, shape))


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds * 1e3:.0f} ms"
