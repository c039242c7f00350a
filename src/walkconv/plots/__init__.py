"""Plots of a fitted model with matplotlib; each returns the axes it has drawn on.

Examples
--------
>>> import numpy as np, walkconv
>>> X = np.random.default_rng(0).normal(size=(60, 12)).cumsum(axis=1)
>>> model = walkconv.GraphCNNRegressor("C2", max_iter=2, n_members=1).fit(X, X[:, 3])
>>> walkconv.plots.history(model).get_xlabel()
'Epoch'
"""

from .columns import layout, neighborhood
from .learned import filters, history, importance

__all__ = ["filters", "history", "importance", "layout", "neighborhood"]
