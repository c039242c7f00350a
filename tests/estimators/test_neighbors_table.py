"""The neighbours that a model uses, as a table to read."""

import numpy as np
import pandas as pd
import pytest

from walkconv import GraphSample, graph_from_edges, load

GRAPH = graph_from_edges([[1, 1, 3], [0, 2, 3]], [3.0, -1.0, 1.0], n_nodes=4)
EXPECTED = [
    ("a", 1, "a", 1.0, 1),
    ("a", 2, "b", 1.0, 1),
    ("b", 1, "b", 1.0, 1),
    ("b", 2, "a", 0.75, 1),
    ("c", 1, "c", 1.0, 1),
    ("c", 2, "b", 1.0, -1),
    ("d", 1, "d", 2.0, 1),
]


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_filled_slots_are_listed_by_name(request, kind, table, classes, values, tmp_path):
    model = request.getfixturevalue(kind).set_params(graph=GRAPH, n_neighbors=2, max_iter=1)
    y = classes if kind == "classifier" else values
    model.fit(pd.DataFrame(table[:, :4], columns=list("abcd")), y)
    found = model.neighbors_table()
    assert found.columns == ["node", "rank", "neighbor", "visits", "sign"]
    assert found.rows() == EXPECTED
    model.save(tmp_path / "model.safetensors")
    assert load(tmp_path / "model.safetensors").neighbors_table().equals(found)


def test_columns_without_names_are_numbered(regressor, table, values):
    regressor.set_params(graph=GRAPH, n_neighbors=2, max_iter=1).fit(table[:, :4], values)
    found = regressor.neighbors_table()
    assert found["node"].to_list() == [0, 0, 1, 1, 2, 2, 3]
    assert found["neighbor"].to_list() == [0, 1, 1, 0, 2, 1, 3]


def test_models_without_neighbors_of_columns_say_why(regressor, table, values):
    regressor.set_params(architecture="FC4", max_iter=1).fit(table, values)
    with pytest.raises(ValueError, match="no C layer on the columns; its architecture is 'FC4'"):
        regressor.neighbors_table()
    rings = [GraphSample(np.eye(3) + 1)] * 20
    regressor.set_params(architecture="C2-G").fit(rings, np.arange(20.0))
    with pytest.raises(ValueError, match=r"each graph has its own neighbours.*select_neighbors"):
        regressor.neighbors_table()
