"""What training has left: filters, losses, and the columns that matter."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from walkconv._checks import check_integer
from walkconv.plots._matplotlib import BLUE, GREY, ORANGE, axes_or_new, bare, new_axes
from walkconv.reports.summarizing.filters import first_weights
from walkconv.reports.summarizing.model import FittedModel
from walkconv.walks import slot_offsets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PER_ROW = 8


def filters(model: FittedModel, *, n_filters: int = 16, channel: int = 0) -> "list[Axes]":
    """Draw the filters of the first convolution, those with the largest weights first.

    Where slots are directions in a plane, a filter is a picture, with the column itself in the
    middle. Otherwise it is a bar for each rank, or for each step along the layout.

    Parameters
    ----------
    model : GraphCNNClassifier or GraphCNNRegressor
        Fitted, with a C layer.
    n_filters : int, default 16
        All filters if there are fewer.
    channel : int, default 0
        The input channel.

    Returns
    -------
    list of Axes
        One for each filter.

    Examples
    --------
    >>> import numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 12)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C5", max_iter=1, n_neighbors=3, n_members=1)
    >>> len(walkconv.plots.filters(model.fit(X, X[:, 3])))
    5
    """
    check_is_fitted(model)
    weights = first_weights(model.module_)
    if weights is None:
        raise ValueError(
            "The model must have a first convolution with weights (n_neighbors, n_channels, "
            f"n_filters); its architecture is {model.architecture_!r}."
        )
    n_slots, n_channels, n_found = weights.shape
    n_filters = min(check_integer(n_filters, "n_filters", minimum=1), n_found)
    channel = check_integer(channel, "channel", minimum=0, maximum=n_channels - 1)
    shown = weights[:, channel, np.argsort(-np.abs(weights).max(axis=(0, 1)), kind="stable")]
    shown = shown[:, :n_filters]
    n_dims = 0 if model.positions_ is None else model.positions_.shape[1]
    offsets = slot_offsets(n_slots, n_dims=n_dims) if n_dims else None
    most = float(np.abs(shown).max()) or 1.0
    n_rows = -(-n_filters // PER_ROW)
    every = new_axes(n_filters, (9.0, 1.2 * n_rows), min(PER_ROW, n_filters))
    for ax, filter_ in zip(every, shown.T, strict=True):
        if offsets is not None and n_dims == 2:
            _picture(ax, filter_, offsets, most)
        else:
            order = np.arange(n_slots) if offsets is None else np.lexsort(offsets.T[::-1])
            values = filter_[order]
            ax.bar(np.arange(n_slots), values, color=np.where(values > 0, BLUE, ORANGE))
            ax.set_ylim(-1.05 * most, 1.05 * most)
        ax.set(xticks=[], yticks=[])
    return every


def _picture(ax: "Axes", weights: np.ndarray, offsets: np.ndarray, most: float) -> None:
    steps = offsets - offsets.min(axis=0)
    image = np.full(steps.max(axis=0) + 1, np.nan)
    image[tuple(steps.T)] = weights
    # As the map: the first axis goes across.
    ax.imshow(image.T, cmap="PuOr", vmin=-most, vmax=most)


def history(model: FittedModel, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the loss of every epoch, and the validation score if there is one.

    Parameters
    ----------
    model : GraphCNNClassifier or GraphCNNRegressor
        Fitted.
    ax : Axes, optional
        Where to draw; on a new figure by default.

    Returns
    -------
    Axes
        Of the loss; the scores have an axis of their own on the right.

    Examples
    --------
    >>> import numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 12)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=4, n_members=2).fit(X, X[:, 3])
    >>> [len(line.get_xdata()) for line in walkconv.plots.history(model).lines]
    [4, 4]
    """
    check_is_fitted(model)
    ax = axes_or_new(ax)
    from matplotlib.ticker import MaxNLocator  # here: `axes_or_new` says what is missing

    right = None
    for member in range(len(model.modules_)):
        records = [record for record in model.history_ if record["member"] == member]
        epochs = np.arange(1, len(records) + 1)  # a warm start counts from 1 again
        ax.plot(epochs, [record["loss"] for record in records], color=BLUE, lw=1.4)
        scores = [record.get("validation_score", np.nan) for record in records]
        if np.isfinite(np.array(scores, dtype=float)).any():
            right = ax.twinx() if right is None else right
            right.plot(epochs, scores, color=ORANGE, lw=1.4)
    ax.set(xlabel="Epoch")
    ax.set_ylabel("Training loss", color=BLUE)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    bare(ax)
    if right is not None:
        right.set_ylabel("Validation score", color=ORANGE)
        right.spines[["top"]].set_visible(False)
    return ax


def importance(table: Any, *, n_columns: int = 20, ax: "Axes | None" = None) -> "Axes":
    """Draw the most important columns as bars, with their spread over the ensemble members.

    Parameters
    ----------
    table : polars DataFrame
        What ``model.importance(X)`` returned.
    n_columns : int, default 20
        Bars to draw.
    ax : Axes, optional
        Where to draw; on a new figure by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 12)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=2).fit(X, X[:, 3])
    >>> axes = walkconv.plots.importance(model.importance(X), n_columns=5)
    >>> len(axes.patches)
    5
    """
    n_columns = check_integer(n_columns, "n_columns", minimum=1)
    shown = table.head(n_columns)
    ax = axes_or_new(ax, (6.0, 0.6 + 0.26 * len(shown)))
    places = np.arange(len(shown))
    spread = shown["spread"].fill_null(0.0).to_numpy()
    bars = {"xerr": spread, "ecolor": GREY} if spread.any() else {}
    ax.barh(places, shown["importance"].to_numpy(), color=BLUE, height=0.7, **bars)
    ax.set_yticks(places, [str(name) for name in shown["column"]], parse_math=False)
    ax.invert_yaxis()
    ax.set(xlabel="Importance")
    bare(ax)
    return ax
