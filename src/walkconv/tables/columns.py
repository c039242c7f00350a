"""What a column becomes, by its kind: the numbers of one node or several."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import polars as pl

from walkconv._checks import check_number, is_utf8
from walkconv.tables.cells import DAY, Cells, first_odd_cell, parse_dates

MOST_LEVELS = 20
"""Categories of a column that get a node each, the most frequent ones."""
MOST_COUNTED = 1000
"""Categories whose frequency is kept, the most frequent ones."""
CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}
"""Their lengths in days."""
ID_SHARE = 0.9
"""Text with this share of different values identifies the rows."""
ID_ROWS = 10
"""With fewer rows nothing is known about that."""


class ColumnEncoding(Protocol):
    """How one column becomes nodes, frozen."""

    kind: ClassVar[str]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """What follows the name of the column in the name of each node."""
        ...

    def encode(self, cells: Cells) -> np.ndarray:
        """Return the values (n_rows, n_nodes), float64, NaN where they are not known."""
        ...

    def to_plain(self) -> dict[str, Any]:
        """Return the record as plain values, for a file."""
        ...

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_plain` wrote, checked."""
        ...


@dataclass(frozen=True)
class Numbers:
    """A column of numbers or truths is a node, as it is."""

    kind: ClassVar[str] = "number"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Nothing."""
        return ("",)

    def encode(self, cells: Cells) -> np.ndarray:
        """Return the numbers (n_rows, 1)."""
        values = cells.values
        if cells.kind == "date" and values.null_count() < len(values):
            raise ValueError("numbers, as in fit; got dates")
        if cells.kind != "number":
            values = values.cast(pl.Float64, strict=False)
            if values.null_count() > cells.values.null_count():
                raise ValueError(f"numbers, as in fit; got {first_odd_cell(cells.values)}")
        return values.to_numpy()[:, None]

    def to_plain(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record."""
        return cls()


