"""What is kept of a run: one JSON file for each row, protocol and seed."""

import json
from pathlib import Path
from typing import Any

from experiments.rows import Row

RESULTS = Path(__file__).parent / "results"


def record_path(row: Row, protocol: str, seed: int | str) -> Path:
    """Return where the record of a run belongs; "average" is that of all seeds together."""
    return RESULTS / row.table / (row.merck_set or "") / f"{row.key}.{protocol}.{seed}.json"


def read_record(row: Row, protocol: str, seed: int | str) -> dict[str, Any] | None:
    """Return the record of the row's present method and settings; None if it is missing."""
    path = record_path(row, protocol, seed)
    record = json.loads(path.read_text()) if path.exists() else {}
    made_with = record.get("method"), record.get("settings")
    return record if made_with == (row.method, row.settings[protocol]) else None


def read_records(row: Row, protocol: str) -> list[dict[str, Any]]:
    """Return the finished runs of a row, seed by seed."""
    found = [read_record(row, protocol, seed) for seed in row.seeds.get(protocol, ())]
    return [record for record in found if record is not None]


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
