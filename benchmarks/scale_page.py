"""The page of `results/scale.json`: what was measured, as tables."""

import json
from pathlib import Path

from page import origin, table
from scale_dask import dask_section
from scale_model import model_section
from scale_processes import processes_section
from scale_tables import tables_section

RESULTS = Path(__file__).parent / "results" / "scale.json"
PAGE = RESULTS.with_suffix(".md")


def write_page() -> None:
    """Write the page from the results."""
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


def page(results: dict) -> str:
    """Return the results as Markdown."""
    sections = {
        "selection": _selection,
        "growth": _growth,
        "dask": dask_section,
        "tables": tables_section,
        "processes": processes_section,
    }
    parts = ["# Scale: what was measured", "Written by `make bench-scale` from `scale.json`."]
    for name, describe in sections.items():
        if name in results:
            parts += [*describe(results[name]["measured"]), origin(results[name]["made_with"])]
    if "growth" in results and "tables" in results:
        parts += model_section(results)
    return "\n\n".join(parts) + "\n"


def _selection(rows: list[dict]) -> list[str]:
    lines = [
        [
            row["graph"],
            f"{row['n_nodes']:,}",
            f"{row['n_edges']:,}",
            f"{row['largest_degree']:,}",
            str(row["n_steps"]),
            f"{row['seconds']:.2f} s",
            f"{row['scipy_seconds']:.1f} s",
            f"{row['scipy_rows']:,}",
            f"{row['speed_up']:.1f}x",
            "yes" if row["same"] else "no",
        ]
        for row in rows
    ]
    header = ["graph", "nodes", "edges", "largest degree", "k", "walkconv", "scipy"]
    return [
        "## Neighbours of real graphs, p = 10",
        "`select_neighbors` of the whole graph on all cores, beside sparse products of blocks of "
        "256 rows and a partition of each row, on one core as scipy has it; medians of at least 3 "
        "turns. Scipy was timed on a random sample of the rows and its time scaled to all; on "
        "these rows the neighbours were compared, index for index, ties included.",
        table([*header, "rows timed", "speed-up", "same"], lines),
    ]


def _growth(rows: list[dict]) -> list[str]:
    lines = []
    for place, row in enumerate(rows):
        each = row["seconds"] / row["n_nodes"]
        before = rows[place - 1]["seconds"] / rows[place - 1]["n_nodes"] if place else each
        lines.append(
            [
                f"{row['n_nodes']:,}",
                f"{row['seconds']:.2f} s",
                f"{each * 1e6:.2f} us",
                f"{each / before:.2f}x" if place else "",
                f"{row['graph_bytes'] / 2**30:.2f} GiB",
                f"{row['extra_bytes'] / 2**30:.2f} GiB",
                f"{row['allowed_bytes'] / 2**30:.2f} GiB",
            ]
        )
    header = ["nodes", "time", "per node", "to the row above", "graph", "beyond it", "6np + 1 GiB"]
    return [
        f"## Growth: random graphs of mean degree 10, p = 10, k = {rows[0]['n_steps']}",
        "Each in a process of its own; peak memory beyond the graph and what was there before, "
        "beside 6 n p numbers of 8 bytes and 1 GiB.",
        table(header, lines),
    ]
