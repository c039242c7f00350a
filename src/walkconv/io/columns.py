"""Columns of a table: chosen by name, or all that are features."""

import difflib
import logging
import re
import reprlib
from collections.abc import Sequence

import numpy as np
import polars as pl

from walkconv._checks import SHOWN, listed
from walkconv.tables.cells import odd_number, read_cells

NAMELESS = re.compile(r"(_duplicated_\d+|Unnamed: \d+(\.\d+)?|__index_level_\d+__)?")
"""No name, or what polars and pandas write if there is no name."""
FIX_CELLS = "Correct these cells, or empty those whose value is missing."

logger = logging.getLogger(__name__)


class ColumnError(ValueError):
    """Columns of a table are not as they must be.

    Attributes
    ----------
    columns : tuple of str
        The columns at fault.
    can_be_dropped : bool
        Whether the call would go on without these columns.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.io import ColumnError, take_features
    >>> try:
    ...     take_features(pl.DataFrame({"id": ["r1", "r2"], "height": [1.5, 2.5]}))
    ... except ColumnError as error:
    ...     print(error.columns, error.can_be_dropped)
    ('id',) True
    """

    def __init__(
        self, message: str, columns: Sequence[str], *, can_be_dropped: bool = False
    ) -> None:
        super().__init__(message)
        self.columns = tuple(columns)
        self.can_be_dropped = can_be_dropped


def select_columns(
    table: pl.DataFrame, columns: Sequence[str], *, source: str = "the table"
) -> pl.DataFrame:
    """Return the named columns of a table, in that order, each once.

    Parameters
    ----------
    table : polars DataFrame
    columns : sequence of str
        Names. A name that the table does not have is refused, with the name that comes closest.
    source : str, optional
        What an error calls the table.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.io import select_columns
    >>> table = pl.DataFrame({"height": [1.5], "price": [3.0]})
    >>> select_columns(table, ["price"]).columns
    ['price']
    >>> select_columns(table, ["prize"])
    Traceback (most recent call last):
    walkconv.io.columns.ColumnError: the table must have the column 'prize'; it has 2 columns: \
'height', 'price'. Did you mean 'price'?
    """
    missing = [column for column in dict.fromkeys(columns) if column not in table.columns]
    if missing:
        close = [
            match
            for column in missing[:SHOWN]
            for match in difflib.get_close_matches(column, table.columns, n=1)
        ]
        hint = f" Did you mean {listed(list(dict.fromkeys(close)))}?" if close else ""
        raise ColumnError(
            f"{source} must have the {_counted(missing)} {listed(missing)}; it has {table.width} "
            f"{_counted(table.columns)}: {listed(table.columns)}.{hint}",
            missing,
        )
    return table.select(list(dict.fromkeys(columns)))


def take_features(
    table: pl.DataFrame,
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    text: bool | Sequence[str] = False,
    categories: Sequence[str] = (),
    source: str = "the table",
    first_row: int = 1,
) -> pl.DataFrame:
    """Return the feature columns of a table, numbers as float64 with NaN in empty cells.

    Parameters
    ----------
    table : polars DataFrame
    columns : sequence of str, optional
        The features, in order. By default all columns, except a column without a name that only
        counts the rows.
    drop : sequence of str, optional
        Columns that are not features.
    text : bool or sequence of str, default False
        Whether columns may also hold text, categories and dates, which stay as they are; or the
        names of those that may. Text that seems to be numbers is refused.
    categories : sequence of str, optional
        Columns that hold categories even if these are numbers.
    source : str, optional
        What an error calls the table.
    first_row : int, default 1
        What an error calls its first row, if it is a part of a longer table.

    Returns
    -------
    polars DataFrame of shape (n_rows, n_features)

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.io import take_features
    >>> table = pl.DataFrame({"": [0, 1], "id": ["r1", "r2"], "height": [1.5, None]})
    >>> take_features(table, drop=["id"]).to_dict(as_series=False)
    {'height': [1.5, nan]}
    """
    if columns is not None:
        named, remedy = select_columns(table, columns, source=source), FIX_CELLS
    else:
        dropped = select_columns(table, drop, source=source).columns
        named = drop_row_numbers(table.drop(dropped), source, can_be_dropped=True)
        remedy = "Correct or empty these cells" if text else "Encode them as numbers"
    coded = select_columns(named, categories, source=source)
    named = named.with_columns(_as_categories(column) for column in coded)
    if isinstance(text, bool):
        words = [column.name for column in named if text and _is_text(column)]
    else:  # known to be text, also where a part of the table holds only digits
        words = [column.name for column in named if column.name in text and not _is_number(column)]
    return as_numbers(
        named,
        source,
        remedy=remedy,
        can_be_dropped=columns is None,
        text=words,
        first_row=first_row,
    )


