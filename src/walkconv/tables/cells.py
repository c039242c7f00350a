"""One column of a pandas or polars table, read as numbers, text, categories or dates."""

import datetime
import math
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal

import numpy as np
import polars as pl

from walkconv._checks import is_missing

Kind = Literal["number", "text", "category", "ordered", "date"]
DAY = 86_400_000_000
"""Microseconds."""
MOMENT = pl.Datetime("us")
MOST_DIGITS = 20
"""Different numbers, written as text, that still are categories."""
ISO = r"^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"
"""Dates in text: 2024-02-29, with or without a time."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a column.

    Attributes
    ----------
    kind : "number", "text", "category", "ordered" or "date"
        "category" and "ordered" only if the type of the column says so.
    values : polars Series of shape (n_rows,)
        Float64, String, or Datetime in microseconds without a zone. A missing cell is null.
    levels : list of str
        The categories of an ordered column, from the lowest.
    """

    kind: Kind
    values: pl.Series
    levels: tuple[str, ...] = ()

    def as_text(self) -> pl.Series:
        """Return the cells as text; whole numbers are written without a point."""
        if self.kind != "number":
            return self.values.cast(pl.String)
        values = self.values.fill_nan(None)
        is_whole = (values == values.round()) & (values.abs() < 2**53)
        whole = values.zip_with(is_whole.fill_null(False), pl.Series([None], dtype=pl.Float64))
        return whole.cast(pl.Int64).cast(pl.String).fill_null(values.cast(pl.String))

    def as_moments(self) -> pl.Series:
        """Return the cells as moments in time, null where a cell is none."""
        if self.kind == "date":
            return self.values
        return parse_dates(self.as_text())


def holds_numbers(column: Any, dtype: Any) -> bool:
    """Tell whether a column of a frame, of this type, holds nothing but numbers."""
    if isinstance(dtype, pl.DataType) and dtype != pl.Object:
        return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)
    if _is_categorical(dtype) or getattr(dtype, "kind", "O") in "mM":
        return False
    cells = _from_objects(column.to_list())
    return cells is not None and cells.kind == "number"


def read_cells(column: Any) -> Cells | None:
    """Return the cells of a pandas or polars column, None if they are of another kind."""
    cells = _from_polars(column) if isinstance(column, pl.Series) else _from_pandas(column)
    if cells is None or cells.kind != "number":
        return cells
    return Cells("number", cells.values.cast(pl.Float64))


def parse_dates(text: pl.Series) -> pl.Series:
    """Return the dates that text holds, null where a cell is no date; zones are dropped."""
    day = text.str.extract(ISO)
    minute = text.str.extract(r"[T ](\d{2}:\d{2})").fill_null("00:00")
    second = text.str.extract(r"[T ]\d{2}:\d{2}:(\d{2})").fill_null("00")
    moment = day + " " + minute + ":" + second
    return moment.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="us", strict=False)


def first_odd_cell(values: pl.Series) -> str:
    """Return a cell of a text column that is not a number, with its row counted from 1."""
    is_odd = values.is_not_null() & values.cast(pl.Float64, strict=False).is_null()
    return describe_cell(values, is_odd.arg_true()[0])


def describe_cell(values: pl.Series, row: int) -> str:
    """Return a cell of a column, with its row counted from 1."""
    return f"row {row + 1}: {reprlib.repr(str(values[row]))}"


def odd_number(values: pl.Series) -> str:
    """Return a cell of a text column that seems to hold numbers, or "" if it holds text.

    Most of its cells are numbers, but not all; or all are, and they are too many for categories.
    """
    is_number = values.cast(pl.Float64, strict=False).is_not_null()
    n_present, n_numbers = len(values) - values.null_count(), int(is_number.sum())
    if n_present / 2 < n_numbers < n_present:
        return first_odd_cell(values)
    if n_numbers and n_numbers == n_present and values.drop_nulls().n_unique() > MOST_DIGITS:
        return describe_cell(values, is_number.arg_true()[0])
    return ""


def _is_categorical(dtype: Any) -> bool:
    return isinstance(dtype, pl.Categorical | pl.Enum) or type(dtype).__name__ == "CategoricalDtype"


def _from_polars(column: pl.Series) -> Cells | None:
    dtype = column.dtype
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return Cells("number", column)
    if dtype == pl.String:
        return Cells("text", column)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return Cells("category", column.cast(pl.String))
    if dtype == pl.Datetime:
        return Cells("date", column.dt.replace_time_zone(None).cast(MOMENT))
    if dtype == pl.Date:
        return Cells("date", column.cast(MOMENT))
    if dtype == pl.Time:
        return Cells("date", (column.cast(pl.Int64) // 1000).cast(MOMENT))
    if dtype == pl.Duration:
        return Cells("number", column.dt.total_microseconds() / DAY)
    return _from_objects(column.to_list()) if dtype == pl.Object else None


def _from_pandas(column: Any) -> Cells | None:
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if _is_categorical(dtype):
        levels = [text_of(level) for level in dtype.categories]
        codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
        values = pl.Series(levels, dtype=pl.String).gather(codes.replace(-1, None))
        return Cells("ordered" if dtype.ordered else "category", values, tuple(levels))
    if kind in "biuf":
        return Cells("number", pl.Series(column.to_numpy(dtype=np.float64, na_value=np.nan)))
    if kind == "M":
        if getattr(dtype, "tz", None) is not None:
            column = column.dt.tz_localize(None)
        return Cells("date", pl.Series(column.to_numpy().astype("datetime64[us]")))
    if kind == "m":
        spans = pl.Series(column.to_numpy().astype("timedelta64[us]"))
        return Cells("number", spans.dt.total_microseconds() / DAY)
    return _from_objects(column.tolist())


def _from_objects(values: list[Any]) -> Cells | None:
    """Return Python objects as cells, by what those are that are present."""
    cells = [None if is_missing(value) else value for value in values]
    types = {type(cell) for cell in cells if cell is not None}
    if _all_of(types, (Real, Decimal, np.bool_)):
        return Cells("number", pl.Series([_float(cell) for cell in cells], dtype=pl.Float64))
    if _all_of(types, (datetime.date,)):  # a datetime is one too
        moments = [None if cell is None else _moment(cell) for cell in cells]
        return Cells("date", pl.Series(moments, dtype=MOMENT))
    if _all_of(types, (str, Real, np.bool_)):
        text = [None if cell is None else text_of(cell) for cell in cells]
        return Cells("text", pl.Series(text, dtype=pl.String))
    return None


def text_of(value: Any) -> str:
    """Return a category as text; whole numbers are written without a point."""
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    if isinstance(value, Real) and _float(value).is_integer():
        return str(math.trunc(value))
    # What UTF-8 cannot hold is written as its number.
    return str(value).encode("utf-8", "backslashreplace").decode()


def _float(cell: Any) -> float:
    """Return a number as float64; NaN if it is missing, infinity if it is too large."""
    if cell is None:
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _all_of(types: Iterable[type], wanted: tuple[type, ...]) -> bool:
    return all(issubclass(each, wanted) for each in types)


def _moment(day: datetime.date) -> datetime.datetime:
    if isinstance(day, datetime.datetime):
        return datetime.datetime.combine(day.date(), day.time())
    return datetime.datetime.combine(day, datetime.time())
