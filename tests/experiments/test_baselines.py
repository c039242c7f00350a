"""Every other method equals its formula on a small lopsided graph."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone

from walkconv import GraphConv, grid_graph, select_neighbors
from walkconv.networks import Network, NetworkPlan, build_levels, parse_architecture

pytest.importorskip("torch_geometric")

from torch_geometric.nn import ChebConv, GCNConv

from experiments import methods
from experiments.baselines import BASELINES, CONVOLUTIONS, architecture_at_budget, count_weights
from experiments.baselines.edges import as_edges, as_matrix
from experiments.baselines.laplacian import adjacency, normalized_laplacian
from experiments.baselines.products import GraphProduct
from experiments.baselines.spectral import spline_kernel


@pytest.fixture(autouse=True)
def double_precision():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def neighbors(lopsided):
    return select_neighbors(lopsided, n_neighbors=4)


@pytest.fixture
def make(lopsided, neighbors):
    def make(name, c_in=2, c_out=6):
        torch.manual_seed(0)
        layer = CONVOLUTIONS[name](c_in, c_out, lopsided, neighbors)
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.add_(torch.randn_like(parameter))  # no bias stays zero
        return layer

    return make


@pytest.fixture
def x(rng):
    return torch.tensor(rng.normal(size=(3, 5, 2)))


def dense_adjacency(graph):
    strength = np.abs(graph.toarray())
    strength = (strength + strength.T) / 2
    np.fill_diagonal(strength, 0)
    return strength


def inverse_root(degree):
    return np.diag([d**-0.5 if d > 0 else 0.0 for d in degree])


def over_nodes(matrix, x):
    return torch.einsum("ij,mjc->mic", torch.tensor(matrix), x)


def test_signs_directions_and_loops_leave_the_laplacian_symmetric(lopsided):
    expected = dense_adjacency(lopsided)
    np.testing.assert_array_equal(adjacency(lopsided).toarray(), expected)
    root = inverse_root(expected.sum(axis=1))
    laplacian = normalized_laplacian(lopsided).toarray()
    np.testing.assert_allclose(laplacian, np.eye(5) - root @ expected @ root)
    values = np.linalg.eigvalsh(laplacian)
    assert values.min() > -1e-12
    assert values.max() < 2 + 1e-12
    assert lopsided[0, 2] == -2  # the graph given is left as it was


def test_a_message_goes_from_the_first_node_of_an_edge_to_the_second(lopsided):
    edge_index, weight = as_edges(lopsided)
    assert edge_index[:, weight == -2].tolist() == [[0, 2], [2, 0]]
    assert as_matrix((edge_index, weight), 5)[3, 0] == lopsided[0, 3] == 1
    np.testing.assert_array_equal(
        as_matrix((edge_index, weight), 5).toarray(), lopsided.toarray().T
    )


@pytest.mark.parametrize("n_nodes", [5, 40])
def test_a_product_over_the_graph_is_that_of_every_sample(rng, n_nodes):
    matrix = sp.csr_array(np.triu(rng.normal(size=(n_nodes, n_nodes)), k=n_nodes - 4))
    signal = torch.tensor(rng.normal(size=(3, n_nodes, 2)), requires_grad=True)
    product = GraphProduct(matrix)
    assert (product.matrix.layout == torch.sparse_csr) == (n_nodes == 40)
    expected = over_nodes(matrix.toarray(), signal)
    torch.testing.assert_close(product(signal), expected)
    weight = torch.tensor(rng.normal(size=(3, n_nodes, 2)))
    found = torch.autograd.grad((product(signal) * weight).sum(), signal)
    torch.testing.assert_close(found, torch.autograd.grad((expected * weight).sum(), signal))


@pytest.mark.parametrize("name", ["spectral", "spectral-free"])
def test_multipliers_of_one_are_the_identity(make, x, name):
    layer = make(name, c_out=2)
    with torch.no_grad():
        layer.weight.copy_(torch.eye(2).expand_as(layer.weight))
        layer.bias.zero_()
    torch.testing.assert_close(layer(x), x)


@pytest.mark.parametrize("name", ["spectral", "spectral-free"])
def test_spectral_filters_equal_their_formula(make, x, lopsided, name):
    layer = make(name)
    values, basis = np.linalg.eigh(normalized_laplacian(lopsided).toarray())
    assert (np.diff(values) >= 0).all()
    theta = layer.weight.detach().numpy()
    if name == "spectral":
        assert theta.shape == (4, 2, 6)
        theta = np.einsum("np,pcf->ncf", spline_kernel(5, 4), theta)
    for f in range(6):
        parts = [
            over_nodes(basis @ np.diag(theta[:, c, f]) @ basis.T, x[:, :, [c]]) for c in (0, 1)
        ]
        torch.testing.assert_close(layer(x)[:, :, [f]], sum(parts) + layer.bias[f])


def test_either_way_through_the_spectrum_is_the_same(make, x):
    narrow, wide = make("spectral", c_out=6), make("spectral", c_out=7)
    assert narrow.pieces is None
    assert wide.pieces.shape == (4 * 5, 5)
    by_pieces = wide(x)
    wide.pieces = None
    torch.testing.assert_close(by_pieces, wide(x))


@pytest.mark.parametrize("n_points", [1, 2, 3, 4, 9])
def test_splines_sum_to_one_and_are_local(n_points):
    kernel = spline_kernel(50, n_points)
    assert kernel.shape == (50, n_points)
    np.testing.assert_allclose(kernel.sum(axis=1), 1)
    assert ((kernel > 0).sum(axis=1) <= 4).all()
    assert (kernel.max(axis=0) > 0.4).all()


def test_chebnet_equals_polynomials_of_the_laplacian(make, x, lopsided, neighbors):
    layer = make("chebnet")
    scaled = normalized_laplacian(lopsided).toarray() - np.eye(5)
    powers = [np.eye(5), scaled]
    while len(powers) < neighbors.n_neighbors:
        powers.append(2 * scaled @ powers[-1] - powers[-2])
    terms = [lin(over_nodes(T, x)) for lin, T in zip(layer.lins, powers, strict=True)]
    torch.testing.assert_close(layer(x), sum(terms) + layer.bias)


@pytest.mark.parametrize("c_out", [1, 6])  # fewer channels than x has, and more
def test_gcn_equals_its_formula(make, x, lopsided, c_out):
    layer = make("gcn", c_out=c_out)
    looped = dense_adjacency(lopsided) + np.eye(5)
    root = inverse_root(looped.sum(axis=1))
    torch.testing.assert_close(
        layer(x), layer.lin(over_nodes(root @ looped @ root, x)) + layer.bias
    )


@pytest.mark.parametrize("name", ["chebnet", "gcn"])
def test_the_layers_of_torch_geometric_say_the_same(make, x, lopsided, name):
    layer = make(name)
    plain = ChebConv(2, 6, K=4, node_dim=-2) if name == "chebnet" else GCNConv(2, 6, node_dim=-2)
    plain.load_state_dict(layer.state_dict())
    settings = {"lambda_max": 2.0} if name == "chebnet" else {}
    expected = plain(x, *as_edges(adjacency(lopsided)), **settings)
    torch.testing.assert_close(layer(x), expected)


def test_diffusion_equals_powers_of_the_transition(make, x, lopsided):
    layer = make("dcnn")
    strength = np.abs(lopsided.toarray())
    strength[[3, 4], [3, 4]] = 1  # without edges the walk stays
    transition = strength / strength.sum(axis=1, keepdims=True)
    hops = [over_nodes(np.linalg.matrix_power(transition, k), x) for k in range(3)]
    expected = torch.cat([hop * layer.weight[k] for k, hop in enumerate(hops)], dim=2)
    torch.testing.assert_close(layer(x), expected)
    with pytest.raises(ValueError, match=r"from 2 channels it cannot make 5\. Use a multiple"):
        make("dcnn", c_out=5)


def test_local_weights_that_are_tied_are_our_convolution(make, x, neighbors):
    ours = GraphConv(2, 6, neighbors)
    layer = make("local")
    with torch.no_grad():
        layer.weight.copy_(ours.weight.expand_as(layer.weight))
        layer.bias.copy_(ours.bias.expand_as(layer.bias))
    torch.testing.assert_close(layer(x), ours(x))
    with torch.no_grad():
        layer.weight[3] += 1
        layer.bias[3] += 1
    changed = ~torch.isclose(layer(x), ours(x)).all(dim=2).all(dim=0)
    assert changed.tolist() == [False, False, False, True, False]


def test_every_convolution_is_a_method():
    assert set(methods.CONVOLUTIONS) == {*CONVOLUTIONS, "image"}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_gradients_are_right(make, x, name):
    layer = make(name)
    inputs = (x.clone().requires_grad_(), *layer.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), inputs)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_each_sample_is_alone(make, x, name):
    layer = make(name)
    torch.testing.assert_close(layer(x)[1:2], layer(x[1:2]))


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("normalization", ["batch", None])
def test_weights_are_counted(name, normalization, rng):
    torch.set_default_dtype(torch.float32)
    X = rng.normal(size=(40, 6)).cumsum(axis=1)
    kind = type("Own", (BASELINES[name]["regression"],), {"normalization": normalization})
    for architecture in ("C3", "C3-C6-FC5-FC4"):
        model = kind(architecture, n_neighbors=4, max_iter=1, n_members=1)
        expected = model.fit(X, X[:, 0]).n_parameters_
        sizes = {"n_nodes": 6, "n_neighbors": 4, "n_outputs": 1, "normalization": normalization}
        assert count_weights(CONVOLUTIONS[name], architecture, **sizes) == expected


def test_a_budget_is_met_by_the_number_of_filters():
    sizes = {"n_nodes": 717, "n_neighbors": 6, "n_outputs": 10}
    layers = parse_architecture("C20")
    levels = build_levels(grid_graph((717,)), layers, n_neighbors=6, n_steps=3)
    ours = Network(NetworkPlan(layers=layers, levels=levels, n_nodes=717, n_outputs=10))
    budget = sum(parameter.numel() for parameter in ours.parameters())
    assert budget == 143_550
    for name in ("spectral", "chebnet", "gcn", "dcnn"):
        assert architecture_at_budget(CONVOLUTIONS[name], "C20", budget, **sizes) == "C20"
    assert architecture_at_budget(CONVOLUTIONS["local"], "C20", budget, **sizes) == "C12"
    wide = architecture_at_budget(CONVOLUTIONS["local"], "C20-FC512", 7_354_000, **sizes)
    assert wide == "C20-FC512"


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_estimators_learn_and_bridge_missing_values(name, rng):
    torch.set_default_dtype(torch.float32)
    X = rng.normal(size=(120, 7)).cumsum(axis=1)
    y = 100 + 3 * X[:, 2] - X[:, 5]
    settings = {"n_neighbors": 4, "batch_size": 16, "learning_rate": 0.02, "random_state": 0}
    model = BASELINES[name]["regression"]("C4-FC16", dropout=0.0, n_members=1, **settings)
    assert model.fit(X, y).score(X, y) > 0.6
    assert type(model.module_.convolutions[0]) is CONVOLUTIONS[name]
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    labels = np.where(X[:, 3] > 0, "high", "low")
    classifier = BASELINES[name]["classification"]("C4-FC16", **settings).fit(X, labels)
    assert classifier.score(X, labels) > 0.8
    X[rng.random(X.shape) < 0.1] = np.nan
    assert np.isfinite(clone(model).fit(X, y).predict(X)).all()


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_after_a_pooling_stand_on_the_coarser_graph(name, rng):
    torch.set_default_dtype(torch.float32)
    X = rng.normal(size=(60, 12)).cumsum(axis=1)
    kind = BASELINES[name]["regression"]
    model = kind("C2-P3-C4-P2-FC3", n_neighbors=4, n_members=1, max_iter=1, random_state=0)
    model.fit(X, X[:, 4])
    first, second = model.module_.convolutions
    assert type(first) is type(second) is CONVOLUTIONS[name]
    n_nodes, n_fewer, n_fewest = (level.n_nodes for level in model.levels_)
    assert n_nodes == 12 > n_fewer > n_fewest
    assert model.module_.dense[0].in_features == 4 * n_fewest
    shape = second(torch.zeros(5, n_fewer, 2)).shape
    assert shape == (5, n_fewer, 4)
    for layer, size, c_in in ((first, n_nodes, 1), (second, n_fewer, 2)):
        n_weights = CONVOLUTIONS[name].n_weights(c_in, 2 * c_in, size, min(4, size))
        assert sum(parameter.numel() for parameter in layer.parameters()) == n_weights


def test_the_supervised_graph_serves_a_baseline_too(rng):
    torch.set_default_dtype(torch.float32)
    X = rng.normal(size=(60, 6))
    model = BASELINES["spectral"]["regression"]("C2", graph="supervised", max_iter=1)
    assert model.fit(X, X[:, 0]).graph_.nnz == 30
