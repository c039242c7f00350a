"""The results of `bench_structure.py` as a page: every number in it comes from the JSON file."""

import json
from pathlib import Path

from page import origin, table

RESULTS = Path(__file__).parent / "results" / "structure.json"
PAGE = RESULTS.with_suffix(".md")
HALVES = {
    "judging": "Tables kept to judge",
    "tuning": "Tables on which constants may be chosen",
}
RIVALS = ("pyDeepInsight", "UMAP", "Isomap")


def read_records() -> dict[str, dict]:
    """Return what was measured before, by the name of the table."""
    if not RESULTS.exists():
        return {}
    return {record["name"]: record for record in json.loads(RESULTS.read_text())}


def write_page() -> None:
    """Write the page from the results."""
    PAGE.write_text(page(json.loads(RESULTS.read_text())))


def page(records: list[dict]) -> str:
    """Return the results as Markdown."""
    parts = [
        "# Structure of tables: what was measured",
        "Written by `make bench-structure` from `structure.json`. Columns are shuffled. *Right "
        "slots* is the share of inner slots (8 in the plane, 2 on a line or ring, 26 in a volume) "
        "that hold the true neighbour, up to one rotation or reflection of all slots. *Procrustes* "
        "is the squared error after the best shift, turn and scale: 0 at best, 1 at worst.",
    ]
    for half, title in HALVES.items():
        rows = [record for record in records if record["half"] == half]
        if rows:
            parts += [f"## {title}", _count(rows), _found(rows)]
    beside = [record for record in records if record["rivals"]]
    if beside:
        parts += [
            "## Beside other methods",
            "Right slots, then the Procrustes error. The other methods are told the number of "
            "axes, and for the slots their positions are turned and scaled to the truth. "
            "pyDeepInsight always gives a plane.",
            _beside(beside),
        ]
    parts += [origin(made_with) for made_with in _distinct([r["made_with"] for r in records])]
    return "\n\n".join(parts) + "\n"


def line(record: dict) -> str:
    """Return a record as a line to print."""
    slots, error = _number(record.get("slots_right"), 2), _number(record.get("procrustes"), 3)
    mark = " " if _is_right(record) else "x"
    return (
        f"{record['name']:26}{mark} {record['kind']:>6} -> {record['found']:6}  slots {slots:>4}  "
        f"procrustes {error:>5}  stress {record['stress']:.4f}  {record['seconds']:7.1f} s"
        + _channels(record)
    )


def _is_right(record: dict) -> bool:
    return record["found"] in (record["kind"], record.get("also"))


def _count(rows: list[dict]) -> str:
    n_right = sum(map(_is_right, rows))
    none = [row for row in rows if row["kind"] == "none"]
    n_false = sum(row["found"] != "none" for row in none)
    return (
        f"The right kind on {n_right} of {len(rows)} tables ({n_right / len(rows):.0%}); a kind "
        f"that is not there on {n_false} of {len(none)} tables without structure."
    )


def _found(rows: list[dict]) -> str:
    header = ["table", "rows", "columns", "true kind", "found", "right slots", "Procrustes"]
    lines = [
        [
            row["name"] + _channels(row),
            f"{row['n_rows']:,}",
            f"{row['n_columns']:,}",
            row["kind"],
            row["found"] if _is_right(row) else f"**{row['found']}**",
            _number(row.get("slots_right"), 2),
            _number(row.get("procrustes"), 3),
            f"{row['stress']:.4f}",
            f"{row['seconds']:.1f} s",
        ]
        for row in rows
    ]
    return table([*header, "stress", "time"], lines)


def _channels(row: dict) -> str:
    if "groups_right" not in row:
        return ""
    return f" ({row['groups_right']:.0%} of the groups, {row['labels_right']:.0%} of the labels)"


def _beside(rows: list[dict]) -> str:
    names = [name for name in RIVALS if any(name in row["rivals"] for row in rows)]
    lines = [
        [row["name"], _scores(row), *(_scores(row["rivals"].get(name, {})) for name in names)]
        for row in rows
    ]
    return table(["table", "walkconv", *names], lines)


def _scores(scores: dict) -> str:
    slots, error = _number(scores.get("slots_right"), 2), _number(scores.get("procrustes"), 3)
    return f"{slots}, {error}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _distinct(made_with: list[dict]) -> list[dict]:
    return list({json.dumps(each, sort_keys=True): each for each in made_with}.values())
