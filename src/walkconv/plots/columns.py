"""The columns in the plane: all of them, or the neighbourhood of one."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from walkconv._checks import closest, describe
from walkconv.plots._matplotlib import BLUE, GREY, ORANGE, axes_or_new
from walkconv.reports.summarizing.model import FittedModel, column_names
from walkconv.reports.summarizing.structure import find_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGEST, SMALLEST = 90.0, 3.0
"""Of a dot, in points squared."""


def layout(model: FittedModel, *, values: Any = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the map of the columns: related columns lie together.

    Parameters
    ----------
    model : GraphCNNClassifier or GraphCNNRegressor
        Fitted on a table, with a C layer.
    values : array of shape (n_columns,), optional
        What colours the columns, the importance for example.
    ax : Axes, optional
        Where to draw; on a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 12)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=1, n_members=1).fit(X, X[:, 3])
    >>> axes = walkconv.plots.layout(model, values=X.std(axis=0))
    >>> len(axes.collections[0].get_offsets())
    12
    """
    places = _places(model)
    ax = axes_or_new(ax)
    if values is None:
        ax.scatter(*places.T, s=_dot_area(len(places)), c=BLUE, linewidths=0)
    else:
        given = np.asarray(values, dtype=float)
        if given.shape != (len(places),):
            raise ValueError(
                f"values must have one number for each of {len(places)} columns; got shape "
                f"{given.shape}."
            )
        dots = ax.scatter(*places.T, s=_dot_area(len(places)), c=given, cmap="cividis_r", lw=0)
        ax.figure.colorbar(dots, ax=ax, shrink=0.7)
    _as_map(ax)
    return ax


def neighborhood(model: FittedModel, column: str | int, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a column on the map with its neighbours, each with its rank.

    Parameters
    ----------
    model : GraphCNNClassifier or GraphCNNRegressor
        Fitted on a table, with a C layer.
    column : str or int
        Its name or number.
    ax : Axes, optional
        Where to draw; on a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 12)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=1, n_neighbors=3, n_members=1)
    >>> axes = walkconv.plots.neighborhood(model.fit(X, X[:, 3]), 5)
    >>> [text.get_text() for text in axes.texts]
    ['1', '2', '3']
    """
    places = _places(model)
    number = _number(model, column, len(places))
    neighbors = model.neighbors_
    assert neighbors is not None  # _places has looked
    found = [(rank, other) for rank, other in enumerate(neighbors.index[number], 1) if other >= 0]
    ax = axes_or_new(ax)
    area = _dot_area(len(places))
    ax.scatter(*places.T, s=area, c=GREY, linewidths=0, alpha=0.5)
    others = places[[other for _, other in found]]
    for end in others:
        ax.plot(*np.column_stack([places[number], end]), color=ORANGE, lw=1, zorder=2)
    ax.scatter(*others.T, s=max(area, 14.0), c=BLUE, linewidths=0, zorder=3)
    ax.scatter(*places[number], s=max(1.5 * area, 24.0), c=ORANGE, linewidths=0, zorder=4)
    for rank, other in found:
        ax.annotate(
            str(rank),
            (places[other, 0], places[other, 1]),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=8,
        )
    names = column_names(model)
    ax.set_title(str(number) if names is None else names[number], fontsize=10, parse_math=False)
    _as_map(ax)
    return ax


def _places(model: FittedModel) -> np.ndarray:
    """Return where each column is drawn (n_columns, 2)."""
    check_is_fitted(model)
    if model.neighbors_ is None:
        raise ValueError(
            "The model must have neighbours of columns to draw: fit it on a table, with a C layer. "
            f"Its architecture is {model.architecture_!r}."
        )
    return find_places(model)[0]


def _number(model: FittedModel, column: str | int, n_columns: int) -> int:
    names = column_names(model)
    if isinstance(column, str):
        if names is not None and column in names:
            return names.index(column)
        hint = "the columns have no names" if names is None else closest(column, names)
        raise ValueError(f"column must be a column of the model; got {column!r}. {hint}".rstrip())
    if not isinstance(column, int | np.integer) or not 0 <= column < n_columns:
        raise ValueError(
            f"column must be a name or a number from 0 to {n_columns - 1}; got {describe(column)}."
        )
    return int(column)


def _dot_area(n_columns: int) -> float:
    return float(np.clip(24_000 / n_columns, SMALLEST, LARGEST))


def _as_map(ax: "Axes") -> None:
    ax.set_aspect("equal")
    ax.set_axis_off()