def drop_row_numbers(
    table: pl.DataFrame, source: str, *, can_be_dropped: bool = False
) -> pl.DataFrame:
    """Return the columns that have a name; a column without one must count the rows."""
    nameless = [column for column in table if is_nameless(column.name)]
    unknown = [column.name for column in nameless if not _counts_rows(column)]
    if unknown:
        way = "drop them" if can_be_dropped else "take them out of the file"
        raise ColumnError(
            f"Columns of {source} must have names, unless they count the rows; these have no name: "
            f"{listed(unknown)}. Name them or {way}.",
            unknown,
            can_be_dropped=can_be_dropped,
        )
    for column in nameless:
        logger.info(
            "dropped column %r of %s: it has no name and counts the rows", column.name, source
        )
    return table.drop(column.name for column in nameless)


def is_nameless(name: str) -> bool:
    """Say whether a name stands for a missing name."""
    return NAMELESS.fullmatch(name) is not None


def as_numbers(
    table: pl.DataFrame,
    source: str,
    *,
    remedy: str,
    can_be_dropped: bool = False,
    text: Sequence[str] = (),
    first_row: int = 1,
) -> pl.DataFrame:
    """Return the columns as float64 with NaN in empty cells; an error ends with the remedy.

    Columns of text stay as they are.
    """
    others = table.drop(text)
    odd = [column for column in others if not _is_number(column)]
    if odd:
        cells = ", ".join(_first_text(column, first_row) for column in odd[:SHOWN])
        more = f" and {len(odd) - SHOWN} more" if len(odd) > SHOWN else ""
        can_be_dropped = can_be_dropped and len(odd) < table.width
        way = " or drop them." if can_be_dropped else "."
        raise ColumnError(
            f"Columns of {source} must hold numbers; these hold something else: {cells}{more}. "
            f"{remedy.removesuffix('.')}{way}",
            [column.name for column in odd],
            can_be_dropped=can_be_dropped,
        )
    if not table.width:
        raise ValueError(f"{source} must have at least one feature column; it has none left.")
    if not others.width:
        return table
    return table.with_columns(others.select(pl.all().cast(pl.Float64).fill_null(float("nan"))))


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


def _as_categories(column: pl.Series) -> pl.Series:
    cells = read_cells(column)
    return column if cells is None else cells.as_text().cast(pl.Categorical).alias(column.name)


def _is_text(column: pl.Series) -> bool:
    """Say whether a column holds text, categories or dates, and not numbers as text."""
    if _is_number(column):
        return False
    if column.dtype == pl.String:
        return not odd_number(column)
    return column.dtype.is_temporal() or column.dtype in (pl.Categorical, pl.Enum)


def _first_text(column: pl.Series, first_row: int) -> str:
    """Return the name of a column and its first cell that is not a number."""
    is_text = column.is_not_null()
    if column.dtype == pl.String:
        is_odd = is_text & column.cast(pl.Float64, strict=False).is_null()
        is_text = is_odd if is_odd.any() else is_text
    row = is_text.arg_true()[0]
    return f"{column.name!r} (row {first_row + row}: {reprlib.repr(str(column[row]))})"


def _counted(columns: Sequence[str]) -> str:
    return "column" if len(columns) == 1 else "columns"
