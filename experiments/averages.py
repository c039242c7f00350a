"""The seeds of a row averaged: the mean of their predictions, scored once more.

Every row of such a table whose method depends on a seed gets one, so that no method has an ensemble
which another lacks.
"""

from dataclasses import replace

import numpy as np

from experiments.data import load_data
from experiments.records import read_record, read_records, record_path, write_record
from experiments.rows import Row

AVERAGED = {"merck"}
"""Tables whose seeds are averaged."""
N_DRAWS = 400


def write_average(row: Row, protocol: str) -> None:
    """Write the average over the seeds of a row, unless some are missing or it is there.

    Its prediction is also scored on as many test rows drawn from them with replacement, `N_DRAWS`
    times. Draws are the same for every row, so that two rows can be compared draw by draw: how far
    their distance depends on which test rows there happen to be.
    """
    records = read_records(row, protocol)
    if row.table not in AVERAGED or len(records) < max(2, len(row.seeds[protocol])):
        return
    scores = {str(record["seed"]): record["score"] for record in records}
    written = read_record(row, protocol, "average")
    if written is not None and written["scores_of_seeds"] == scores:
        return
    data = load_data(row.table, merck_set=row.merck_set)
    prediction = np.mean([record["prediction"] for record in records], axis=0)
    draws = np.random.default_rng(0).integers(len(prediction), size=(N_DRAWS, len(prediction)))
    drawn = [replace(data, y_test=data.y_test[rows]).score(prediction[rows]) for rows in draws]
    average = {
        "table": row.table,
        "row": row.key,
        "protocol": protocol,
        "score": data.score(prediction),
        "scores_of_seeds": scores,
        "scores_of_draws": [round(score, 5) for score in drawn],
        "method": row.method,
        "settings": row.settings[protocol],
    }
    write_record(record_path(row, protocol, "average"), average)
