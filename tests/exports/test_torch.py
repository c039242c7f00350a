import subprocess
import sys
from copy import deepcopy
from textwrap import dedent

import numpy as np
import pytest
import torch

from tests.exports.kinds import (
    KINDS,
    answers,
    classifier,
    differ_by,
    fitted,
    plain_rows,
    regressor,
    table,
)
from walkconv import GraphConv, GraphPool, coarsen, grid_graph, select_neighbors

NAMED = ["rank", "signed visits", "pooled on a grid", "members of a regressor", "channels"]
"""Kinds that have all layers between them, where one kind more takes a second."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_module_answers_as_the_model_does(kind):
    model, X = fitted(kind)
    module = model.to_torch()
    rows = torch.from_numpy(plain_rows(X))
    wanted = answers(model, X)
    assert differ_by(model, module(rows), wanted) < 1e-5
    assert differ_by(model, module(rows[:1]), wanted[:1]) < 1e-5
    assert differ_by(model, deepcopy(module)(rows), wanted) < 1e-5
    doubles = torch.from_numpy(plain_rows(X).astype(np.float64))
    assert differ_by(model, module(doubles), wanted) < 1e-5


def test_exported_programs_need_no_walkconv(tmp_path):
    size = torch.export.Dim("n_samples", min=1)
    for number, kind in enumerate(NAMED):
        model, X = fitted(kind)
        rows = torch.from_numpy(plain_rows(X))
        program = torch.export.export(model.to_torch(), (rows,), dynamic_shapes=({0: size},))
        operators = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
        assert operators
        assert not any("walkconv" in name for name in operators)
        torch.export.save(program, tmp_path / f"{number}.pt2")
        torch.save(rows, tmp_path / f"{number}.rows")
    script = """
        import sys
        from pathlib import Path
        import torch
        for path in Path(sys.argv[1]).glob("*.pt2"):
            program = torch.export.load(path).module()
            rows = torch.load(path.with_suffix(".rows"))
            torch.save((program(rows), program(rows[:1])), path.with_suffix(".found"))
        assert "walkconv" not in sys.modules
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for number, kind in enumerate(NAMED):
        found, first = torch.load(tmp_path / f"{number}.found")
        model, X = fitted(kind)
        wanted = answers(model, X)
        assert differ_by(model, found, wanted) < 1e-5
        assert differ_by(model, first, wanted[:1]) < 1e-5


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_module_compiles_in_one_piece(kind):
    torch.compiler.reset()
    model, X = fitted(kind)
    rows = torch.from_numpy(plain_rows(X))
    compiled = torch.compile(model.to_torch(), backend="aot_eager", fullgraph=True)
    assert differ_by(model, compiled(rows), answers(model, X)) < 1e-5


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_layers_and_the_trained_network_export_and_compile_in_one_piece():
    torch.compiler.reset()
    graph = grid_graph((4, 4))
    model, X = classifier(table(15), "C4-P4-FC8")
    x = torch.randn(5, 16, 1)
    cases = [
        (GraphConv(1, 3, select_neighbors(graph, n_neighbors=5)), x),
        (GraphPool(coarsen(graph)), x),
        (GraphPool(coarsen(graph), reduce="mean"), x),
        (model.module_, model.module_inputs(X)[0]),
    ]
    for module, inputs in cases:
        wanted = module(inputs)
        compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
        torch.testing.assert_close(compiled(inputs), wanted)
        torch.testing.assert_close(torch.export.export(module, (inputs,)).module()(inputs), wanted)


def test_the_weights_move_to_another_module_of_the_same_shape():
    first, X = classifier(table(missing=0.1), "C4-FC8")
    second, _ = classifier(table(missing=0.1), "C4-FC8", random_state=1)
    rows = torch.from_numpy(plain_rows(X))
    module, other = first.to_torch(), second.to_torch()
    assert not torch.allclose(module(rows), other(rows))
    other.load_state_dict(module.state_dict())
    torch.testing.assert_close(other(rows), module(rows))


def test_gradients_reach_the_input_and_no_weight_needs_one():
    model, X = regressor(table(), "C4-FC8")
    module = model.to_torch()
    assert not any(weight.requires_grad for weight in module.parameters())
    rows = torch.from_numpy(plain_rows(X)).requires_grad_()
    [slope] = torch.autograd.grad(module(rows).sum(), rows)
    step = 1e-3 * torch.sign(slope)
    gain = (module(rows + step) - module(rows - step)).sum()
    torch.testing.assert_close(gain, 2 * (slope * step).sum(), rtol=0.05, atol=0.0)


def test_the_module_is_a_copy_of_what_was_learned():
    model, X = regressor(table(), "C4-FC8")
    before = model.predict(X)
    module = model.to_torch()
    with torch.no_grad():
        for weight in module.parameters():
            weight.zero_()
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("shape", [(5, 11), (5,), (5, 12, 2), (5, 1, 12)])
def test_rows_of_another_shape_are_refused(shape):
    model, _ = regressor(table(), "C4")
    with pytest.raises(ValueError, match=r"x must have shape \(n_samples, 12\); got"):
        model.to_torch()(torch.zeros(shape))
