"""What is kept of a run: one JSON file for each row, protocol and seed."""

import json
from pathlib import Path
from typing import Any

from experiments.rows import Row

RESULTS = Path(__file__).parent / "results"


def record_path(
    row: Row, protocol: str, seed: int, *, merck_set: str = "METAB", folder: Path = RESULTS
) -> Path:
    """Return where the record of a run belongs."""
    place = folder / row.table
    if row.table == "merck":
        place /= merck_set
    return place / f"{row.key}.{protocol}.{seed}.json"


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a record, None where the run is not finished."""
    return json.loads(path.read_text()) if path.exists() else None


def read_records(
    row: Row, protocol: str, *, merck_set: str = "METAB", folder: Path = RESULTS
) -> list[dict[str, Any]]:
    """Return the finished runs of a row, seed by seed, made with the settings it has now."""
    if protocol not in row.settings:
        return []
    place = {"merck_set": merck_set, "folder": folder}
    found = (read_record(record_path(row, protocol, s, **place)) for s in row.seeds[protocol])
    return [r for r in found if r is not None and r["settings"] == row.settings[protocol]]


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record, whole or not at all; an epoch is one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f' "{key}": {_pretty(value)}' for key, value in record.items()]
    part = path.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    part.replace(path)


def _pretty(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"  {json.dumps(each)}" for each in value) + "\n ]"
    return json.dumps(value)
