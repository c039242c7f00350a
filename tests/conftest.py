"""Graphs and settings that the tests share."""

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp

hypothesis.settings.register_profile("walkconv", deadline=None, derandomize=True)
hypothesis.settings.load_profile("walkconv")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def lopsided():
    """Five nodes: a negative edge, a tie, a self-loop, a dangling node (3), an isolated one (4)."""
    return sp.csr_array(
        np.array(
            [
                [0.0, 1.0, -2.0, 1.0, 0.0],
                [1.0, 0.0, 1.0, 0.0, 0.0],
                [-2.0, 1.0, 1.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0, 0.0],
            ]
        )
    )
