"""The paper's notation for networks: ``C10-C20-FC300``.

Hyphens join the layers. ``C20`` is a graph convolution with 20 filters. ``FC300`` is a fully
connected layer of 300 units. ``P4`` is max pooling over groups of 4 nodes, ``P4mean`` takes means,
``P2x2`` pools the cells of a grid. ``G`` is the mean of each channel over all nodes of the graph;
``Gsum``, ``Glog_sum`` and ``Gmax`` are other readouts. The output layer is implied, so the empty
string is a linear model. ``N1`` at the end is an output for every node instead. Case and spaces do
not matter. Nothing here needs torch.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from walkconv._checks import describe

PoolingKind = Literal["max", "mean"]
ReadoutKind = Literal["sum", "log_sum", "mean", "max"]


@dataclass(frozen=True)
class Convolution:
    """A graph convolution with `n_filters` filters.

    Examples
    --------
    >>> from walkconv.networks import Convolution
    >>> str(Convolution(20))
    'C20'
    """

    n_filters: int

    def __str__(self) -> str:
        return f"C{self.n_filters}"


@dataclass(frozen=True)
class Pooling:
    """Pooling over groups of nodes: ``(4,)`` is any 4 nodes, ``(2, 2)`` the cells of a grid.

    Examples
    --------
    >>> from walkconv.networks import Pooling
    >>> str(Pooling((2, 2), "mean"))
    'P2x2mean'
    """

    sides: tuple[int, ...]
    reduce: PoolingKind = "max"

    def __str__(self) -> str:
        kind = "" if self.reduce == "max" else self.reduce
        return "P" + "x".join(str(side) for side in self.sides) + kind


@dataclass(frozen=True)
class FullyConnected:
    """A fully connected layer of `n_units` units.

    Examples
    --------
    >>> from walkconv.networks import FullyConnected
    >>> str(FullyConnected(300))
    'FC300'
    """

    n_units: int

    def __str__(self) -> str:
        return f"FC{self.n_units}"


@dataclass(frozen=True)
class Readout:
    """One value of each channel for the whole graph, for any number of nodes.

    Examples
    --------
    >>> from walkconv.networks import Readout
    >>> str(Readout("sum"))
    'Gsum'
    """

    reduce: ReadoutKind = "mean"

    def __str__(self) -> str:
        return "G" if self.reduce == "mean" else f"G{self.reduce}"


@dataclass(frozen=True)
class NodeOutput:
    """The last layer of a network with `n_values` outputs at every node.

    Examples
    --------
    >>> from walkconv.networks import NodeOutput
    >>> str(NodeOutput(1))
    'N1'
    """

    n_values: int

    def __str__(self) -> str:
        return f"N{self.n_values}"


Layer = Convolution | Pooling | Readout | FullyConnected | NodeOutput

TOKEN = re.compile(
    r"(?P<kind>FC|C|P|N|G)(?P<size>[0-9]+(X[0-9]+)*)?(?P<reduce>MAX|MEAN|LOG_SUM|SUM)?",
    flags=re.ASCII,
)
MOST_LAYERS = 1000
LONGEST_SIZE = 9
"""Digits of a size: no layer has a billion units."""


def parse_architecture(architecture: str) -> tuple[Layer, ...]:
    """Return the layers that an architecture string lists.

    Parameters
    ----------
    architecture : str
        Layers joined by hyphens, such as ``"C10-C20-FC300"``. "" has only the implied output
        layer: logistic or linear regression.

    Returns
    -------
    tuple of Convolution, Pooling, Readout, FullyConnected and NodeOutput

    Examples
    --------
    >>> from walkconv.networks import parse_architecture
    >>> parse_architecture("C10-P4-FC300")
    (Convolution(n_filters=10), Pooling(sides=(4,), reduce='max'), FullyConnected(n_units=300))
    >>> parse_architecture("C10-Gsum")
    (Convolution(n_filters=10), Readout(reduce='sum'))
    >>> parse_architecture("")
    ()
    """
    if not isinstance(architecture, str):
        raise TypeError(
            f"architecture must be a string such as 'C20-FC512'; got {describe(architecture)}."
        )
    if not architecture.strip():
        return ()
    n_layers = architecture.count("-") + 1
    if n_layers > MOST_LAYERS:
        raise ValueError(f"architecture must have at most {MOST_LAYERS} layers; got {n_layers}.")
    layers: list[Layer] = []
    start, has_pooling = 0, False
    for piece in architecture.split("-"):
        token = piece.strip()
        position = start + len(piece) - len(piece.lstrip()) if token else start
        try:
            layer = _parse_token(token)
            _check_order(layer, layers[-1] if layers else None, has_pooling=has_pooling)
        except ValueError as error:
            raise ValueError(_point_at(architecture, position, token, str(error))) from None
        layers.append(layer)
        has_pooling = has_pooling or isinstance(layer, Pooling)
        start += len(piece) + 1
    return tuple(layers)


def format_architecture(layers: Sequence[Layer]) -> str:
    """Return the string that `parse_architecture` reads as these layers.

    Examples
    --------
    >>> from walkconv.networks import format_architecture, parse_architecture
    >>> format_architecture(parse_architecture(" c10 - p4MEAN - fc300 "))
    'C10-P4mean-FC300'
    """
    return "-".join(str(layer) for layer in layers)


def point_at_layer(layers: Sequence[Layer], number: int, reason: str) -> str:
    """Return a message that a layer does not fit, with an arrow at the layer."""
    architecture = format_architecture(layers)
    position = len(format_architecture(layers[: number + 1])) - len(str(layers[number]))
    return _point_at(architecture, position, str(layers[number]), reason, problem="does not fit")


def _parse_token(token: str) -> Layer:
    if not token:
        raise ValueError("A layer is missing here. Remove a hyphen or name the layer.")
    match = TOKEN.fullmatch(token.upper())
    if match is None or (match["size"] is None) != (match["kind"] == "G"):
        raise ValueError(
            "Layers are C20, P4, P4mean, P2x2, G, Gsum, FC512 or N1, joined by hyphens."
        )
    kind, reduce = match["kind"], (match["reduce"] or "").lower()
    if kind == "G":
        return Readout(cast(ReadoutKind, reduce or "mean"))
    if any(len(size) > LONGEST_SIZE for size in match["size"].split("X")):
        raise ValueError(f"A size must have at most {LONGEST_SIZE} digits.")
    sizes = [int(size) for size in match["size"].split("X")]
    if min(sizes) < 1:
        raise ValueError("A layer must have a size of at least 1.")
    if kind == "P":
        if reduce not in ("", "max", "mean"):
            raise ValueError("Pooling takes the max or the mean, as in P4 or P4mean.")
        return Pooling(tuple(sizes), cast(PoolingKind, reduce or "max"))
    if reduce:
        raise ValueError("Only P and G layers name how they reduce, as in P4mean or Gsum.")
    if len(sizes) > 1:
        raise ValueError("Only pooling has several sides, as in P2x2.")
    return {"C": Convolution, "FC": FullyConnected, "N": NodeOutput}[kind](sizes[0])


def _check_order(layer: Layer, before: Layer | None, *, has_pooling: bool) -> None:
    """Refuse a layer that cannot follow the one before it."""
    if isinstance(before, NodeOutput):
        raise ValueError(f"{before} is the output and comes last.")
    if isinstance(before, FullyConnected | Readout) and not isinstance(layer, FullyConnected):
        if isinstance(layer, Readout):
            raise ValueError("There are no nodes left to read out here. Remove the G.")
        last = "readout" if isinstance(before, Readout) else "fully connected layer"
        raise ValueError(f"After a {last} there are no nodes. Put {layer} before it.")
    if isinstance(layer, NodeOutput) and has_pooling:
        raise ValueError("After pooling the single nodes are gone. Remove the P layers.")


def _point_at(
    architecture: str, position: int, token: str, reason: str, problem: str = "cannot be read"
) -> str:
    shown = architecture.replace("\n", " ").replace("\t", " ")
    arrows = " " * position + "^" * max(1, len(token))
    return (
        f"architecture {problem} at position {position + 1} ({token!r}). {reason}\n"
        f"  {shown}\n  {arrows}"
    )
