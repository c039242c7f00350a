"""A fitted model of tables becomes one module of standard operators.

Scaling, soft clipping, missing values and the average over the ensemble members are inside. Batch
normalization is folded into the weights before it. So the module holds what prediction needs and
nothing of the training.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn

from walkconv.exports.plain_layers import (
    FilledMissing,
    PlainConvolution,
    PlainPooling,
    ScaledColumns,
    frozen,
    single,
)
from walkconv.exports.table_model import Probabilities, Quantities, TableModel
from walkconv.layers import GraphConv, GraphPool
from walkconv.networks.network import HiddenConvolution, Network


class PlainModel(nn.Module):
    """A fitted model in standard operators of torch.

    Parameters
    ----------
    scaling : ScaledColumns
    members : sequence of Module
        From scaled columns, in which NaN is a missing value, to the outputs of a network.
    answer : ClassAnswer or ValueAnswer

    Shape
    -----
    Input (m, n_columns), or (m, n_columns, n_channels) if the table of the fit had channels; NaN is
    a missing value. Output (m, n_classes) for a classifier, of the shape of y for a regressor.
    """

    def __init__(self, scaling: ScaledColumns, members: list[nn.Sequential], answer: nn.Module):
        super().__init__()
        self.scaling, self.members, self.answer = scaling, nn.ModuleList(members), answer

    def forward(self, x: Tensor) -> Tensor:
        """Return class probabilities, or values in the units of y."""
        scaled = self.scaling(x)
        return self.answer([member(scaled) for member in self.members])


class ClassAnswer(nn.Module):
    """Probabilities of classes (m, n_classes), averaged over the members."""

    def forward(self, outputs: list[Tensor]) -> Tensor:
        """Return the probabilities."""
        return _mean([each.softmax(dim=1) for each in outputs])


class ValueAnswer(nn.Module):
    """Values in the units and the shape of y, averaged over the members."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, quantities: Quantities):
        super().__init__()
        self.is_multi_output = quantities.is_multi_output
        self.are_logarithms = quantities.are_logarithms
        self.register_buffer("mean", single(quantities.mean, "The means of y"))
        self.register_buffer("deviation", single(quantities.deviation, "The deviations of y"))

    def forward(self, outputs: list[Tensor]) -> Tensor:
        """Return the values."""
        scaled = [output.exp() for output in outputs] if self.are_logarithms else outputs
        values = _mean(scaled) * self.deviation + self.mean
        return values if self.is_multi_output else values[:, 0]


def plain_model(model: TableModel) -> PlainModel:
    """Return a fitted model as one module of standard operators, on the CPU, for prediction."""
    scaling = ScaledColumns(
        model.mean, model.deviation, model.soft_clip, is_count=model.is_count, weight=model.weight
    )
    members = [nn.Sequential(*_plain_layers(network)) for network in model.networks]
    answer: nn.Module = ClassAnswer()
    if not isinstance(model.answer, Probabilities):
        answer = ValueAnswer(model.answer)
    return PlainModel(scaling, members, answer).eval()


def _plain_layers(network: nn.Module) -> Iterator[nn.Module]:
    """Yield the layers of a network in the order in which its forward pass uses them."""
    if type(network) is not Network:
        raise TypeError(
            "Only networks of walkconv can be exported; make_network returned "
            f"{type(network).__name__}. Export that module yourself: it is model.module_."
        )
    is_first, has_relu = True, True
    for layer in network.nodewise:
        if isinstance(layer, HiddenConvolution):
            if not has_relu:
                yield nn.ReLU()
            yield _convolution(layer, counts_missing=is_first)
            has_relu = False
        else:
            assert isinstance(layer, GraphPool)
            if is_first:
                yield FilledMissing()
            if not has_relu and layer.reduce == "mean":
                yield nn.ReLU()
                has_relu = True
            yield _pooling(layer)
        is_first = False
    if is_first:
        yield FilledMissing()
    if not has_relu:
        yield nn.ReLU()
    if not isinstance(network.readout, nn.Identity):
        yield network.readout
    assert isinstance(network.dense, nn.Sequential)
    yield from _dense_layers(network.dense)


def _convolution(layer: HiddenConvolution, *, counts_missing: bool) -> PlainConvolution:
    convolution = layer.convolution
    if type(convolution) is not GraphConv or convolution.index is None:
        raise TypeError(
            "Only convolutions of walkconv on one graph can be exported; got "
            f"{type(convolution).__name__}. Export the module yourself: it is model.module_."
        )
    weight = _double(convolution.weight)
    bias = np.zeros(weight.shape[-1]) if convolution.bias is None else _double(convolution.bias)
    if layer.norm is not None:
        factor, shift = _affine(layer.norm)
        weight, bias = weight * factor, bias * factor + shift
    index = convolution.index.cpu().numpy()
    scale = None if convolution.scale is None else _double(convolution.scale)
    return PlainConvolution(index, weight, bias, scale, counts_missing=counts_missing)


def _pooling(layer: GraphPool) -> PlainPooling:
    assert layer.start is not None
    assert layer.member is not None
    start, nodes = layer.start.cpu().numpy(), layer.member.cpu().numpy()
    member = np.full((len(start) - 1, layer.largest), -1)
    sizes = np.diff(start)
    member[np.arange(layer.largest) < sizes[:, None]] = nodes
    return PlainPooling(member, layer.reduce)


def _dense_layers(dense: nn.Sequential) -> Iterator[nn.Module]:
    """Yield the fully connected layers, normalization folded into them, without dropout."""
    layers = [layer for layer in dense if not isinstance(layer, nn.Dropout)]
    for layer, following in zip(layers, [*layers[1:], None], strict=True):
        if isinstance(layer, nn.Linear):
            norm = following if isinstance(following, nn.BatchNorm1d) else None
            yield _linear(layer, norm)
        elif not isinstance(layer, nn.BatchNorm1d):
            yield layer


def _linear(layer: nn.Linear, norm: nn.BatchNorm1d | None) -> nn.Linear:
    weight, bias = _double(layer.weight), _double(layer.bias)
    if norm is not None:
        factor, shift = _affine(norm)
        weight, bias = weight * factor[:, None], bias * factor + shift
    with torch.device("meta"):
        plain = nn.Linear(layer.in_features, layer.out_features)
    plain.weight, plain.bias = frozen(weight), frozen(bias)
    return plain


def _affine(norm: nn.BatchNorm1d) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor and the shift of each channel in prediction, float64."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    factor = _double(norm.weight) / np.sqrt(_double(norm.running_var) + norm.eps)
    return factor, _double(norm.bias) - _double(norm.running_mean) * factor


def _double(values: Tensor) -> np.ndarray:
    return values.detach().cpu().double().numpy()


def _mean(outputs: list[Tensor]) -> Tensor:
    return outputs[0] if len(outputs) == 1 else torch.stack(outputs).mean(dim=0)
