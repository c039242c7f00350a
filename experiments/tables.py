"""Tables and sentences of docs/results.md, computed from the records.

The prose is `results.template.md`; in it ``{{score mnist c20 sound}}`` and the like call the
functions listed in `WORDS`. `python -m experiments.tables` writes the page; with `--set DPP4` it
prints the table of another set of the Merck challenge.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from experiments.averages import AVERAGED
from experiments.records import RESULTS, read_record, read_records
from experiments.rows import CONFIGS, PROTOCOLS, Row, read_rows, read_table

TEMPLATE = Path(__file__).parent / "results.template.md"
PAGE = Path(__file__).parents[1] / "docs" / "results.md"
LATE = 10
"""Epochs that show how much a score depends on when training ends."""


def render(template: str) -> str:
    """Return the template with every ``{{word argument ...}}`` replaced by what it says."""

    def replaced(match: re.Match[str]) -> str:
        word, *arguments = match[1].split()
        return WORDS[word](*arguments)

    return re.sub(r"\{\{(.+?)\}\}", replaced, template)


def table(name: str, merck_set: str = "METAB") -> str:
    """Return a table: every row with the published number and ours; no column is empty."""
    columns = {
        "": lambda row: row.name,
        "parameters": lambda row: _parameters(
            read_records(row, "sound") + read_records(row, "paper")
        ),
        read_table(name).get("marks", "paper"): lambda row: "" if row.paper is None else row.paper,
        "paper's protocol": lambda row: _summary(row, "paper"),
        "sound protocol": lambda row: _summary(row, "sound"),
        "sound, seeds averaged": lambda row: _average(row) if name in AVERAGED else "",
        "core-seconds a run": _cost,
    }
    rows = read_rows(name, merck_set=merck_set)
    filled = {title: [str(cell(row)) for row in rows] for title, cell in columns.items()}
    shown = {title: cells for title, cells in filled.items() if any(cells)}
    return _markdown(list(shown), zip(*shown.values(), strict=True))


def score(name: str, key: str, protocol: str) -> str:
    """Return the mean and deviation of one row."""
    return _summary(_row(name, key), protocol) or "(not run yet)"


def seeds(name: str, key: str, protocol: str) -> str:
    """Return the score of every seed of one row."""
    row = _row(name, key)
    return ", ".join(f"{r['score']:.{_digits(row)}f}" for r in read_records(row, protocol))


def change(name: str, key: str, other: str) -> str:
    """Return what another row has more than one, seed by seed: mean and deviation."""
    return _change(_row(name, key), _row(name, other))


def leads(name: str, key: str, *others: str) -> str:
    """Return how much higher the averaged seeds of a row score than those of others."""
    row = _row(name, key)
    lines = [[_row(name, other).name, _lead(row, _row(name, other))] for other in others]
    return _markdown([f"{row.name}, beside", "seeds averaged"], lines)


def twins(name: str, protocol: str, *keys: str) -> str:
    """Return what the graph gains each row beside its twins without one, seed by seed."""
    sign = 1 if read_table(name).get("higher_is_better") else -1
    lines = []
    for key in keys:
        row = _row(name, key)
        pairs = [(_row(name, f"{key}-{twin}"), row) for twin in ("random", "p1")]
        lines.append([row.name, *(_change(*pair, protocol, sign) for pair in pairs)])
    header = [f"{protocol} protocol", "beside random neighbours", "beside p = 1"]
    return _markdown(header, lines)


def late_epochs(name: str, *keys: str) -> str:
    """Return what rows scored on the test rows in their last epochs, all seeds together."""
    header = ["paper's protocol", "paper", "last epoch", f"last {LATE} epochs, all seeds"]
    lines = []
    for key in keys:
        row = _row(name, key)
        tested = [
            epoch["test"]
            for record in read_records(row, "paper")
            for epoch in record["history"][-LATE:]
        ]
        span = f"{min(tested):.2f} to {max(tested):.2f}" if tested else "not run yet"
        lines.append([row.name, str(row.paper), _summary(row, "paper"), span])
    return _markdown(header, lines)


def orders(*pairs: str) -> str:
    """Return the scores in order of visits beside those of "auto", pairs as ``table:key:key``."""
    lines = []
    for pair in pairs:
        name, *keys = pair.split(":")
        visits, auto = (_row(name, key) for key in keys)
        scores = _summary(visits, "sound"), _summary(auto, "sound")
        lines.append([read_table(name)["title"], *scores, _change(visits, auto)])
    return _markdown(["", "visits", "auto", "change"], lines)


def chosen(name: str, key: str) -> str:
    """Return what the folds of a row chose, and how many of them each."""
    records = read_records(_row(name, key), "sound")
    folds = [tuple(fold.items()) for record in records for fold in record["chosen"]]
    counted = [
        f"{', '.join(_setting(*each) for each in choice)} in {n_folds}"
        for choice, n_folds in Counter(folds).most_common()
    ]
    return "; ".join(counted) or "(not run yet)"


def machines() -> str:
    """Return where and with what all records were made, one line for each kind."""
    kinds = set()
    for record in chain.from_iterable(_all_records(path.name) for path in CONFIGS.iterdir()):
        m = record["machine"]
        versions = ", ".join(f"{k} {v}" for k, v in m["versions"].items() if k != "walkconv")
        threads = "thread" if m["threads"] == 1 else "threads"
        kinds.add(
            f"- {m['processor']}, {m['cores']} cores, {m['threads']} {threads} a run; "
            f"Python {m['python']}, {versions}"
        )
    return "\n".join(sorted(kinds)) or "- no run yet"


def hours(name: str, *keys: str) -> str:
    """Return the core-hours of all runs of some rows of a table, or of all of them."""
    spent = [r["core_seconds"] for r in _all_records(name) if not keys or r["row"] in keys]
    return f"{sum(spent) / 3600:.1f}"


WORDS = {
    "table": table,
    "score": score,
    "seeds": seeds,
    "change": change,
    "leads": leads,
    "twins": twins,
    "late_epochs": late_epochs,
    "orders": orders,
    "chosen": chosen,
    "machines": machines,
    "hours": hours,
}


def _markdown(header: list[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table that can be read as it stands: names to the left, numbers to the right."""
    rows = [header, *lines]
    widths = [max(3, *map(len, cells)) for cells in zip(*rows, strict=True)]
    aligned = [
        [
            cells[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)),
        ]
        for cells in rows
    ]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [aligned[0], rule, *aligned[1:]])


