"""Warnings point to the line of the user, whatever lies between."""

import warnings

import numpy as np
import pytest

from walkconv import GraphCNNRegressor
from walkconv._warnings import warn_user


def test_a_warning_names_the_file_of_the_caller_outside_the_package():
    with pytest.warns(UserWarning, match="odd") as caught:
        warn_user("odd")
    assert caught[0].filename == __file__


def test_a_warning_from_deep_inside_a_fit_points_to_the_fit():
    X = np.random.default_rng(0).normal(size=(60, 12))
    model = GraphCNNRegressor(
        "C2", order="auto", n_neighbors=9, shift=1, n_members=1, max_iter=1, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, X[:, 0])
    assert [each.filename for each in caught if "shift" in str(each.message)] == [__file__]
