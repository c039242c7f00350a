"""Positions of columns that other methods find: Isomap, UMAP and pyDeepInsight.

Each is told the right number of axes, which ours has to find. A ring is given two axes and read as
an angle.
"""

import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import numpy as np
from sklearn.manifold import TSNE, Isomap

MOST_COLUMNS = 1500
MOST_ROWS = 5000


def rivals() -> dict[str, Callable[[np.ndarray, int], np.ndarray]]:
    """Return the methods whose packages are installed; each takes X and the number of axes."""
    known = {"Isomap": isomap}
    if find_spec("umap"):
        known["UMAP"] = umap
    if find_spec("pyDeepInsight") and find_spec("cv2"):
        known["pyDeepInsight"] = deep_insight
    return known


def isomap(X: np.ndarray, n_dims: int) -> np.ndarray:
    """Return the positions (n_columns, n_dims) that scikit-learn's Isomap finds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Isomap(n_components=n_dims).fit_transform(_columns(X))


def umap(X: np.ndarray, n_dims: int) -> np.ndarray:
    """Return the positions (n_columns, n_dims) that UMAP finds."""
    from umap import UMAP

    n_neighbors = min(15, X.shape[1] - 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = UMAP(n_neighbors=n_neighbors, n_components=n_dims, random_state=0)
        return np.asarray(found.fit_transform(_columns(X)), dtype=float)


def deep_insight(X: np.ndarray, n_dims: int) -> np.ndarray:
    """Return the pixels (n_columns, 2) that pyDeepInsight gives each column; always a plane."""
    # Its __init__ also imports torchvision, which the transformer does not need: pass it by.
    if "pyDeepInsight" not in sys.modules:
        spec = find_spec("pyDeepInsight")
        package = ModuleType("pyDeepInsight")
        package.__path__, package.__spec__ = spec.submodule_search_locations, spec
        sys.modules["pyDeepInsight"] = package
    transformer = import_module("pyDeepInsight.image_transformer")

    n_columns = X.shape[1]
    side = int(np.ceil(np.sqrt(n_columns)))
    extractor = TSNE(
        perplexity=min(30.0, (n_columns - 1) / 3), metric="cosine", init="random", random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = transformer.ImageTransformer(extractor, pixels=(side, side)).fit(_columns(X).T)
    return np.asarray(found.coords(), dtype=float)


def _columns(X: np.ndarray) -> np.ndarray:
    """Return the standardised columns as rows, from a part of the rows where there are many."""
    rows = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    X = X[rows].astype(np.float64)
    spread = X.std(axis=0)
    return ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).T
