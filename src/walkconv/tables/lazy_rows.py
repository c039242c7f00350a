"""Tables that stay where they are: on a disk, or behind another library.

Rows are read in blocks of 16 MiB when they are needed, and the last 17 blocks stay in memory. All
passes over a table read its blocks in order. Training shuffles by blocks: it takes 16 at random and
shuffles their rows, then the next 16. A table of at most 16 blocks is shuffled as a whole, as in
memory. Of a LazyFrame blocks have 64 MiB, and 4 take the place of 16: to read a part of a row group
of a Parquet file takes as long as to read all of it.
"""

import mmap
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from walkconv._checks import closest, listed

SHUFFLED_BYTES = 2**28
ARRAY_BLOCKS, FRAME_BLOCKS = 16, 4
"""Blocks that are shuffled together, of an array and of a LazyFrame."""
SAMPLED_ROWS, SAMPLED_BYTES = 20_000, 2**27
"""At most so much stands for the whole table where a part of it is enough."""
MANY_BLOCKS = 4
"""Blocks from which on rows are read at once, past the blocks that are kept: a file of Parquet has
large blocks, and to read parts of them again costs more than to copy."""


class LazyRows:
    """Rows of a table that are read in blocks.

    Parameters
    ----------
    read : callable
        From the first row and the one after the last to an array of these rows.
    shape : tuple of int
        (n_samples, n_nodes) or (n_samples, n_nodes, n_channels).
    dtype : dtype
    names : ndarray of shape (n_nodes,) of str, or None
        Names of the columns.
    n_shuffled : int
        Number of blocks that are shuffled together.
    chosen : ndarray of int64, optional
        Ascending numbers of the rows that count. All by default.
    """

    def __init__(
        self,
        read: Callable[[int, int], np.ndarray],
        shape: tuple[int, ...],
        dtype: np.dtype,
        names: np.ndarray | None = None,
        n_shuffled: int = ARRAY_BLOCKS,
        chosen: np.ndarray | None = None,
    ):
        self.read, self.names, self.chosen, self.n_shuffled = read, names, chosen, n_shuffled
        self.n_stored, self.dtype = shape[0], np.dtype(dtype)
        self.shape = (shape[0] if chosen is None else len(chosen), *shape[1:])
        row_bytes = self.dtype.itemsize * max(1, int(np.prod(shape[1:])))
        self.block_rows = max(1, SHUFFLED_BYTES // n_shuffled // row_bytes)
        self.n_blocks = -(-self.n_stored // self.block_rows)
        self.cache: OrderedDict[int, np.ndarray] = OrderedDict()

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __getitem__(self, key: Any) -> np.ndarray:
        """Return some rows, by a slice or by their numbers; and of a pair, some columns of them."""
        if isinstance(key, tuple):
            rows, columns = key
            return self[rows][:, columns]
        if isinstance(key, slice):
            start, stop, _ = key.indices(len(self))
            if self.chosen is None:
                return self._span(start, stop)
            key = np.arange(start, stop)
        stored = key if self.chosen is None else self.chosen[key]
        out = np.empty((len(stored), *self.shape[1:]), self.dtype)
        of_block = stored // self.block_rows
        # Blocks at hand first: those that are read now may take their places.
        for number in sorted(np.unique(of_block), key=lambda each: each not in self.cache):
            is_here = of_block == number
            out[is_here] = self._block(int(number))[stored[is_here] - number * self.block_rows]
        return out

    def blocks(self) -> Iterator[np.ndarray]:
        """Yield all rows, some at a time."""
        for start in range(0, len(self), self.block_rows):
            yield self[start : start + self.block_rows]

    def take(self, rows: np.ndarray) -> "LazyRows":
        """Return some of the rows, whose numbers ascend."""
        assert (np.diff(rows) > 0).all()
        chosen = rows if self.chosen is None else self.chosen[rows]
        shape = (self.n_stored, *self.shape[1:])
        chosen = chosen.astype(np.int64)
        return LazyRows(self.read, shape, self.dtype, self.names, self.n_shuffled, chosen)

    def sampled(self, seed: int) -> np.ndarray:
        """Return ascending numbers of rows, drawn at random, that fit into memory."""
        row_bytes = self.dtype.itemsize * max(1, int(np.prod(self.shape[1:])))
        n_rows = min(SAMPLED_ROWS, max(2, SAMPLED_BYTES // row_bytes), len(self))
        return np.sort(np.random.default_rng(seed).choice(len(self), n_rows, replace=False))

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> "LazyRows":
        """Return the rows under a function of a block, float64."""
        return LazyRows(
            lambda start, stop: change(self.read(start, stop)),
            (self.n_stored, *self.shape[1:]),
            np.dtype(np.float64),
            self.names,
            self.n_shuffled,
            self.chosen,
        )

    def shuffled(self) -> np.ndarray:
        """Return the numbers of the rows in a random order that needs few blocks at a time."""
        stored = np.arange(len(self)) if self.chosen is None else self.chosen
        if self.n_blocks <= self.n_shuffled:
            return torch.randperm(len(self)).numpy()
        ends = np.searchsorted(stored, np.arange(self.n_blocks + 1) * self.block_rows)
        turns = torch.randperm(self.n_blocks).numpy()
        parts = []
        for start in range(0, self.n_blocks, self.n_shuffled):
            group = turns[start : start + self.n_shuffled]
            rows = np.concatenate([np.arange(*ends[[b, b + 1]].tolist()) for b in group])
            parts.append(rows[torch.randperm(len(rows)).numpy()])
        return np.concatenate(parts)

    def _span(self, start: int, stop: int) -> np.ndarray:
        """Return stored rows that follow each other."""
        first, last = start // self.block_rows, max(start, stop - 1) // self.block_rows
        if last - first >= MANY_BLOCKS and self.n_blocks > self.n_shuffled:
            return self._read(start, stop)  # of a pass over all rows, which are not kept anyway
        parts = []
        for number in range(first, last + 1):
            offset = number * self.block_rows
            parts.append(self._block(number)[max(0, start - offset) : stop - offset])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _block(self, number: int) -> np.ndarray:
        if number in self.cache:
            self.cache.move_to_end(number)
            return self.cache[number]
        start = number * self.block_rows
        block = self._read(start, min(start + self.block_rows, self.n_stored))
        self.cache[number] = block
        if len(self.cache) > self.n_shuffled + 1:
            self.cache.popitem(last=False)
        return block

    def _read(self, start: int, stop: int) -> np.ndarray:
        block = self.read(start, stop)
        if self.dtype.kind == "f" and np.isinf(block).any():
            row = start + int(np.argwhere(np.isinf(block))[0, 0])
            raise ValueError(
                f"X must hold finite numbers or NaN; row {row} holds infinity. Replace it first."
            )
        return block


def lazy_rows(X: Any, names: np.ndarray | None = None) -> LazyRows:
    """Return a table that is not in memory as rows to read.

    Parameters
    ----------
    X : memory map, LazyFrame, path of a Parquet file, or array of dask, h5py or zarr
    names : ndarray of shape (n_nodes,) of str, optional
        Columns to take from a LazyFrame or a file. All by default.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.tables.lazy_rows import lazy_rows
    >>> rows = lazy_rows(pl.LazyFrame({"a": [1, 2, 3], "b": [0.5, None, 2.5]}))
    >>> rows.shape
    (3, 2)
    >>> rows[1:]
    array([[2. , nan],
           [3. , 2.5]])
    """
    if isinstance(X, str | os.PathLike):
        path = Path(X)
        if not path.is_file():
            raise FileNotFoundError(f"X must be a table or a Parquet file; {X} is not a file.")
        with _naming_faults():
            return _frame_rows(pl.scan_parquet(path), names)
    if isinstance(X, pl.LazyFrame):
        with _naming_faults():
            return _frame_rows(X, names)
    if isinstance(X, np.memmap):
        return _checked(LazyRows(_map_reader(X), X.shape, X.dtype))
    if not all(isinstance(side, int | np.integer) for side in X.shape):
        raise ValueError(
            f"X must have a known size; got shape {X.shape}. For a dask array, call "
            "X.compute_chunk_sizes()."
        )
    return _checked(LazyRows(lambda a, b: np.asarray(X[a:b]), X.shape, X.dtype))


def _checked(rows: LazyRows) -> LazyRows:
    if rows.ndim not in (2, 3) or rows.dtype.kind not in "biuf":
        raise ValueError(
            "X must hold numbers in an array (n_samples, n_nodes) or (n_samples, n_nodes, "
            f"n_channels); got {rows.dtype} of shape {rows.shape}."
        )
    if not all(rows.shape):
        raise ValueError(f"X must have at least one row and one column; got shape {rows.shape}.")
    return rows


def _map_reader(X: np.memmap) -> Callable[[int, int], np.ndarray]:
    """Return a reader that gives the pages back to the system: they stay in its cache."""
    mapped = getattr(X, "_mmap", None)
    is_private = getattr(X, "mode", "c") == "c"  # its changes are in memory alone

    def read(start: int, stop: int) -> np.ndarray:
        block = np.array(X[start:stop])
        if isinstance(mapped, mmap.mmap) and not is_private and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)
        return block

    return read


def _frame_rows(frame: pl.LazyFrame, names: np.ndarray | None) -> LazyRows:
    schema = frame.collect_schema()
    wanted = schema.names() if names is None else [str(name) for name in names]
    missing = [name for name in wanted if name not in schema]
    if missing:
        raise ValueError(
            f"X must have the columns of fit; it lacks {listed(missing)}."
            f"{closest(missing[0], schema.names())}"
        )
    kinds = [schema[name] for name in wanted]
    other = [n for n, kind in zip(wanted, kinds, strict=True) if not _is_number(kind)]
    if other:
        raise TypeError(
            "The columns of a table that is not in memory must hold numbers; these hold something "
            f"else: {listed(other)}. Drop or encode them, or call X.collect()."
        )
    kind = pl.Float32 if all(each == pl.Float32 for each in kinds) else pl.Float64
    numbers = frame.select(pl.col(wanted).cast(kind).fill_null(float("nan")))
    n_rows = frame.select(pl.len()).collect().item()

    def read(start: int, stop: int) -> np.ndarray:
        with _naming_faults():
            block = numbers.slice(start, stop - start).collect().to_numpy()
        if block.shape != (stop - start, len(wanted)):
            raise ValueError(
                f"X must keep its size; rows {start} to {stop} are now of shape {block.shape}. Do "
                "not change the table during a fit."
            )
        return np.ascontiguousarray(block)

    dtype = np.dtype(np.float32 if kind == pl.Float32 else np.float64)
    shape, labels = (n_rows, len(wanted)), np.array(wanted, dtype=object)
    return _checked(LazyRows(read, shape, dtype, labels, FRAME_BLOCKS))


@contextmanager
def _naming_faults() -> Iterator[None]:
    """Turn an error of polars into one that says what could not be read."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = next(iter(str(error).splitlines()), "it is damaged")
        raise ValueError(f"X must be a table that polars can read: {reason}") from error


def _is_number(kind: pl.DataType) -> bool:
    return kind.is_numeric() or kind == pl.Boolean
