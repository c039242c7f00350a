"""Lay out columns whose structure is known, and compare with the truth: `make bench-structure`.

Prints a line for each table. Writes it to `results/structure.json` as soon as it is measured, and
the page `structure.md` from all that has been measured.
"""

import argparse
import json
import time

import numpy as np
import structure_page as page
from machine import provenance
from structure_rivals import MOST_COLUMNS, rivals
from structure_scores import aligned, groups_right, labels_right, procrustes_error, slots_right
from structure_tables import TABLES, Columns, Table

import walkconv as wc


def measure(table: Table, columns: Columns) -> dict:
    """Lay out the columns of a table and score the layout."""
    start, core_start = time.perf_counter(), time.process_time()
    layout = wc.layout_columns(columns.X)
    seconds, core_seconds = time.perf_counter() - start, time.process_time() - core_start
    record = {
        "name": table.name,
        "half": table.half,
        "kind": table.kind,
        "also": table.also,
        "n_rows": len(columns.X),
        "n_columns": columns.X.shape[1],
        "found": layout.kind,
        "reason": layout.reason,
        "stress": float(layout.stress),
        "seconds": seconds,
        "core_seconds": core_seconds,
    }
    if columns.sites is None:
        return record
    is_other = table.also is not None and layout.kind == table.also
    kind = table.also if is_other else table.kind
    record |= _scores(layout.positions[layout.node], columns.sites, kind, layout.period)
    if columns.channel is not None:
        site = np.unique(columns.sites, axis=0, return_inverse=True)[1]
        share, is_grouped = groups_right(layout.node, site)
        labels = labels_right(layout.channel, columns.channel, site, is_grouped)
        record |= {"groups_right": share, "labels_right": labels}
    return record


def measure_rivals(table: Table, columns: Columns) -> dict[str, dict]:
    """Score the positions that other methods find, turned and scaled to the truth beforehand."""
    if columns.sites is None or columns.X.shape[1] > MOST_COLUMNS:
        return {}
    found = {}
    for name, positions_of in rivals().items():
        start = time.perf_counter()
        positions = positions_of(columns.X, 2 if table.kind == "ring" else columns.sites.shape[1])
        seconds = time.perf_counter() - start
        period = np.zeros(1)
        if table.kind == "ring":
            centred = positions - positions.mean(axis=0)
            period = np.array([float(len(positions))])
            turn = np.arctan2(centred[:, 1], centred[:, 0]) / (2 * np.pi)
            positions = (turn % 1.0)[:, None] * period
        elif positions.shape[1] == columns.sites.shape[1]:
            positions = aligned(positions, columns.sites)
        scores = _scores(positions, columns.sites, table.kind, period)
        found[name] = {**scores, "seconds": seconds}
    return found


def _scores(
    positions: np.ndarray, sites: np.ndarray, kind: str, period: np.ndarray
) -> dict[str, float | None]:
    """Return both scores. The sites of a sphere are no lattice, so it has no slots."""
    true_period = np.array([float(len(sites))]) if kind == "ring" else np.zeros(sites.shape[1])
    is_lattice = bool((sites == np.rint(sites)).all())
    given = np.broadcast_to(period, (positions.shape[1],))
    return {
        "slots_right": slots_right(positions, sites, given, true_period) if is_lattice else None,
        "procrustes": procrustes_error(positions, sites, given, true_period),
    }


def main() -> None:
    """Measure what was asked for and write it beside what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=["tuning", "judging"], help="only this half")
    parser.add_argument("--tables", nargs="*", help="only tables whose names begin so")
    parser.add_argument("--no-rivals", action="store_true", help="only our layout")
    settings = parser.parse_args()
    chosen = [
        table
        for table in TABLES
        if settings.half in (None, table.half)
        and (not settings.tables or table.name.startswith(tuple(settings.tables)))
    ]
    wc.layout_columns(np.random.default_rng(0).normal(size=(50, 30)))  # compiles the loops
    for table in chosen:
        try:
            columns = table.read()
        except OSError as error:
            print(f"{table.name:26} skipped: {str(error).splitlines()[0]}", flush=True)
            continue
        record = {**measure(table, columns), "made_with": provenance("scipy", "scikit-learn")}
        kept = page.read_records()
        before = kept.get(table.name, {}).get("rivals", {})
        record["rivals"] = before if settings.no_rivals else measure_rivals(table, columns)
        kept[table.name] = record
        in_order = [kept[each.name] for each in TABLES if each.name in kept]
        page.RESULTS.write_text(json.dumps(in_order, indent=1) + "\n")
        page.write_page()
        print(page.line(record), flush=True)


if __name__ == "__main__":
    main()
