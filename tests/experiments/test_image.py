"""The regular CNN beside ours."""

import pytest
import torch

from walkconv import GraphCNNClassifier, grid_graph

pytest.importorskip("torch_geometric")

from experiments.baselines import estimators_with
from experiments.image import WindowConv


def test_a_window_is_centred_on_its_pixel():
    layer = WindowConv(1, 1, grid_graph((7, 7)), None)
    torch.nn.init.zeros_(layer.convolution.weight)
    torch.nn.init.zeros_(layer.convolution.bias)
    layer.convolution.weight.data[0, 0, 2 + 1, 2 - 2] = 1.0  # one row down, two columns left
    x = torch.arange(49.0).reshape(1, 49, 1)
    pictures, result = x.reshape(7, 7), layer(x).detach().reshape(7, 7)
    assert torch.equal(result[:6, 2:], pictures[1:, :5])
    assert not result[6].any()
    assert not result[:, :2].any()


def test_the_regular_cnn_has_as_many_weights_as_ours(rng):
    X, y = rng.normal(size=(40, 64)), rng.integers(0, 3, size=40)
    settings = {"graph": grid_graph((8, 8)), "n_neighbors": 25, "n_steps": 3, "max_iter": 1}
    ours, theirs = (
        kind("C3-P2x2-FC5", **settings, random_state=0).fit(X, y)
        for kind in (GraphCNNClassifier, estimators_with(WindowConv)["classification"])
    )
    assert theirs.n_parameters_ == ours.n_parameters_
    assert any(isinstance(module, WindowConv) for module in theirs.module_.modules())
