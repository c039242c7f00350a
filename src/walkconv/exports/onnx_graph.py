"""A plain model becomes a graph of standard ONNX operators, layer by layer.

The operators are those of opset 18, which onnxruntime knows since version 1.14.
"""

import json
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor, nn

from walkconv.exports.plain_layers import (
    FARTHEST,
    FilledMissing,
    Gathered,
    PlainConvolution,
    PlainPooling,
    ScaledColumns,
)
from walkconv.exports.plain_model import PlainModel, ValueAnswer
from walkconv.layers import GraphReadout

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

OPSET = 18
IR_VERSION = 8
INPUT = "X"
ROWS = "n_samples"


class Graph:
    """Nodes and constants of a graph that grows; values are known by their names."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add an operator and return the name of its result."""
        from onnx import helper

        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def constant(self, values: Any) -> str:
        """Add an array, numbers or text, and return its name."""
        from onnx import numpy_helper

        array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
        kind = {"U": object, "d": np.float32}.get(array.dtype.char, array.dtype)
        name = f"constant_{len(self.constants)}"
        tensor = numpy_helper.from_array(np.ascontiguousarray(array, dtype=kind), name)
        self.constants.append(tensor)
        return name

    def filled(self, value: str) -> str:
        """Return a value with zero in place of NaN."""
        return self.add("Where", self.add("IsNaN", value), self.constant(np.float32(0)), value)


def onnx_graph(
    model: PlainModel, labels: np.ndarray | None, names: list[str] | None
) -> "ModelProto":
    """Return a model as a graph.

    Parameters
    ----------
    model : PlainModel
    labels : ndarray of shape (n_classes,) or None
        The classes of a classifier.
    names : list of str or None
        Names of the columns, for the metadata.
    """
    from onnx import TensorProto, helper

    graph = Graph()
    n_columns, n_channels = model.scaling.mean.shape
    shape = [ROWS, n_columns] if n_channels == 1 else [ROWS, n_columns, n_channels]
    inputs = [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, shape)]
    scaled = _scaled_columns(graph, model.scaling)
    outputs = []
    for member in model.members:
        assert isinstance(member, nn.Sequential)
        value = scaled
        for layer in member:
            value = WRITERS[type(layer)](graph, layer, value)
        outputs.append(value)
    if labels is None:
        assert isinstance(model.answer, ValueAnswer)
        answers = [_values(graph, model.answer, outputs)]
    else:
        answers = _classes(graph, labels, outputs)
    body = helper.make_graph(graph.nodes, "walkconv", inputs, answers, graph.constants)
    made = helper.make_model(
        body,
        producer_name="walkconv",
        producer_version=version("walkconv"),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    notes = {} if names is None else {"columns": json.dumps(names)}
    if labels is not None:
        notes["classes"] = json.dumps(labels.tolist())
    helper.set_model_props(made, notes)
    return made


def _scaled_columns(graph: Graph, layer: ScaledColumns) -> str:
    """Write the scaling; NaN is put aside before the clipping, which need not keep it."""
    value, is_missing = INPUT, graph.add("IsNaN", INPUT)
    shape = (-1,) if layer.mean.shape[1] == 1 else tuple(layer.mean.shape)
    if layer.is_count is not None:
        one_more = graph.add("Add", graph.add("Abs", value), graph.constant(np.float32(1)))
        small = graph.add("Mul", graph.add("Sign", value), graph.add("Log", one_more))
        value = graph.add("Where", graph.constant(layer.is_count.reshape(shape)), small, value)
    for operator, constant in (("Sub", layer.mean), ("Sub", layer.rest), ("Mul", layer.factor)):
        value = graph.add(operator, value, graph.constant(constant.reshape(shape)))
    if layer.soft_clip is not None:
        value = graph.add("Where", is_missing, graph.constant(np.float32(0)), value)
        farthest = np.float32(FARTHEST * layer.soft_clip)
        value = graph.add("Clip", value, graph.constant(-farthest), graph.constant(farthest))
        ratio = graph.add("Div", value, graph.constant(np.float32(layer.soft_clip)))
        square = graph.add("Mul", ratio, ratio)
        length = graph.add("Sqrt", graph.add("Add", square, graph.constant(np.float32(1))))
        value = graph.add("Div", value, length)
        value = graph.add("Where", is_missing, graph.constant(np.float32("nan")), value)
    if layer.weight is not None:
        value = graph.add("Mul", value, graph.constant(layer.weight.reshape(shape)))
    if layer.mean.shape[1] == 1:
        value = graph.add("Unsqueeze", value, graph.constant(np.array([2])))
    return value


def _convolution(graph: Graph, layer: PlainConvolution, value: str) -> str:
    products, counts = [], []
    weights = layer.weight.split(layer.widths)
    for gather, weight in zip(layer.gathers, weights, strict=True):
        assert isinstance(gather, Gathered)
        neighbors = value
        if gather.has_empty:
            behind = graph.constant(np.array([0, 0, 0, 0, 1, 0]))
            neighbors = graph.add(
                "Pad", neighbors, behind, graph.constant(np.float32(gather.empty))
            )
        neighbors = graph.add("Gather", neighbors, graph.constant(gather.index), axis=1)
        table = graph.constant(np.array([-1, gather.n_nodes, gather.width]))
        neighbors = graph.add("Reshape", neighbors, table)
        if gather.scale is not None:
            neighbors = graph.add("Mul", neighbors, graph.constant(gather.scale))
        if layer.counts_missing:
            is_present = graph.add("Not", graph.add("IsNaN", neighbors))
            one_each = graph.add("Cast", is_present, to=1)
            counts.append(graph.add("ReduceSum", one_each, graph.constant(np.array([-1]))))
            neighbors = graph.filled(neighbors)
        products.append(graph.add("MatMul", neighbors, graph.constant(weight)))
    total = _sum(graph, products)
    if counts:
        n_present = graph.add("Max", _sum(graph, counts), graph.constant(np.float32(1)))
        ratio = graph.add("Div", graph.constant(layer.n_filled), n_present)
        total = graph.add("Mul", total, ratio)
    return graph.add("Add", total, graph.constant(layer.bias))


def _pooling(graph: Graph, layer: PlainPooling, value: str) -> str:
    members = graph.add("Gather", value, graph.constant(layer.member), axis=1)
    shape = np.array([0, layer.n_groups, layer.largest, -1])
    members = graph.add("Reshape", members, graph.constant(shape))
    axis = graph.constant(np.array([2]))
    if layer.share is None:
        return graph.add("ReduceMax", members, axis, keepdims=0)
    shares = graph.add("Mul", members, graph.constant(layer.share))
    return graph.add("ReduceSum", shares, axis, keepdims=0)


def _readout(graph: Graph, layer: GraphReadout, value: str) -> str:
    operator = {"mean": "ReduceMean", "max": "ReduceMax"}.get(layer.reduce, "ReduceSum")
    reduced = graph.add(operator, value, graph.constant(np.array([1])), keepdims=0)
    if layer.reduce != "log_sum":
        return reduced
    size = graph.add("Add", graph.add("Abs", reduced), graph.constant(np.float32(1)))
    return graph.add("Mul", graph.add("Sign", reduced), graph.add("Log", size))


def _linear(graph: Graph, layer: nn.Linear, value: str) -> str:
    product = graph.add("MatMul", value, graph.constant(layer.weight.T))
    return graph.add("Add", product, graph.constant(layer.bias))


WRITERS: dict[type[nn.Module], Callable[[Graph, Any, str], str]] = {
    FilledMissing: lambda graph, layer, value: graph.filled(value),
    PlainConvolution: _convolution,
    PlainPooling: _pooling,
    GraphReadout: _readout,
    nn.Flatten: lambda graph, layer, value: graph.add("Flatten", value, axis=1),
    nn.Linear: _linear,
    nn.ReLU: lambda graph, layer, value: graph.add("Relu", value),
}
"""How each kind of layer is written: the layer and the name of its input, to that of its output."""


def _classes(graph: Graph, labels: np.ndarray, outputs: list[str]) -> list[Any]:
    from onnx import TensorProto, helper

    each = [graph.add("Softmax", output, axis=1) for output in outputs]
    probabilities = graph.add("Mean", *each, name="probabilities")
    best = graph.add("ArgMax", probabilities, axis=1, keepdims=0)
    known = graph.constant(_plain_labels(labels))
    graph.add("Gather", known, best, name="label", axis=0)
    kind = graph.constants[-1].data_type
    return [
        helper.make_tensor_value_info("label", kind, [ROWS]),
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [ROWS, len(labels)]),
    ]


