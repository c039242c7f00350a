import numpy as np
import pytest
import torch
from torch import nn

from walkconv import graph_from_edges
from walkconv.estimators.table_samples import TableBatches
from walkconv.inspection import attribute
from walkconv.networks import Network, NetworkPlan, build_levels, parse_architecture
from walkconv.tables.scaling import no_scaling


def first_output(outputs, rows):
    return outputs[:, 0]


def as_batches(X):
    return TableBatches(X, no_scaling(X), None, torch.device("cpu"))


@pytest.fixture
def network():
    """A network on a lopsided graph of six nodes, with parameters that are not small."""
    torch.manual_seed(0)
    layers = parse_architecture("C4-C3-FC8")
    graph = graph_from_edges([(0, 1), (1, 2), (1, 3), (3, 4)], n_nodes=6)
    levels = build_levels(graph, layers, n_neighbors=3)
    plan = NetworkPlan(layers=layers, levels=levels, n_nodes=6, n_channels=2, n_outputs=3)
    network = Network(plan).eval()
    for parameter in network.parameters():
        parameter.data.mul_(2)
    return network


def test_shares_by_hand_of_a_product():
    """Along the straight line from 0, the two factors of a product get half each."""

    class Product(nn.Module):
        def forward(self, x):
            return (x[:, 0] * x[:, 1] + 3 * x[:, 2]).reshape(-1, 1)

    found = attribute([Product()], as_batches(np.array([[2.0, 5.0, 1.0]])), [3], first_output)
    assert found.shares[0][0, :, 0].tolist() == pytest.approx([5, 5, 3])
    assert found.difference.tolist() == pytest.approx([13])


def test_several_baselines_give_the_mean_of_their_shares(network, rng):
    X = rng.normal(size=(4, 6, 2))
    bases = torch.from_numpy(rng.normal(size=(3, 6, 2)).astype(np.float32))
    together = attribute([network], as_batches(X), [6] * 4, first_output, baseline=bases)
    alone = [
        attribute([network], as_batches(X), [6] * 4, first_output, baseline=base[None])
        for base in bases
    ]
    np.testing.assert_allclose(
        np.stack(together.shares), np.mean([each.shares for each in alone], axis=0), atol=0.02
    )
    np.testing.assert_allclose(
        together.difference, np.mean([each.difference for each in alone], axis=0), atol=1e-6
    )


def test_points_are_added_until_the_shares_sum_to_the_difference(network, rng):
    X = 5 * rng.normal(size=(200, 6, 2))
    coarse = attribute([network], as_batches(X), [6] * 200, first_output, n_points=1, tolerance=9)
    fine = attribute([network], as_batches(X), [6] * 200, first_output, n_points=1, tolerance=0.001)
    largest = np.abs(fine.difference).max()
    coarse_sums, fine_sums = ([each.sum() for each in f.shares] for f in (coarse, fine))
    assert np.abs(coarse_sums - fine.difference).max() > 0.05 * largest
    np.testing.assert_allclose(fine_sums, fine.difference, atol=0.001 * largest)


def test_missing_values_share_what_hiding_them_changes_at_the_baseline(network, rng):
    X = rng.normal(size=(5, 6, 2))
    X[2, 3, 0] = X[2, 0, 1] = np.nan
    base = torch.full((1, 6, 2), 0.5)
    found = attribute(
        [network], as_batches(X), [6] * 5, first_output, baseline=base, tolerance=1e-3
    )
    assert found.shares[2][0, 3, 0] == found.shares[2][0, 0, 1] != 0
    with torch.no_grad():
        x, missing = as_batches(X).batch(slice(None))
        change = network(base, missing[2:3])[0, 0] - network(base)[0, 0]
        difference = network(x, missing)[:, 0] - network(base)[0, 0]
    assert found.shares[2][0, 3, 0] == pytest.approx(float(change) / 2, rel=1e-5)
    np.testing.assert_allclose([s.sum() for s in found.shares], difference, atol=5e-3)


def test_neither_weights_nor_their_gradients_change(network, rng):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    with torch.inference_mode():  # whatever the caller has switched on
        attribute([network], as_batches(rng.normal(size=(3, 6, 2))), [6] * 3, first_output)
    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())


def test_captum_agrees(network, rng):
    captum = pytest.importorskip("captum.attr", reason="pip install captum")
    X = rng.normal(size=(7, 6, 2)).astype(np.float32)
    wanted = captum.IntegratedGradients(network).attribute(
        torch.from_numpy(X), target=1, n_steps=500
    )
    found = attribute(
        [network], as_batches(X), [6] * 7, lambda outputs, rows: outputs[:, 1], n_points=512
    )
    np.testing.assert_allclose(np.stack(found.shares)[:, 0], wanted.numpy(), atol=0.01)
