"""What a user may put in place of ours: a graph, a network, a loop of their own."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from walkconv import (
    GraphCNNClassifier,
    GraphCNNRegressor,
    GraphSample,
    ModelFileError,
    correlation_graph,
    knn_graph,
    load,
    supervised_graph,
)


def test_a_callable_learns_the_graph_from_the_scaled_rows(regressor, table, values):
    model = regressor.set_params(graph=partial(knn_graph, n_neighbors=2)).fit(table, values)
    scaled = (table - table.mean(axis=0)) / table.std(axis=0)
    expected = knn_graph(scaled.astype(np.float32), n_neighbors=2)
    np.testing.assert_allclose(model.graph_.toarray(), expected.toarray(), rtol=1e-5)


def test_a_callable_is_given_the_target_and_the_weights_it_asks_for(classifier, table, classes):
    seen = {}

    def learn(X, y, sample_weight):
        seen.update(shape=X.shape, y=y, weight=sample_weight)
        return correlation_graph(X)

    weight = np.r_[np.ones(50), np.zeros(10)]
    classifier.set_params(graph=learn, max_iter=1).fit(table, classes, weight)
    assert seen["shape"] == (50, 7)
    np.testing.assert_array_equal(seen["y"], classes[:50])
    np.testing.assert_array_equal(seen["weight"], weight[:50])


def test_a_supervised_graph_can_be_tuned(classifier, table, classes):
    learn = partial(supervised_graph, n_edges=2, max_iter=1, random_state=0)
    model = classifier.set_params(graph=learn, max_iter=1).fit(table, classes)
    assert model.graph_.nnz < 7 * 6


def test_a_model_with_a_learned_callable_graph_is_saved(regressor, table, values, tmp_path):
    model = regressor.set_params(graph=partial(knn_graph, n_neighbors=2)).fit(table, values)
    model.save(tmp_path / "m.safetensors")
    loaded = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    assert loaded.graph is None


def test_make_network_is_called_for_graph_samples():
    class Counts(GraphCNNClassifier):
        def make_network(self, plan):
            class Sizes(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.linear = nn.Linear(1, plan.n_outputs)

                def forward(self, batch):
                    return self.linear(batch.sizes[:, None].float())

            return Sizes()

    graphs = [GraphSample(np.ones((n, n))) for n in (2, 3, 8, 9) * 5]
    model = Counts("C2-G", max_iter=30, learning_rate=0.3, random_state=0)
    assert type(model.fit(graphs, [0, 0, 1, 1] * 5).module_).__name__ == "Sizes"
    assert model.score(graphs, [0, 0, 1, 1] * 5) == 1.0


@pytest.mark.parametrize("has_gaps", [False, True])
def test_module_inputs_are_those_of_predict(table, values, has_gaps):
    X = table.copy()
    X[0, 0] = 1e6  # clipped
    if has_gaps:
        X[3, 2] = np.nan
    model = GraphCNNRegressor("C2", n_members=1, max_iter=2, random_state=0).fit(X, values)
    inputs = model.module_inputs(X)
    assert len(inputs) == 1 + has_gaps
    with torch.no_grad():
        outputs = model.module_(*inputs).double().numpy()
    scaling = model.target_scaling_
    expected = outputs[:, 0] * scaling.deviation[0] + scaling.mean[0]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)


def test_load_may_be_told_what_to_expect(regressor, table, values, tmp_path):
    path = tmp_path / "m.safetensors"
    regressor.fit(table, values).save(path)
    assert isinstance(load(path, GraphCNNRegressor), GraphCNNRegressor)
    with pytest.raises(
        ModelFileError, match="must hold a GraphCNNClassifier; it holds a GraphCNNR"
    ):
        load(path, GraphCNNClassifier)


def test_a_poor_layout_is_used_with_a_warning(rng):
    X = rng.normal(size=(200, 60))
    with pytest.warns(UserWarning, match="order='direction' uses a poor layout: "):
        GraphCNNRegressor("C2", order="direction", max_iter=1).fit(X, X[:, 0])


@pytest.mark.parametrize("kind", [GraphCNNClassifier, GraphCNNRegressor])
def test_the_constructor_has_few_settings_and_documents_each(kind):
    names = list(kind().get_params())
    assert len(names) <= 29
    for name in names:
        assert any(
            name in line.split(":")[0] for line in kind.__doc__.splitlines() if " : " in line
        ), name


def test_a_subclass_with_a_constructor_of_its_own_transfers(table, classes):
    class Own(GraphCNNClassifier):
        def __init__(self, width=4):
            super().__init__(f"C{width}", max_iter=1, random_state=0)
            self.width = width

    other = Own(2).fit(table, classes).transfer(2 * table, classes)
    assert other.predict(table).shape == (len(table),)


def test_a_choice_of_the_class_is_refused_on_one_estimator(classifier, table, classes):
    classifier.weighting = "signed_visits"
    with pytest.raises(TypeError, match="weighting must be set on a subclass"):
        classifier.fit(table, classes)


def test_make_network_must_return_a_module(table, classes):
    class Broken(GraphCNNClassifier):
        def make_network(self, plan):
            return None

    with pytest.raises(TypeError, match="make_network must return a Module; got None"):
        Broken("C2").fit(table, classes)


@pytest.mark.parametrize("estimator", [GraphCNNClassifier, GraphCNNRegressor])
def test_settings_are_keywords(estimator):
    with pytest.raises(TypeError, match="positional"):
        estimator("C2", 0.1)


def test_pyg_data_is_a_graph_and_no_callable(regressor, table, values):
    pytest.importorskip("torch_geometric")
    from torch_geometric.data import Data

    ends = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6]])
    model = regressor.set_params(graph=Data(edge_index=ends, num_nodes=7)).fit(table, values)
    assert model.graph_.nnz == 6
