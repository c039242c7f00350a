"""The seeds of a row averaged: the mean of their predictions, scored once more.

Every row of such a table gets one, so that no method has an ensemble which another lacks.
"""

from pathlib import Path
from typing import Any

import numpy as np

from experiments.data import load_data
from experiments.records import read_records, record_path, write_record
from experiments.rows import Row

AVERAGED = {"merck"}
"""Tables whose seeds are averaged."""


def average_path(row: Row, protocol: str, merck_set: str) -> Path:
    """Return where the average over the seeds of a row belongs."""
    seed = row.seeds[protocol][0]
    path = record_path(row, protocol, seed, merck_set=merck_set)
    return path.with_name(f"{row.key}.{protocol}.average.json")


def write_average(row: Row, protocol: str, merck_set: str) -> dict[str, Any] | None:
    """Write and return the average over all seeds of a row, None while some are missing."""
    records = read_records(row, protocol, merck_set=merck_set)
    if len(records) < max(2, len(row.seeds[protocol])) or row.table not in AVERAGED:
        return None
    prediction = np.mean([record["prediction"] for record in records], axis=0)
    average = {
        "table": row.table,
        "row": row.key,
        "protocol": protocol,
        "seeds": [record["seed"] for record in records],
        "score": load_data(row.table, merck_set=merck_set).score(prediction),
        "settings": row.settings[protocol],
    }
    write_record(average_path(row, protocol, merck_set), average)
    return average
