"""A row of a table: what the paper says, and how each protocol runs it.

``configs/<table>/table.toml`` lists the rows in their order and holds what they share; a row's own
file adds to it. TOML has no null: "none" stands for it.
"""

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

CONFIGS = Path(__file__).parent / "configs"
PROTOCOLS = ("sound", "paper")
NO_NETWORKS = {"ols", "ridge", "forest", "boosting", "last value", "daily"}
"""Methods that what the networks of a table share is not meant for."""


@dataclass(frozen=True)
class Row:
    """One method of one table.

    Attributes
    ----------
    table, key : str
        Folder and name of its file.
    name, method : str
        Its name in the tables, and its method: a name in `methods.METHODS`.
    paper : float, str or None
        The paper's number, or its words, if it has any.
    parameters : int or None
        The number of parameters that the network must have, if it is known beforehand.
    settings : dict of str to dict
        For each protocol that runs this row, what the method is told.
    seeds : dict of str to tuple of int
        For each protocol.
    merck_set : str or None
        Which set of the challenge it is run on, in the table of that name.
    """

    table: str
    key: str
    name: str
    method: str = "network"
    paper: float | str | None = None
    parameters: int | None = None
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    seeds: dict[str, tuple[int, ...]] = field(default_factory=dict)
    merck_set: str | None = None


def read_rows(table: str, *, merck_set: str = "METAB") -> list[Row]:
    """Return the rows of a table, in its order."""
    shared = read_table(table)
    rows = [_read_row(table, key, shared) for key in shared["rows"]]
    return [replace(row, merck_set=merck_set) for row in rows] if table == "merck" else rows


def read_table(table: str) -> dict[str, Any]:
    """Return what the rows of a table share."""
    return tomllib.loads((CONFIGS / table / "table.toml").read_text())


def _read_row(table: str, key: str, shared: dict[str, Any]) -> Row:
    own = tomllib.loads((CONFIGS / table / f"{key}.toml").read_text())
    method = own.get("method", "network")
    known = {"name", "method", "paper_number", "parameters", "settings", *PROTOCOLS}
    if unknown := own.keys() - known:
        raise ValueError(f"{table}/{key}.toml may hold {sorted(known)}; got {sorted(unknown)}.")
    settings, seeds = {}, {}
    for protocol in PROTOCOLS:
        if protocol in own:
            usual = {} if method in NO_NETWORKS else shared[protocol]["network"]
            merged = usual | own.get("settings", {}) | own[protocol]
            if {"among", "prepare"} <= merged.keys():
                raise ValueError(
                    f"{table}/{key}.toml must not have both `among` and `prepare`: rows that are "
                    "held back for the choice would have been seen by the preparation."
                )
            seeds[protocol] = tuple(merged.pop("seeds", shared[protocol]["seeds"]))
            settings[protocol] = {name: _or_none(value) for name, value in merged.items()}
    return Row(
        table=table,
        key=key,
        name=own["name"],
        method=method,
        paper=own.get("paper_number"),
        parameters=own.get("parameters"),
        settings=settings,
        seeds=seeds,
    )


def _or_none(value: Any) -> Any:
    return None if value == "none" else value
