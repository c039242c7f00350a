"""Samples that are rows of a table: how they are read, scaled, related and put into batches."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data
from torch import Tensor

from walkconv._adapters import as_graph
from walkconv._checks import (
    as_real,
    check_integer,
    check_sparse,
    closest,
    is_utf8,
    listed,
    refuse_odd_table,
)
from walkconv._samples import kind_of_samples
from walkconv.estimators.relations import Orientation, Relations, refuse_stored
from walkconv.estimators.samples import Arrays, Learned, Lesson
from walkconv.estimators.settings import Settings
from walkconv.networks.levels import Level, read_levels, under
from walkconv.networks.network import NetworkPlan
from walkconv.tables import TableEncoding, learn_table_encoding
from walkconv.tables.cells import holds_numbers, read_cells
from walkconv.tables.lazy_rows import LazyRows, lazy_rows
from walkconv.tables.relevance import Relevance, learn_relevance, logarithm_of_counts
from walkconv.tables.scaling import (
    Scaling,
    learn_scaling,
    no_scaling,
    softly_clipped,
)
from walkconv.training.whole_batch import draw_for_rows
from walkconv.walks import Neighbors, slot_offsets

Table = np.ndarray | sp.csr_array | LazyRows
TABLE = {
    "accept_sparse": "csr",
    "dtype": "numeric",
    "ensure_all_finite": "allow-nan",
    "allow_nd": True,
}
GRAPH_PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class TableSamples:
    """Rows of a table.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), CSR or LazyRows
    names : ndarray of shape (n_nodes,) of str, or None
        Names of the nodes: those of the columns, if all are strings, or of their encoding.
    encoding : TableEncoding or None
        How columns became nodes; None if all hold numbers.
    """

    kind: ClassVar[str] = "table"
    X: Table
    names: np.ndarray | None
    encoding: TableEncoding | None = None

    @classmethod
    def read(cls, X: Any) -> "TableSamples":
        """Return a checked table in memory to learn from."""
        checks = NeedsTarget()
        X = as_table(X)
        if _needs_encoding(X):
            encoding = learn_table_encoding(X)
            return _encoded(X, encoding, ensure_min_samples=2)
        X = validate_data(checks, _without_objects(X), ensure_min_samples=2, **TABLE)
        return cls(_as_real_table(X), getattr(checks, "feature_names_in_", None))

    @classmethod
    def read_stored(cls, X: Any) -> "TableSamples":
        """Return a table to learn from whose rows are read in blocks."""
        rows = lazy_rows(X)
        return cls(rows, rows.names)

    def __len__(self) -> int:
        return self.X.shape[0]

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of each row."""
        return [self.shape[0]] * len(self)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of nodes, and of channels of a node."""
        return self.X.shape[1], self.X.shape[2] if self.X.ndim == 3 else 1

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are read when they are needed."""
        return isinstance(self.X, LazyRows)

    def take(self, rows: np.ndarray) -> "TableSamples":
        """Return some of the rows."""
        X = self.X.take(rows) if isinstance(self.X, LazyRows) else self.X[rows]
        return replace(self, X=X)

    def in_memory(self, settings: Settings, seed: int) -> tuple[np.ndarray, "TableSamples"]:
        """Return the table with the numbers of its rows; of one that is stored a random part."""
        if not isinstance(self.X, LazyRows):
            return np.arange(len(self)), self
        refuse_stored(self.X, settings)
        rows = self.X.sampled(seed)
        return rows, replace(self, X=self.X[rows])

    def read_like(self, X: Any) -> "TableSamples":
        """Return a checked table with the same columns, to validate on."""
        if kind_of_samples(X) == "graphs":
            raise ValueError(
                "validation_data must hold a table, as the training samples do; got a list of "
                "graphs."
            )
        return _read_columns(X, self.shape[0], self.names, self.encoding)

    def parts(self) -> list[Any]:
        """Return the table."""
        return [self.X]

    def learn(self, lesson: Lesson, like: Learned | None) -> "Columns":
        """Return the scaling of the columns, and their graph and levels if the layers use them."""
        settings = lesson.settings
        if like is not None and like.kind != self.kind:
            raise _other_kind_of_filters()
        self._refuse_empty_columns()
        relevance = None
        if settings.standardize == "relevance":
            relevance, scaling = learn_relevance(
                self.X,
                lesson.y,
                is_classification=lesson.is_classification,
                weight=lesson.weight,
                soft_clip=settings.soft_clip,
            )
        else:
            scaling = learn_scaling(self.X) if settings.standardize else no_scaling(self.X)
        if not settings.nodewise:
            return Columns(
                scaling,
                settings.soft_clip,
                self.names,
                relevance=relevance,
                encoding=self.encoding,
            )
        known = scaling if relevance is None else None
        related = (lesson.relations or Relations(self.X, self.names, known, self.encoding)).of(
            lesson
        )
        return Columns(
            scaling,
            settings.soft_clip,
            self.names,
            related.graph,
            settings.graph_source == "given",
            related.levels,
            related.orientation,
            relevance,
            self.encoding,
        )

    def _refuse_empty_columns(self) -> None:
        """Refuse a column that is missing in every row: nothing can be learned from it."""
        X = self.X
        if isinstance(X, LazyRows):
            is_empty = _is_missing_in_every_row(np.isnan(block).all(axis=0) for block in X.blocks())
        elif not isinstance(X, np.ndarray):
            n_missing = np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
            is_empty = n_missing == X.shape[0]
        elif X.dtype.kind == "f":
            is_empty = _is_missing_in_every_row(np.isnan(row) for row in X)
        else:
            return
        if is_empty.any():
            column = int(np.flatnonzero(is_empty)[0])
            name = f"column {column}" if self.names is None else f"column {self.names[column]!r}"
            raise ValueError(
                f"Every column must have a value in some training row; {name} is missing in all "
                f"({is_empty.sum()} such). Drop it."
            )