def _row(name: str, key: str) -> Row:
    return next(row for row in read_rows(name) if row.key == key)


def _setting(name: str, value: Any) -> str:
    symbol = {"n_neighbors": "p", "n_steps": "k"}.get(name)
    return f"`{value}`" if symbol is None else f"{symbol} = {value}"


def _digits(row: Row) -> int:
    return read_table(row.table)["digits"]


def _all_records(name: str) -> Iterable[dict[str, Any]]:
    for row in read_rows(name):
        for protocol in PROTOCOLS:
            yield from read_records(row, protocol)


def _summary(row: Row, protocol: str) -> str:
    records = read_records(row, protocol)
    if not records:
        return "not run yet" if protocol in row.settings else ""
    scores, digits = [record["score"] for record in records], _digits(row)
    if len(scores) == 1 == len(row.seeds[protocol]):
        return f"{scores[0]:.{digits}f}"
    spread = f" ± {stdev(scores):.{digits}f}" if len(scores) > 1 else ""
    n_wanted = len(row.seeds[protocol])
    missing = "" if len(scores) == n_wanted else f" ({len(scores)} of {n_wanted} seeds)"
    return f"{mean(scores):.{digits}f}{spread}{missing}"


def _average(row: Row) -> str:
    record = read_record(row, "sound", "average") if "sound" in row.settings else None
    return "" if record is None else f"{record['score']:.{_digits(row)}f}"


def _change(row: Row, twin: Row, protocol: str = "sound", sign: int = 1) -> str:
    own, other = (
        {r["seed"]: r["score"] for r in read_records(each, protocol)} for each in (row, twin)
    )
    changes = [sign * (other[seed] - own[seed]) for seed in own.keys() & other.keys()]
    digits = _digits(row)
    if len(changes) < 2:
        return "not run yet"
    return f"{mean(changes):+.{digits}f} ± {stdev(changes):.{digits}f}"


def _lead(row: Row, other: Row) -> str:
    """Return how far a row's average is above another's, with its standard error over draws."""
    own, others = (read_record(each, "sound", "average") for each in (row, other))
    if own is None or others is None:
        return "not run yet"
    draws = zip(own["scores_of_draws"], others["scores_of_draws"], strict=True)
    error = stdev([a - b for a, b in draws])
    return f"{own['score'] - others['score']:+.{_digits(row)}f} ± {error:.{_digits(row)}f}"


def _cost(row: Row) -> str:
    """Return the core-seconds of a run under protocol sound, in brackets under protocol paper."""
    sound, paper = (
        [record["core_seconds"] for record in read_records(row, protocol)]
        for protocol in ("sound", "paper")
    )
    costs = [f"{median(sound):.0f}"] if sound else []
    return " ".join([*costs, f"({median(paper):.0f})"] if paper else costs)


def _parameters(records: list[dict[str, Any]]) -> str:
    counts = sorted({record["n_parameters"] for record in records} - {None})
    return " or ".join(f"{count:,}" for count in counts)


def main(arguments: list[str] | None = None) -> None:
    """Write the page, or print a table of a set that has none there."""
    parser = argparse.ArgumentParser(prog="python -m experiments.tables", description=__doc__)
    parser.add_argument("--set", help="print the table of this set of the Merck challenge")
    asked = parser.parse_args(arguments)
    if asked.set:
        rows = read_rows("merck", merck_set=asked.set)
        if not any(read_records(row, protocol) for row in rows for protocol in PROTOCOLS):
            raise SystemExit(f"{asked.set} was not run yet: make reproduce-merck SET={asked.set}")
        print(f"{asked.set}\n\n{table('merck', asked.set)}")
        return
    PAGE.write_text(render(TEMPLATE.read_text()))
    print(f"{PAGE.name} is written from {len(list(RESULTS.rglob('*.json')))} records.")


if __name__ == "__main__":
    main()
