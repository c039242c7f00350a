"""A week of speeds on the roads of Los Angeles: METR-LA.

The file holds 2016 moments, five minutes apart, at 207 sensors. Values that the sensors missed
were filled in by its makers, so all are used here.
"""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from experiments.data import Data, absolute_error
from walkconv import as_graph, graph_from_edges

DAY = 288
HISTORY, AHEAD = 12, 3
TEST_SHARE = 0.2


def load_traffic(*, is_smoke: bool) -> Data:
    """Return an hour of history at every sensor (m, n_sensors, 12), and the change 15 minutes on.

    The change from the last speed known: an error of it is an error of the speed. Rows follow each
    other in time, and the last fifth of them is tested on.
    """
    speed, graph = _small_week() if is_smoke else _week()
    X = np.lib.stride_tricks.sliding_window_view(speed[:-AHEAD], HISTORY, axis=0)
    X, y = X.astype(np.float32), speed[HISTORY - 1 + AHEAD :] - X[:, :, -1]
    n_train = round(len(y) * (1 - TEST_SHARE))
    return Data(
        X[:n_train],
        y[:n_train],
        X[n_train:],
        y[n_train:],
        "regression",
        graph=graph,
        period=24 if is_smoke else DAY,
        measure=absolute_error,
    )


def _week() -> tuple[np.ndarray, sp.csr_array]:
    """Return speeds (n_moments, n_sensors) in miles per hour, and the graph of the sensors."""
    folder = Path(os.environ.get("WALKCONV_DATA", ".")) / "traffic"
    names = ("metr_la_speed_week.npz", "metr_la_sensors.npz")
    if missing := [name for name in names if not (folder / name).exists()]:
        raise FileNotFoundError(
            f"METR-LA needs {' and '.join(missing)} in {folder}. Set WALKCONV_DATA to the folder "
            "that holds `traffic`."
        )
    speed, sensors = (np.load(folder / name) for name in names)
    return speed["speed"], as_graph(sensors["adjacency"])


def _small_week() -> tuple[np.ndarray, sp.csr_array]:
    """Return waves that run along a road of 9 sensors."""
    moments, places = np.ogrid[:200, :9]
    noise = np.random.default_rng(0).normal(size=(200, 9))
    speed = 50 + 10 * np.sin(2 * np.pi * (moments / 24 - places / 18)) + noise
    return speed.astype(np.float32), graph_from_edges([range(8), range(1, 9)])
