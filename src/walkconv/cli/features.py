"""Columns that are features: each has a name and holds numbers."""

import re
import reprlib
import shlex
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from walkconv._checks import SHOWN, listed

NAMELESS = re.compile(r"(_duplicated_\d+|Unnamed: \d+(\.\d+)?|__index_level_\d+__)?")
"""No name, or what polars and pandas write in place of one."""
MEND = "Mend these cells, or empty those whose value is missing"


def read_features(
    table: pl.DataFrame, path: str, say: Callable[[str], None], *, option: str, hint: str = ""
) -> pl.DataFrame:
    """Return the columns of a table as float64, without those that only number its rows.

    Parameters
    ----------
    table, path
        What was read, and from where.
    say : callable
        Takes a note of what was left out.
    option : str
        The option of the command that leaves a column out.
    hint : str, optional
        Sentence before the advice of a refusal, with a space after it.
    """
    named = named_columns(table, path, say, option=option, hint=hint)
    return as_numbers(named, path, remedy=f"{hint}Encode them as numbers", option=option)


def named_columns(
    table: pl.DataFrame,
    path: str,
    say: Callable[[str], None],
    *,
    option: str | None = None,
    hint: str = "",
) -> pl.DataFrame:
    """Return the columns that have a name; those without one must number the rows."""
    nameless = [column for column in table if is_nameless(column.name)]
    unknown = [column.name for column in nameless if not _counts_rows(column)]
    if unknown:
        way = (
            f"leave them out: {_options(option, unknown)}"
            if option
            else "take them out of the file."
        )
        raise ValueError(
            f"Columns of {path} must have names, unless they count the rows; these have none: "
            f"{listed(unknown)}. {hint}Name them or {way}"
        )
    for column in nameless:
        say(f"left out column {column.name!r} of {path}: it has no name and counts the rows")
    return table.drop(column.name for column in nameless)


def is_nameless(name: str) -> bool:
    """Say whether a name stands for none."""
    return NAMELESS.fullmatch(name) is not None


def as_numbers(
    table: pl.DataFrame, path: str, *, remedy: str, option: str | None = None
) -> pl.DataFrame:
    """Return the columns as float64 with NaN in empty cells.

    A refusal ends with the remedy, and with the option that leaves columns out, if there is one and
    it would leave any.
    """
    text = [column for column in table if not _is_number(column)]
    if text:
        cells = ", ".join(_first_text(column) for column in text[:SHOWN])
        names = [column.name for column in text]
        way = f" or leave them out: {_options(option, names)}" if option else "."
        raise ValueError(
            f"Columns of {path} must hold numbers; these hold something else: "
            f"{cells}{_others(text)}. {remedy}{way if len(text) < table.width else '.'}"
        )
    if not table.width:
        raise ValueError(f"{path} must have at least one feature column; none is left.")
    return table.select(pl.all().cast(pl.Float64).fill_null(float("nan")))


def _counts_rows(column: pl.Series) -> bool:
    """Say whether a column holds 0, 1, 2, ... or 1, 2, 3, ..."""
    if not column.dtype.is_numeric():
        return False
    offsets = column.to_numpy() - np.arange(len(column))
    return offsets[0] in (0, 1) and bool((offsets == offsets[0]).all())


def _is_number(column: pl.Series) -> bool:
    # A column of empty cells has no type of its own.
    is_empty = column.null_count() == len(column)
    return is_empty or column.dtype.is_numeric() or column.dtype == pl.Boolean


def _first_text(column: pl.Series) -> str:
    """Return the name of a column and its first cell that is no number; rows count from 1."""
    is_text = column.is_not_null()
    if column.dtype == pl.String:
        is_odd = is_text & column.cast(pl.Float64, strict=False).is_null()
        is_text = is_odd if is_odd.any() else is_text
    row = is_text.arg_true()[0]
    return f"{column.name!r} (row {row + 1}: {reprlib.repr(str(column[row]))})"


def _options(option: str | None, names: Sequence[str]) -> str:
    """Return an option for each name, as a shell reads it."""
    return " ".join(f"{option} {shlex.quote(name)}" for name in names[:SHOWN]) + _others(names)


def _others(items: Sequence[object]) -> str:
    return f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