@dataclass(frozen=True, eq=False)
class Columns:
    """What is learned about the columns of a table before any weight.

    Attributes
    ----------
    scaling : Scaling
    soft_clip : float or None
    names : ndarray of shape (n_nodes,) of str, or None
        Names of the nodes.
    graph : csr_array of shape (n_nodes, n_nodes) or None
        None without C and P layers, and in a loaded model whose graph was learned.
    is_given : bool
        Whether the graph was given: then a file keeps it.
    levels : list of Level
    orientation : Orientation or None
        None without C and P layers.
    relevance : Relevance or None
        With ``standardize="relevance"``; the scaling is then that of the logarithms of counts.
    encoding : TableEncoding or None
        How columns become nodes; None if all hold numbers.
    """

    kind: ClassVar[str] = "table"
    scaling: Scaling
    soft_clip: float | None
    names: np.ndarray | None
    graph: sp.csr_array | None = None
    is_given: bool = False
    levels: list[Level] = field(default_factory=list)
    orientation: Orientation | None = None
    relevance: Relevance | None = None
    encoding: TableEncoding | None = None

    def read(self, X: Any) -> TableSamples:
        """Return a checked table whose columns are those of the fit, in that order."""
        if kind_of_samples(X) == "graphs":
            raise ValueError("X must be a table, as in fit; got a list of graphs.")
        return _read_columns(X, len(self.scaling.mean), self.names, self.encoding)

    def check(self, samples: TableSamples, name: str = "X") -> None:
        """Refuse a table with another number of channels."""
        n_channels, got = self.scaling.mean.shape[1], samples.shape[1]
        if got != n_channels:
            raise ValueError(f"{name} must have {n_channels} channel(s), as in fit; got {got}.")

    def plan(self, settings: Settings, n_outputs: int) -> NetworkPlan:
        """Return the plan of a network that holds the neighbours of the columns."""
        n_nodes, n_channels = self.scaling.mean.shape
        return NetworkPlan(
            layers=settings.layers,
            n_channels=n_channels,
            n_outputs=n_outputs,
            n_nodes=n_nodes,
            levels=self.levels,
            weighting=settings.weighting,
            normalization=settings.normalization,
            dropout=settings.dropout,
            conv_dropout=settings.conv_dropout,
            conv_dropped=settings.conv_dropped,
        )

    def batches(self, samples: TableSamples, device: torch.device) -> "TableBatches":
        """Return the rows as scaled batches."""
        return TableBatches(
            samples.X, self.scaling, self.soft_clip, device, relevance=self.relevance
        )

    def training_batches(self, samples: TableSamples, settings: Settings) -> "TableBatches":
        """Return the rows as scaled batches, shifted along the layout if the settings say so."""
        if not settings.shift or self.orientation is None or self.orientation.positions is None:
            return self.batches(samples, settings.device)
        neighbors = self.levels[0].neighbors
        assert neighbors is not None  # the first layer is a convolution, or there is no shift
        sources = shift_sources(neighbors, self.orientation.positions.shape[1], settings.shift)
        return TableBatches(
            samples.X, self.scaling, self.soft_clip, settings.device, sources, self.relevance
        )

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        orientation, encoding = self.orientation, self.encoding
        names, n_features = self.names, len(self.scaling.mean)
        if encoding is not None:
            n_features = len(encoding.columns)
            names = None if encoding.names is None else np.array(encoding.names, dtype=object)
        named = {} if names is None else {"feature_names_in_": names}
        return named | {
            "n_features_in_": n_features,
            "node_names_": self.names,
            "scaling_": self.scaling,
            "encoding_": None,
            "table_encoding_": encoding,
            "graph_": self.graph,
            "levels_": self.levels,
            "neighbors_": self.levels[0].neighbors if self.levels else None,
            "orientation_": orientation,
            "positions_": None if orientation is None else orientation.positions,
        }

    def input_names(self) -> list[str]:
        """Return the names of the columns that users give, or their numbers as text."""
        if self.encoding is not None:
            return list(self.encoding.labels)
        names = range(len(self.scaling.mean)) if self.names is None else self.names
        return [str(name) for name in names]

    def by_input(self, shares: np.ndarray) -> np.ndarray:
        """Return the shares (n_columns,) of the columns, their nodes and channels summed."""
        of_nodes = shares.sum(axis=1)
        if self.encoding is None:
            return of_nodes
        n_columns = len(self.encoding.columns)
        return np.bincount(self.encoding.column_of_node, of_nodes, minlength=n_columns)

    def neighborhoods(self) -> sp.csr_array:
        """Return which columns (n_columns, n_columns) are neighbours of each column, 1 or 0."""
        neighbors = self.levels[0].neighbors if self.levels else None
        if neighbors is None:
            raise ValueError(
                "by='neighborhood' needs a model whose first layer is a C layer; this one has no "
                "neighbours. Use by='column'."
            )
        node, slot = (neighbors.index >= 0).nonzero()
        ends = (node, neighbors.index[node, slot])
        of_nodes = sp.csr_array((np.ones(len(node)), ends), shape=(neighbors.n_nodes,) * 2)
        if self.encoding is None:
            return of_nodes
        column = self.encoding.column_of_node
        places = column, np.arange(len(column))
        shape = len(self.encoding.columns), len(column)
        belongs = sp.csr_array((np.ones(len(column)), places), shape=shape)
        return sp.csr_array((belongs @ of_nodes @ belongs.T != 0).astype(np.float64))

    def list_shares(self, samples: TableSamples, shares: list[np.ndarray]) -> Arrays:
        """Return the shares of the columns, each with a value for each row."""
        table = np.stack([self.by_input(each) for each in shares])
        return dict(zip(self.input_names(), table.T, strict=True))

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the record without a learned graph, for a file."""
        arrays = {f"scaling.{name}": a for name, a in self.scaling.to_arrays().items()}
        for number, level in enumerate(self.levels):
            arrays |= {f"level.{number}.{name}": a for name, a in level.to_arrays().items()}
        if self.relevance is not None:
            arrays |= {f"relevance.{name}": a for name, a in self.relevance.to_arrays().items()}
        if self.is_given and self.graph is not None:
            arrays |= {f"graph.{part}": getattr(self.graph, part) for part in GRAPH_PARTS}
        plain = {
            "names": [] if self.names is None else [str(name) for name in self.names],
            "n_steps": [getattr(level.neighbors, "n_steps", None) for level in self.levels],
            "orientation": None if self.orientation is None else self.orientation.to_plain(),
        }
        if self.encoding is not None:
            plain["encoding"] = self.encoding.to_plain()
        return arrays, plain

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any], settings: Settings
    ) -> "Columns":
        """Return the record that `to_arrays` wrote, checked."""
        scaling = Scaling.from_arrays(under("scaling.", arrays))
        n_nodes = len(scaling.mean)
        names = _read_names(plain["names"], n_nodes) if plain["names"] else None
        encoding = _read_encoding(plain["encoding"], names) if "encoding" in plain else None
        graph = _read_graph(under("graph.", arrays), n_nodes)
        relevance = None
        if settings.standardize == "relevance":
            relevance = Relevance.from_arrays(under("relevance.", arrays), scaling.mean.shape)
        levels, orientation = [], None
        if settings.nodewise:
            levels = read_levels(
                settings.layers, plain["n_steps"], under("level.", arrays), n_nodes
            )
            orientation = Orientation.from_plain(plain["orientation"], levels[0].positions)
        is_given = graph is not None
        clip = settings.soft_clip
        return cls(scaling, clip, names, graph, is_given, levels, orientation, relevance, encoding)


class TableBatches:
    """Rows of X, densified and scaled when they are asked for.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), or CSR
    scaling : Scaling
    soft_clip : float or None
        Soft clipping of scaled values z: ``z / sqrt(1 + (z / soft_clip)^2)``. A rare column has
        values a hundred deviations from its mean; without clipping they rule.
    device : torch.device
    sources : ndarray of shape (n_nodes, n_shifts), int64, optional
        From `shift_sources`. Every row is then shifted at random: each column takes the value of
        its source, or its own mean where the source is -1.
    relevance : Relevance, optional
        Counts are replaced by their logarithms before the scaling, and columns weighted after it.
    """

    def __init__(
        self,
        X: Table,
        scaling: Scaling,
        soft_clip: float | None,
        device: torch.device,
        sources: np.ndarray | None = None,
        relevance: Relevance | None = None,
    ):
        self.X, self.scaling, self.soft_clip = X, scaling, soft_clip
        self.device, self.sources, self.relevance = device, sources, relevance

    def __len__(self) -> int:
        return self.X.shape[0]

    def shuffled(self) -> np.ndarray:
        """Return the numbers (n_samples,) of all rows in a random order."""
        if isinstance(self.X, LazyRows):
            return self.X.shuffled()
        return torch.randperm(len(self)).numpy()

    def batch(self, rows: np.ndarray | slice) -> tuple[Tensor, ...]:
        """Return the rows (m, n_nodes, n_channels) and, if a value is missing, a mask of those."""
        values = self._values(rows)
        if self.soft_clip is None:
            with np.errstate(over="ignore"):
                scaled = self.scaling.scale(values)
            if np.isinf(scaled).any():
                raise ValueError(
                    "X must hold numbers that float32 can hold, up to 3.4e38, if they are not "
                    "clipped. Divide them by a constant, or set standardize=True and a soft_clip."
                )
        else:
            with np.errstate(over="ignore"):  # infinity is clipped too
                scaled = softly_clipped(self.scaling.scale(values), self.soft_clip)
        if self.relevance is not None:
            scaled *= self.relevance.weight
        missing = np.isnan(scaled)
        x = torch.from_numpy(scaled).to(self.device)
        return (x, torch.from_numpy(missing).to(self.device)) if missing.any() else (x,)

    def _values(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return rows (m, n_nodes, n_channels), not scaled yet, shifted if there are sources."""
        picked = self.X[rows]
        values = picked if isinstance(picked, np.ndarray) else picked.toarray()
        values = values.reshape(len(values), *self.scaling.mean.shape)
        if self.relevance is not None:
            values = logarithm_of_counts(values, self.relevance.is_count)
        if self.sources is None:
            return values
        n_shifts = self.sources.shape[1]
        shift = draw_for_rows(len(values), lambda n_rows: torch.randint(n_shifts, (n_rows,)))
        source = self.sources.T[shift.numpy()][..., None]
        moved = np.take_along_axis(values, np.maximum(source, 0), axis=1)
        return np.where(source < 0, self.scaling.mean, moved)


