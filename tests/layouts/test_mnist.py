"""The pixels of MNIST in random order: their correlations tell where they stand."""

import os

import numpy as np
import pytest
from scipy.spatial import procrustes

from walkconv import correlation_graph, layout_graph, select_neighbors
from walkconv.datasets import load_mnist

DATA = os.environ.get("WALKCONV_DATA")


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="$WALKCONV_DATA does not name a folder with MNIST")
def test_the_grid_behind_shuffled_pixels_is_found(share_of_right_slots):
    X = load_mnist().X_train[:10_000]
    varies = np.flatnonzero((X[0] != X).any(axis=0))
    pixels = np.random.default_rng(0).permutation(varies)
    sites = np.stack(np.divmod(pixels, 28), axis=1)
    graph = correlation_graph(X[:, pixels].astype(np.float32))
    layout = layout_graph(graph)
    inked = np.flatnonzero(X[:, pixels].mean(axis=0) > 10)  # the others hardly correlate
    assert procrustes(layout.positions[inked], sites[inked])[2] < 0.01
    table = select_neighbors(
        graph, n_neighbors=9, order="direction", positions=layout.positions
    ).index
    place = np.full(len(pixels) + 1, -1)
    place[inked] = np.arange(len(inked))
    assert share_of_right_slots(place[table[inked]], sites[inked]) > 0.85