def _values(graph: Graph, answer: ValueAnswer, outputs: list[str]) -> Any:
    from onnx import TensorProto, helper

    if answer.are_logarithms:
        outputs = [graph.add("Exp", each) for each in outputs]
    scaled = graph.add("Mul", graph.add("Mean", *outputs), graph.constant(answer.deviation))
    last = {} if not answer.is_multi_output else {"name": "values"}
    values = graph.add("Add", scaled, graph.constant(answer.mean), **last)
    if answer.is_multi_output:
        shape = [ROWS, len(answer.mean)]
    else:
        graph.add("Squeeze", values, graph.constant(np.array([1])), name="values")
        shape = [ROWS]
    return helper.make_tensor_value_info("values", TensorProto.FLOAT, shape)


def _plain_labels(labels: np.ndarray) -> np.ndarray:
    """Return labels of a type that every runtime has: text, bool, int64 or float32."""
    if labels.dtype.kind in "OU":
        if not all(isinstance(label, str) for label in labels):
            raise TypeError(
                f"Classes must be numbers or strings to be exported; got {labels.dtype}. Encode "
                "them first."
            )
        return labels
    if labels.dtype.kind == "u" and labels.max() > np.iinfo(np.int64).max:
        raise ValueError(f"Classes must fit into int64 to be exported; got {labels.max()}.")
    return labels.astype({"b": bool, "f": np.float32}.get(labels.dtype.kind, np.int64))


def _sum(graph: Graph, values: list[str]) -> str:
    return values[0] if len(values) == 1 else graph.add("Sum", *values)
