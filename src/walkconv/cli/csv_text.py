"""Tables in text: what they must be like, and how they are read."""

from functools import partial

import polars as pl

EMPTY_CELLS = ["", "NA", "NaN", "nan", "null"]
ENDINGS = {",": ".csv", "\t": ".tsv"}


def read_csv(source: str | bytes, path: str, *, separator: str) -> pl.DataFrame:
    """Return a table in text.

    Parameters
    ----------
    source : str or bytes
        A file, or what was in it.
    path : str
        What an error calls it.
    separator : str
        What stands between columns.
    """
    read = partial(
        pl.read_csv,
        source,
        separator=separator,
        null_values=EMPTY_CELLS,
        infer_schema_length=None,
    )
    try:
        table = read()
    except pl.exceptions.PolarsError as error:
        if "invalid utf-8" in str(error):
            raise not_utf8(path) from None
        _check_header(read(n_rows=0), path, separator)
        raise
    _check_header(table, path, separator)
    return table


def not_utf8(path: str) -> ValueError:
    """Return the error of a text in another encoding."""
    return ValueError(f"{path} must be text in UTF-8; it is not. Save it in that encoding.")


def _check_header(table: pl.DataFrame, path: str, separator: str) -> None:
    """Refuse names that could not be decoded, and a table that is one column by mistake."""
    if any("\N{REPLACEMENT CHARACTER}" in name for name in table.columns):
        raise not_utf8(path)
    if table.width > 1:
        return
    name, cells = table.columns[0], table.to_series().drop_nulls().head(1).cast(pl.String)
    for mark in ";\t,":
        if mark != separator and mark in name and all(mark in cell for cell in cells):
            save = "Save it as CSV with commas between the columns and points in the numbers."
            rename = f"Let its name end in {ENDINGS.get(mark)}."
            raise ValueError(
                f"{path} must have {separator!r} between its columns; it seems to have {mark!r}. "
                f"{rename if mark in ENDINGS and path != '-' else save}"
            )