def shift_sources(neighbors: Neighbors, n_dims: int, shift: int) -> np.ndarray:
    """Return the slots (n_nodes, n_shifts) of directional neighbours at most `shift` steps away.

    Examples
    --------
    >>> from walkconv import grid_graph, select_neighbors
    >>> from walkconv.estimators.table_samples import shift_sources
    >>> line, positions = grid_graph((4,)), [[0], [1], [2], [3]]
    >>> neighbors = select_neighbors(
    ...     line, n_neighbors=4, n_steps=3, order="direction", positions=positions
    ... )
    >>> shift_sources(neighbors, 1, 1)
    array([[ 0, -1,  1],
           [ 1,  0,  2],
           [ 2,  1,  3],
           [ 3,  2, -1]])
    """
    shift = check_integer(shift, "shift", minimum=0)
    needed = (2 * shift + 1) ** n_dims
    if neighbors.n_neighbors < needed:
        raise ValueError(
            f"shift={shift} in {n_dims} dimension(s) needs n_neighbors of at least {needed}; "
            f"got {neighbors.n_neighbors}."
        )
    offsets = slot_offsets(neighbors.n_neighbors, n_dims=n_dims)
    return neighbors.index[:, np.abs(offsets).max(axis=1) <= shift]


def as_table(X: Any) -> Any:
    """Return X with masked values as NaN; refuse what is no table, and text in an array.

    scikit-learn's own error names only a value.
    """
    if sp.issparse(X):
        check_sparse(X, "X")
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    refuse_odd_table(X)
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X must be a table, or the path of a Parquet file (.parquet or .pq); got {str(X)!r}. "
            "Read other files with walkconv.io.read_table."
        )
    is_structured = isinstance(X, np.ndarray) and X.dtype.names is not None
    if (isinstance(X, Mapping) and not sp.issparse(X)) or is_structured:
        kind = "a structured array" if is_structured else f"a {type(X).__name__}"
        raise TypeError(f"X must be a table; got {kind}. Make one of it: pandas.DataFrame(X).")
    if isinstance(X, list | tuple) and not X:
        raise ValueError("X must hold at least one sample; got none.")
    is_array = hasattr(X, "__array__") and len(getattr(X, "shape", ())) == 1
    first = next(iter(X), None) if is_array or isinstance(X, list | tuple) else None
    if isinstance(first, str):
        raise TypeError(
            f"X must be a table or a list of graphs; got text, {str(first)!r} first. Molecules in "
            "SMILES notation become graphs by graphs_from_smiles."
        )
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        is_text = [any(isinstance(value, str) for value in column) for column in X.T]
        if any(is_text):
            raise TypeError(
                "The columns of an array must hold numbers; these hold something else: "
                f"{listed(np.flatnonzero(is_text).tolist())}. Pass a DataFrame, whose columns may "
                "also hold text, categories and dates: pandas.DataFrame(X).infer_objects()."
            )
    return X


