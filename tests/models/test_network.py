import numpy as np
import pytest
import torch
from torch import nn

from walkconv import correlation_graph, grid_graph, select_neighbors
from walkconv.models import Network, parse_architecture
from walkconv.models.network import count_parameters

GRID = select_neighbors(grid_graph((3, 4)), n_neighbors=5)


def network(architecture, neighbors=GRID, **settings):
    sizes = {"n_nodes": 12, "n_outputs": 3, **settings}
    return Network(parse_architecture(architecture), neighbors, **sizes)


@pytest.mark.parametrize(
    ("architecture", "n_parameters"),
    [
        ("", 7_180),
        ("C20", 143_550),
        ("C20-C20", 145_970),
        ("C20-FC512", 7_347_862),
        ("FC512-FC512", 635_402),
    ],
)
def test_parameters_are_those_of_the_paper(architecture, n_parameters):
    table = np.random.default_rng(0).normal(size=(20, 717))
    neighbors = select_neighbors(correlation_graph(table, n_edges=8), n_neighbors=6)
    sizes = {"n_nodes": 717, "n_outputs": 10, "normalization": None}
    assert count_parameters(network(architecture, neighbors, **sizes)) == n_parameters


@pytest.mark.parametrize("architecture", ["", "C4", "FC6", "C4-C5", "C4-FC6-FC7"])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_samples_become_outputs(architecture, n_channels):
    made = network(architecture, n_channels=n_channels)
    assert made(torch.randn(7, 12, n_channels)).shape == (7, 3)


def test_by_hand():
    made = network("C4-FC6", normalization=None)
    x = torch.randn(5, 12, 1)
    nodes = made.convolutions[0](x).relu().flatten(1)
    first, last = (layer for layer in made.dense if isinstance(layer, nn.Linear))
    torch.testing.assert_close(made(x), last(first(nodes).relu()))


def test_no_layer_is_a_linear_model():
    made = network("", neighbors=None)
    x = torch.randn(4, 12, 1)
    torch.testing.assert_close(made(x) - made(0 * x), made(2 * x) - made(x))


def test_batch_normalization_is_on_the_hidden_layers_only():
    kinds = [type(layer) for layer in network("C4-FC6-FC7").modules()]
    assert kinds.count(nn.BatchNorm1d) == 2
    assert nn.BatchNorm1d not in [type(m) for m in network("C4-FC6", normalization=None).modules()]


def test_dropout_of_nodes_leaves_out_all_filters_of_a_node():
    made = network("C6", conv_dropout=0.5)
    x = torch.ones(200, 12, 6)
    dropped = made.train()._drop_nodes(x)
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert (dropped == dropped[..., :1]).all()
    assert (made.eval()._drop_nodes(x) == x).all()


def test_missing_values_count_as_zero_without_a_convolution():
    made = network("FC6").eval()
    x = torch.randn(4, 12, 1)
    x[1, 3] = x[2, 5] = torch.nan
    torch.testing.assert_close(made(x, x.isnan()), made(x.nan_to_num()))


def test_missing_values_are_filled_by_neighbors_with_a_convolution():
    made = network("C4-FC6").eval()
    x = torch.randn(4, 12, 1)
    x[1, 3] = torch.nan
    outputs = made(x, x.isnan())
    assert outputs.isfinite().all()
    assert not torch.allclose(outputs[1], made(x.nan_to_num())[1])
    torch.testing.assert_close(outputs[0], made(x)[0])


def test_weighting_reaches_every_convolution():
    made = network("C4-C5", weighting="signed_visits")
    assert [layer.weighting for layer in made.convolutions] == ["signed_visits"] * 2


@pytest.mark.parametrize(
    ("architecture", "neighbors", "settings", "message"),
    [
        ("C4-P2-FC6", GRID, {}, "Pooling is not available yet"),
        ("C4", None, {}, "needs the neighbours of all 12 nodes; got none"),
        ("C4", GRID, {"n_nodes": 11}, "all 11 nodes; got those of 12 nodes"),
        ("C4", GRID, {"normalization": "layer"}, "normalization must be one of 'batch'"),
        ("C4", GRID, {"n_outputs": 0}, "n_outputs must be at least 1"),
    ],
)
def test_bad_settings(architecture, neighbors, settings, message):
    with pytest.raises(ValueError, match=message):
        network(architecture, neighbors, **settings)
