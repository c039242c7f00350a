"""The columns of a table become a layout."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from walkconv._checks import check_flag, check_table
from walkconv.layouts.channels import find_channels
from walkconv.layouts.explained import Judge
from walkconv.layouts.from_graph import GAP, layout_of
from walkconv.layouts.kind import check_dims, fewest_dims
from walkconv.layouts.layout import Layout
from walkconv.layouts.partial import (
    Ridge,
    column_moments,
    column_relations,
    correlation_matrix,
    exact_factor,
    nearby_partial_correlations,
    strongest_relations,
)

RIDGES = (Ridge(0.1, 10.0), Ridge(0.03, 10.0), Ridge(0.3, 10.0), Ridge(0.01, 0.0))
TRIED_EDGES = (2, 3, 4, 5, 6, 8)
"""Numbers of edges of a node that are tried."""
N_LANDMARKS = 256
WIDE = 4096
VERY_WIDE = 12288
"""Columns from which on a table is wide, and very wide."""
FAINT = 1e-6
N_NEAR = 3
"""Placed columns between which a column without positive partial correlations stands."""


def layout_columns(
    X: Any, *, n_dims: int | Literal["auto"] = "auto", channels: bool = True
) -> Layout:
    """Return a position for every column of a table, from the values alone.

    Parameters
    ----------
    X : array, DataFrame or sparse matrix of shape (n_samples, n_columns)
        The table. A missing value (NaN) counts as the mean of its column.
    n_dims : "auto", 1, 2 or 3, default "auto"
        Axes of the layout. "auto" takes the fewest that are adequate: a line or ring, a plane, or
        a volume. If none is adequate, the kind of the layout is "none" and it is a plane.
    channels : bool, default True
        Whether columns that are measured at one place, such as the colours of a pixel, become
        channels of one node. `node` and `channel` of the layout say which.

    Returns
    -------
    Layout

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import layout_columns
    >>> rng = np.random.default_rng(0)
    >>> series = np.cumsum(rng.normal(size=(500, 40)), axis=1)
    >>> layout = layout_columns(series[:, rng.permutation(40)])
    >>> layout.kind
    'line'
    """
    dims = check_dims(n_dims)
    check_flag(channels, "channels")
    table = check_table(X, allow_missing=True)
    mean, deviation, effective = column_moments(table)
    varying = np.flatnonzero(effective > 0)
    if len(varying) < 2:
        raise ValueError(
            f"X must have at least 2 columns that vary; got {len(varying)}. Add columns or rows."
        )
    moments = mean[varying], deviation[varying], effective[varying]
    relations, correlation = _relations(table[:, varying], *moments)
    found = find_channels(relations[0]) if channels else None
    node, channel = np.arange(len(varying)), np.zeros(len(varying), dtype=np.int64)
    if found is not None:
        node, channel = found.node, found.channel
        relations = [found.between_nodes(relation) for relation in relations]
    relations, main = _connected(relations)
    judge: Judge | None = None
    if correlation is not None:
        first = np.unique(node, return_index=True)[1][main]
        judge = Judge(correlation[np.ix_(first, first)], effective[varying][first])
    best = fewest_dims(
        relations, dims=dims, tried=TRIED_EDGES, n_landmarks=N_LANDMARKS, judge=judge
    )
    placed = _placed(best.positions, main, node, table[:, varying])
    # Constant columns stand beside all others.
    n_varying, n_constant = len(placed), table.shape[1] - len(varying)
    positions = np.zeros((n_varying + n_constant, placed.shape[1]))
    positions[:n_varying] = placed
    positions[n_varying:, 0] = placed[:, 0].max() + GAP * np.arange(1, n_constant + 1)
    of_column = np.full(table.shape[1], -1)
    of_column[varying] = node
    of_column[of_column < 0] = np.arange(n_varying, n_varying + n_constant)
    channel_of_column = np.zeros(table.shape[1], dtype=np.int64)
    channel_of_column[varying] = channel
    # Nodes are numbered by their first columns.
    first = np.unique(of_column, return_index=True)[1]
    rank = np.argsort(np.argsort(first))
    return layout_of(best, positions[np.argsort(first)], rank[of_column], channel_of_column)


def _relations(
    table: Any, mean: np.ndarray, deviation: np.ndarray, effective: np.ndarray
) -> tuple[list[sp.csr_array], np.ndarray | None]:
    """Return relations (n_columns, n_columns) of several kinds, and the correlations.

    The first tells channels, the last are the strongest correlations. Wide tables have fewer
    relations, and very wide ones condition on the strongest correlates only.
    """
    n_columns = table.shape[1]
    if n_columns > VERY_WIDE:
        return [nearby_partial_correlations(table, mean, deviation, effective, RIDGES[0])], None
    correlation = correlation_matrix(table, mean, deviation)
    ridges = RIDGES if n_columns <= WIDE else RIDGES[:1]
    found = list(map(strongest_relations, column_relations(correlation, effective, ridges)))
    correlation[np.arange(n_columns), np.arange(n_columns)] = 0.0
    return [found[0], *found[1:3], *found[5::2], strongest_relations(correlation)], correlation


def _connected(relations: Sequence[sp.csr_array]) -> tuple[list[sp.csr_array], np.ndarray]:
    """Return the relations within the largest component of the first, and its nodes."""
    _, part = connected_components(relations[0], directed=False)
    main = np.flatnonzero(part == np.bincount(part).argmax())
    first = sp.csr_array(relations[0][main][:, main])
    others = [sp.csr_array(each[main][:, main]).maximum(first * FAINT) for each in relations[1:]]
    return [first, *(sp.csr_array(each) for each in others)], main


def _placed(positions: np.ndarray, main: np.ndarray, node: np.ndarray, table: Any) -> np.ndarray:
    """Return the positions (n_nodes, n_dims) of all nodes that vary.

    A node outside the main component stands between the placed nodes that its first column
    correlates with most.
    """
    n_nodes = int(node.max()) + 1
    placed = np.zeros((n_nodes, positions.shape[1]))
    placed[main] = positions
    left = np.setdiff1d(np.arange(n_nodes), main)
    if len(left):
        first = np.unique(node, return_index=True)[1]
        columns = (table.toarray() if sp.issparse(table) else np.asarray(table))[:, first]
        columns = columns * exact_factor(columns)
        columns = np.nan_to_num(
            (columns - np.nanmean(columns, axis=0)) / np.nanstd(columns, axis=0)
        )
        others = columns[:, main]
        for each in left:
            near = np.argsort(-(columns[:, each] @ others), kind="stable")[:N_NEAR]
            placed[each] = positions[near].mean(axis=0)
    return placed
