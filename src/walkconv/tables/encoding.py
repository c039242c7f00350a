"""A table of numbers, text, categories and dates becomes a table of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from walkconv._checks import SHOWN, closest, describe, is_utf8, listed
from walkconv._warnings import warn_user
from walkconv.tables.cells import Cells, odd_number, read_cells
from walkconv.tables.columns import KINDS, ColumnEncoding, Unused, learn_column


@dataclass(frozen=True, eq=False)
class TableEncoding:
    """How the columns of a table become nodes, learned from training rows.

    A column of numbers or truths is a node. A column of categories or text has a node for each of
    its 20 most frequent categories (``colour=red``). If there are more, ``colour=(other)`` stands
    for them and ``colour=(frequency)`` holds the share of the rows with that category. If cells
    were missing, ``colour=(missing)`` says where. Ordered categories of pandas are ranks. Dates are
    days since 1970, with sine and cosine of the year, the week and the day if the rows show them. A
    category that was never seen is 0 in all nodes; numbers, ranks and dates that are missing are
    NaN. Text that differs in nearly every row is not used.

    Attributes
    ----------
    columns : tuple of ColumnEncoding
        One for each column of the table.
    names : tuple of str, or None
        The names of the columns, if all are strings.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.tables import learn_table_encoding
    >>> table = pl.DataFrame({"height": [1.5, 2.0, 1.8], "colour": ["red", "blue", "red"]})
    >>> encoding = learn_table_encoding(table)
    >>> encoding.node_names.tolist()
    ['height', 'colour=blue', 'colour=red']
    >>> encoding.column_of_node
    array([0, 1, 1])
    >>> encoding.apply(pl.DataFrame({"colour": ["green", "blue"], "height": [1.0, None]}))
    array([[ 1.,  0.,  0.],
           [nan,  1.,  0.]])
    """

    columns: tuple[ColumnEncoding, ...]
    names: tuple[str, ...] | None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns, or their numbers as text."""
        return self.names or tuple(map(str, range(len(self.columns))))

    @property
    def used_names(self) -> list[str]:
        """The names of the columns that have nodes."""
        pairs = zip(self.labels, self.columns, strict=True)
        return [name for name, column in pairs if column.suffixes]

    @property
    def number_names(self) -> list[str]:
        """The names of the columns that hold plain numbers."""
        pairs = zip(self.labels, self.columns, strict=True)
        return [name for name, column in pairs if column.kind == "number"]

    @property
    def node_names(self) -> np.ndarray:
        """The name of each node (n_nodes,), object; no two are the same."""
        names: dict[str, None] = {}
        for label, column in zip(self.labels, self.columns, strict=True):
            for suffix in column.suffixes:
                name = label + suffix
                while name in names:
                    name += "'"
                names[name] = None
        return np.array(list(names), dtype=object)

    @property
    def column_of_node(self) -> np.ndarray:
        """The number of the column that each node comes from (n_nodes,), int64."""
        counts = [len(column.suffixes) for column in self.columns]
        return np.repeat(np.arange(len(counts)), counts)

    def apply(self, X: Any, name: str = "X") -> np.ndarray:
        """Return the rows of a table as numbers.

        Parameters
        ----------
        X : pandas or polars DataFrame of shape (n_rows, n_columns)
            The columns may come in any order if they have names. Columns that are not used may be
            missing.
        name : str, default "X"
            What an error calls the table.

        Returns
        -------
        ndarray of shape (n_rows, n_nodes), float64
            NaN where a value is not known.
        """
        order = self._find_columns(X, name)
        parts = []
        for label, place, column in zip(self.labels, order, self.columns, strict=True):
            if not column.suffixes:
                continue
            cells = read_cells(X[place])
            if cells is None:
                raise TypeError(_refused([label], name))
            try:
                parts.append(column.encode(cells))
            except ValueError as error:
                raise ValueError(
                    f"The column {label!r} of {name} must hold {error}. Correct these cells, or "
                    "empty those whose value is missing."
                ) from None
        return np.concatenate(parts, axis=1)

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain values, for a file."""
        columns = [{"kind": each.kind, **each.to_plain()} for each in self.columns]
        return {"columns": columns, "names": None if self.names is None else list(self.names)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "TableEncoding":
        """Return the record that `to_plain` wrote, or raise an error if it is not whole."""
        columns = tuple(KINDS[each["kind"]].from_plain(each) for each in plain["columns"])
        names = plain["names"]
        if names is not None:
            is_text = isinstance(names, list) and all(map(is_utf8, names))
            if not is_text or len(names) != len(columns) or len(set(names)) != len(names):
                raise ValueError("there must be a name for each column, each once.")
            names = tuple(names)
        if not any(column.suffixes for column in columns):
            raise ValueError("a table must have a column that is used.")
        return cls(columns, names)

    def _find_columns(self, X: Any, name: str) -> list[Any]:
        """Return the names of the columns of a frame in the order of the fit."""
        if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
            raise TypeError(
                f"{name} must be a DataFrame with columns of text, categories or dates, as in fit; "
                f"got {describe(X)}."
            )
        given = list(X.columns)
        if self.names is None:
            if len(given) != len(self.columns):
                raise ValueError(
                    f"{name} must have {len(self.columns)} columns, as in fit; got {len(given)}."
                )
            return given
        known = set(self.names)
        unknown = [each for each in given if each not in known]
        missing = [each for each in self.used_names if each not in set(given)]
        if unknown or missing:
            hint = closest(unknown[0], missing) if unknown else ""
            parts = [f"missing: {listed(missing)}"] if missing else []
            parts += [f"unknown: {listed(unknown)}"] if unknown else []
            raise ValueError(f"{name} must have the columns of fit; {'; '.join(parts)}.{hint}")
        return list(self.names)


def learn_table_encoding(X: Any, name: str = "X") -> TableEncoding:
    """Return how the columns of a table become nodes; warn of columns that identify rows.

    Parameters
    ----------
    X : pandas or polars DataFrame of shape (n_rows, n_columns)
        The training rows.
    name : str, default "X"
        What an error calls the table.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.tables import learn_table_encoding
    >>> table = pl.DataFrame({"when": ["2023-01-01", "2024-06-30"], "new": [True, False]})
    >>> learn_table_encoding(table).node_names.tolist()
    ['when', 'when:year_sin', 'when:year_cos', 'new']
    """
    found = {label: read_cells(X[label]) for label in X.columns}
    refused = [label for label, cells in found.items() if cells is None]
    if refused:
        raise TypeError(_refused(refused, name))
    read = {label: cells for label, cells in found.items() if cells is not None}
    _refuse_numbers_in_text(read, name)
    columns = {label: learn_column(cells) for label, cells in read.items()}
    _warn_of_identifiers([label for label, c in columns.items() if isinstance(c, Unused)], name)
    names = tuple(columns) if all(isinstance(label, str) for label in columns) else None
    encoding = TableEncoding(tuple(columns.values()), names)
    if not len(encoding.node_names):
        raise ValueError(
            f"{name} must have a column that can be used; all {len(columns)} differ in nearly "
            "every row. Add columns, or encode these."
        )
    return encoding


def _refused(labels: list[Any], name: str) -> str:
    return (
        f"The columns of {name} must hold numbers, text, categories or dates; these hold something "
        f"else: {listed(labels)}. Drop or encode them."
    )


def _refuse_numbers_in_text(columns: Mapping[Any, Cells], name: str) -> None:
    """Refuse text columns that seem to hold numbers: as categories they would be of no use."""
    found = {
        label: odd_number(cells.values) for label, cells in columns.items() if cells.kind == "text"
    }
    odd = [f"{label!r} ({cell})" for label, cell in found.items() if cell]
    if odd:
        others = f" and {len(odd) - SHOWN} more" if len(odd) > SHOWN else ""
        raise ValueError(
            f"The columns of {name} must hold numbers or text; these seem to hold numbers, as text "
            f"or with some text: {', '.join(odd[:SHOWN])}{others}. Correct these cells, or empty "
            "those whose value is missing; or make the column categorical."
        )


def _warn_of_identifiers(labels: list[Any], name: str) -> None:
    if labels:
        warn_user(
            f"Columns of {name} are not used because their text differs in nearly every row: "
            f"{listed(labels)}. Drop them, or encode what they tell about the rows.",
        )