class NeedsTarget(BaseEstimator):
    """Stands for the estimator in scikit-learn's checks, so that these set nothing on it."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


NeedsTarget.__name__ = "GraphCNN"  # scikit-learn's messages show the name of the class


def _needs_encoding(X: Any) -> bool:
    """Say whether X is a frame with columns of text, categories or dates."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and bool(columns_to_encode(X))


def columns_to_encode(X: Any) -> list[Any]:
    """Return the names of the columns of a frame that do not hold plain numbers."""
    return [
        name
        for name, dtype in zip(X.columns, X.dtypes, strict=True)
        if getattr(dtype, "kind", "O") not in "biuf" and not holds_numbers(X[name], dtype)
    ]


def _without_objects(X: Any) -> Any:
    """Return a frame whose columns of Python objects, all numbers or missing, are float64."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        return X
    names = [name for name, dtype in X.dtypes.items() if getattr(dtype, "kind", "") == "O"]
    found = {name: read_cells(X[name]) for name in names}
    X = X.copy(deep=False) if names else X
    for name, cells in found.items():
        X[name] = X[name] if cells is None else cells.values.to_numpy()
    return X


def _encoded(X: Any, encoding: TableEncoding, **checks: int) -> TableSamples:
    """Return the rows of a frame as checked numbers."""
    values = validate_data(NeedsTarget(), encoding.apply(X), **checks, **TABLE)
    return TableSamples(values, encoding.node_names, encoding)


def _read_columns(
    X: Any, n_nodes: int, names: np.ndarray | None, encoding: TableEncoding | None
) -> TableSamples:
    """Return a checked table whose columns are known; by name they may come in any order."""
    if kind_of_samples(X) == "stored table":
        if encoding is not None:
            raise TypeError(
                "X must be a table in memory, since the model encodes columns of text, categories "
                "or dates. Predict some rows at a time."
            )
        lazy = lazy_rows(X, names)
        if lazy.shape[1] != n_nodes:
            raise ValueError(f"X must have {n_nodes} columns, as in fit; got {lazy.shape[1]}.")
        return TableSamples(lazy, names)
    X = as_table(X)
    if encoding is not None:
        return _encoded(X, encoding)
    if _needs_encoding(X):
        raise TypeError(
            "The columns of X must hold numbers, as in fit; these hold something else: "
            f"{listed(columns_to_encode(X))}. Correct them, or fit on a table that has such "
            "columns."
        )
    checks = NeedsTarget()
    checks.n_features_in_ = n_nodes
    if names is not None:
        checks.feature_names_in_ = names
    if names is not None and hasattr(X, "columns"):
        X = X if list(X.columns) == list(names) else _in_order(X, list(names))
    X = validate_data(checks, _without_objects(X), reset=False, **TABLE)
    return TableSamples(_as_real_table(X), names)


def _in_order(X: Any, wanted: list[str]) -> Any:
    """Return a frame with its columns in the order of the fit; refuse other columns by name."""
    given = list(X.columns)
    unknown = [name for name in given if name not in set(wanted)]
    missing = [name for name in wanted if name not in set(given)]
    if not unknown and not missing:
        return X[wanted]
    hint = closest(unknown[0], missing) if unknown else ""
    if hint:
        raise ValueError(f"X must have the columns of fit; {unknown[0]!r} is not one.{hint}")
    return X  # scikit-learn lists the names


def _as_real_table(X: Any) -> Table:
    """Return a table of real numbers; a DataFrame of several types may arrive as objects."""
    if X.ndim > 3:
        raise ValueError(
            f"X must have shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels); "
            f"got {X.shape}."
        )
    if X.ndim == 3 and not X.shape[2]:
        raise ValueError(f"X must have at least one channel; it has the shape {X.shape}.")
    return X if sp.issparse(X) else as_real(X, "X")


def _is_missing_in_every_row(is_missing: Iterable[Any]) -> np.ndarray:
    """Return the columns that are missing everywhere, from those missing in each part."""
    is_empty: np.ndarray = np.ones(1, dtype=bool)
    for part in is_missing:
        is_empty = is_empty & part
        if not is_empty.any():
            break
    return np.asarray(is_empty.reshape(len(is_empty), -1).any(axis=1))


def _other_kind_of_filters() -> ValueError:
    return ValueError(
        "Filters learned on a table move to a table, those learned on graphs to graphs."
    )


def _read_names(names: Any, n_nodes: int) -> np.ndarray:
    if not isinstance(names, list) or len(names) != n_nodes or not all(map(is_utf8, names)):
        raise ValueError(f"there must be a name for each of {n_nodes} columns.")
    if len(set(names)) != n_nodes:
        raise ValueError("the names of the columns must be unique.")
    return np.array(names, dtype=object)


def _read_encoding(plain: Any, names: np.ndarray | None) -> TableEncoding:
    encoding = TableEncoding.from_plain(plain)
    if names is None or list(encoding.node_names) != list(names):
        raise ValueError("the names of the nodes must be those of the encoded columns.")
    return encoding


def _read_graph(arrays: Arrays, n_nodes: int) -> sp.csr_array | None:
    if not arrays:
        return None
    parts = tuple(arrays[part] for part in GRAPH_PARTS)
    return as_graph(sp.csr_array(parts, shape=(n_nodes, n_nodes)))