@dataclass(frozen=True)
class Unused:
    """A column that identifies the rows is not used."""

    kind: ClassVar[str] = "unused"

    @property
    def suffixes(self) -> tuple[str, ...]:
        """No node."""
        return ()

    def encode(self, cells: Cells) -> np.ndarray:
        """Return nothing (n_rows, 0)."""
        return np.empty((len(cells.values), 0))

    def to_plain(self) -> dict[str, Any]:
        """Return nothing."""
        return {}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record."""
        return cls()


@dataclass(frozen=True)
class Categories:
    """A category is a node that is 1 in its rows and 0 in the others.

    A category that was never seen is 0 in all of them, and so is a missing cell.

    Attributes
    ----------
    levels : tuple of str
        The categories with a node of their own.
    shares : dict of str to float
        Share of the training rows of each category, if there are more than have nodes: then
        another node stands for all others, and one holds the share.
    missing_share : float
        Share of the training rows that were missing; above 0, a node says where cells are missing.
    """

    kind: ClassVar[str] = "category"
    levels: tuple[str, ...]
    shares: dict[str, float]
    missing_share: float

    @classmethod
    def learn(cls, values: pl.Series) -> Self:
        """Return the categories of a text column."""
        counts = values.alias("level").drop_nulls().value_counts()
        counts = counts.sort(by=["count", "level"], descending=[True, False])
        names: list[str] = counts["level"].to_list()
        shares: dict[str, float] = {}
        if len(names) > MOST_LEVELS:
            counted = zip(names[:MOST_COUNTED], counts["count"][:MOST_COUNTED], strict=True)
            shares = {name: count / len(values) for name, count in counted}
        missing_share = values.null_count() / len(values)
        return cls(tuple(sorted(names[:MOST_LEVELS])), shares, missing_share)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The category of each node."""
        others = ("=(other)", "=(frequency)") if self.shares else ()
        missing = ("=(missing)",) if self.missing_share else ()
        return (*(f"={level}" for level in self.levels), *others, *missing)

    def encode(self, cells: Cells) -> np.ndarray:
        """Return truths, and the share if there are many categories (n_rows, n_nodes)."""
        text = cells.as_text()
        codes = dict(zip(self.levels, range(len(self.levels)), strict=True))
        code = text.replace_strict(codes, default=-1, return_dtype=pl.Int64).to_numpy()
        code = np.where(text.is_null().to_numpy(), -2, code)
        parts = [code[:, None] == np.arange(len(self.levels))]
        if self.shares:
            share = text.replace_strict(self.shares, default=0.0, return_dtype=pl.Float64)
            share = np.where(code == -2, self.missing_share, share.to_numpy())
            parts += [code[:, None] == -1, share[:, None]]
        if self.missing_share:
            parts.append(code[:, None] == -2)
        return np.concatenate(parts, axis=1, dtype=np.float64)

    def to_plain(self) -> dict[str, Any]:
        """Return the categories and their shares."""
        shares = [[level, share] for level, share in self.shares.items()]
        return {"levels": list(self.levels), "shares": shares, "missing": self.missing_share}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_plain` wrote, checked."""
        levels = _read_levels(plain["levels"])
        shares = {name: _read_share(share) for name, share in plain["shares"]}
        if shares:
            _read_levels(list(shares))
        return cls(levels, shares, _read_share(plain["missing"]))


@dataclass(frozen=True)
class Ranks:
    """An ordered category is a node that holds its rank from 0; NaN if it was never seen.

    Attributes
    ----------
    levels : tuple of str
        From the lowest.
    """

    kind: ClassVar[str] = "ordered"
    levels: tuple[str, ...]

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Nothing."""
        return ("",)

    def encode(self, cells: Cells) -> np.ndarray:
        """Return the ranks (n_rows, 1)."""
        ranks = {level: float(rank) for rank, level in enumerate(self.levels)}
        found = cells.as_text().replace_strict(ranks, default=None, return_dtype=pl.Float64)
        return found.to_numpy()[:, None]

    def to_plain(self) -> dict[str, Any]:
        """Return the categories in order."""
        return {"levels": list(self.levels)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_plain` wrote, checked."""
        return cls(_read_levels(plain["levels"]))


@dataclass(frozen=True)
class Dates:
    """A date is a node that counts days since 1970, and sine and cosine of each cycle it shows.

    Attributes
    ----------
    cycles : tuple of str
        Of "year", "week" and "day", those that the training rows span and in which they differ.
    """

    kind: ClassVar[str] = "date"
    cycles: tuple[str, ...]

    @classmethod
    def learn(cls, moments: pl.Series) -> Self:
        """Return the cycles that a column of moments shows."""
        days = _days(moments)
        days = days[~np.isnan(days)]
        spanned = [name for name, length in CYCLES.items() if np.ptp(days) >= 0.9 * length]
        # Dates a year apart drift by a quarter of a day.
        differs = {name: np.ptp(_waves(days, name), axis=0).max() > 0.05 for name in spanned}
        return cls(tuple(name for name in spanned if differs[name]))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Nothing, and the cycles."""
        waves = (f":{cycle}_{wave}" for cycle in self.cycles for wave in ("sin", "cos"))
        return ("", *waves)

    def encode(self, cells: Cells) -> np.ndarray:
        """Return days and waves (n_rows, n_nodes), NaN where a cell is no date."""
        days = _days(cells.as_moments())
        waves = [_waves(days, cycle) for cycle in self.cycles]
        return np.concatenate([days[:, None], *waves], axis=1)

    def to_plain(self) -> dict[str, Any]:
        """Return the names of the cycles."""
        return {"cycles": list(self.cycles)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_plain` wrote, checked."""
        cycles = plain["cycles"]
        if cycles != [name for name in CYCLES if name in cycles]:
            raise ValueError(f"the cycles of dates must be among {list(CYCLES)}, in order.")
        return cls(tuple(cycles))


KINDS: dict[str, type[ColumnEncoding]] = {
    kind.kind: kind for kind in (Numbers, Unused, Categories, Ranks, Dates)
}
"""What a column may become, by name."""


def learn_column(cells: Cells) -> ColumnEncoding:
    """Return how a column of the training rows becomes nodes."""
    if cells.kind == "number" or cells.values.null_count() == len(cells.values):
        return Numbers()
    if cells.kind == "date":
        return Dates.learn(cells.values)
    if cells.kind == "ordered":
        return Ranks(cells.levels)
    if cells.kind == "text":
        moments = parse_dates(cells.values)
        if moments.null_count() == cells.values.null_count():
            return Dates.learn(moments)
    if is_identifier(cells.values):
        return Unused()
    return Categories.learn(cells.values)


def is_identifier(values: pl.Series) -> bool:
    """Say whether text differs in nearly every row, so that it can only identify rows."""
    n_present = len(values) - values.null_count()
    return n_present >= ID_ROWS and values.drop_nulls().n_unique() >= ID_SHARE * n_present


def _days(moments: pl.Series) -> np.ndarray:
    """Return days since 1970 (n_rows,), float64, NaN where a moment is missing."""
    return moments.cast(pl.Int64).cast(pl.Float64).to_numpy() / DAY


def _waves(days: np.ndarray, cycle: str) -> np.ndarray:
    """Return the sine and the cosine of days in a cycle (n_rows, 2)."""
    angle = 2 * math.pi * (days / CYCLES[cycle] % 1)
    return np.stack([np.sin(angle), np.cos(angle)], axis=1)


def _read_levels(levels: Any) -> tuple[str, ...]:
    if not isinstance(levels, list) or not all(map(is_utf8, levels)):
        raise ValueError("categories must be a list of text that UTF-8 can hold.")
    if not levels or len(set(levels)) != len(levels):
        raise ValueError("there must be categories, each once.")
    return tuple(levels)


def _read_share(share: Any) -> float:
    share = check_number(share, "the share of a category", minimum=0)
    if share > 1:
        raise ValueError(f"the share of a category must be at most 1; it is {share}.")
    return share
