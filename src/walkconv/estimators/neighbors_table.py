"""The neighbours that a fitted model uses, as a table to read."""

from typing import Any

import numpy as np
import polars as pl

from walkconv.walks.listing import list_neighbors


def tabulate_neighbors(model: Any) -> pl.DataFrame:
    """Return the table of a fitted model, see `GraphCNN.neighbors_table`."""
    if model.encoding_ is not None:
        raise ValueError(
            "Where samples are graphs each graph has neighbours of its own: use "
            "select_neighbors(sample.graph, n_neighbors=...)."
        )
    if model.neighbors_ is None:
        raise ValueError(
            f"The model has no C layer on the columns; its architecture is {model.architecture!r}."
        )
    names = getattr(model, "feature_names_in_", np.arange(model.n_features_in_))
    return pl.DataFrame(list_neighbors(model.neighbors_, names))
