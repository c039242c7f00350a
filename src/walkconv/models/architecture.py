"""The paper's notation for networks: ``C10-C20-FC300``.

Layers are joined by hyphens: ``C20`` is a graph convolution with 20 filters, ``FC300`` a fully
connected layer of 300 units, ``P4`` pooling over groups of 4 nodes, ``P2x2`` over the cells of a
grid, and ``G`` one value of each channel for the whole graph. The output layer is implied, so the
empty string is a linear model; ``N1`` at the end is an output for every node instead. Capitals and
spaces do not matter. Nothing here needs torch.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from walkconv._checks import describe


@dataclass(frozen=True)
class Convolution:
    """A graph convolution with `n_filters` filters."""

    n_filters: int

    def __str__(self) -> str:
        return f"C{self.n_filters}"


@dataclass(frozen=True)
class Pooling:
    """Pooling over groups of nodes: ``(4,)`` is any 4 nodes, ``(2, 2)`` the cells of a grid."""

    sides: tuple[int, ...]

    def __str__(self) -> str:
        return "P" + "x".join(str(side) for side in self.sides)


@dataclass(frozen=True)
class FullyConnected:
    """A fully connected layer of `n_units` units."""

    n_units: int

    def __str__(self) -> str:
        return f"FC{self.n_units}"


@dataclass(frozen=True)
class Readout:
    """One value of each channel for the whole graph, whatever its number of nodes."""

    def __str__(self) -> str:
        return "G"


@dataclass(frozen=True)
class NodeOutput:
    """The last layer of a network that answers at every node: `n_values` for each."""

    n_values: int

    def __str__(self) -> str:
        return f"N{self.n_values}"


Layer = Convolution | Pooling | Readout | FullyConnected | NodeOutput

TOKEN = re.compile(r"(?P<kind>FC|C|P|N)(?P<size>[0-9]+(X[0-9]+)*)", flags=re.ASCII)


def parse_architecture(architecture: str) -> tuple[Layer, ...]:
    """Return the layers that an architecture string lists.

    Parameters
    ----------
    architecture : str
        Layers joined by hyphens, such as ``"C10-C20-FC300"``. "" has no layer but the implied
        output: logistic or linear regression.

    Returns
    -------
    tuple of Convolution, Pooling, Readout, FullyConnected and NodeOutput

    Examples
    --------
    >>> from walkconv.models import parse_architecture
    >>> parse_architecture("C10-P4-FC300")
    (Convolution(n_filters=10), Pooling(sides=(4,)), FullyConnected(n_units=300))
    >>> parse_architecture("")
    ()
    """
    if not isinstance(architecture, str):
        raise TypeError(
            f"architecture must be a string such as 'C20-FC512'; got {describe(architecture)}."
        )
    if not architecture.strip():
        return ()
    layers: list[Layer] = []
    start = 0
    for piece in architecture.split("-"):
        token = piece.strip()
        place = start + len(piece) - len(piece.lstrip()) if token else start
        try:
            layers.append(_parse_token(token, layers))
        except ValueError as error:
            raise ValueError(_point_at(architecture, place, token, str(error))) from None
        start += len(piece) + 1
    return tuple(layers)


def format_architecture(layers: Sequence[Layer]) -> str:
    """Return the string that `parse_architecture` reads as these layers.

    Examples
    --------
    >>> from walkconv.models import format_architecture, parse_architecture
    >>> format_architecture(parse_architecture(" c10 - fc300 "))
    'C10-FC300'
    """
    return "-".join(str(layer) for layer in layers)


def point_at_layer(layers: Sequence[Layer], number: int, reason: str) -> str:
    """Return a message that a layer does not fit, with an arrow at the layer."""
    architecture = format_architecture(layers)
    place = len(format_architecture(layers[: number + 1])) - len(str(layers[number]))
    return _point_at(architecture, place, str(layers[number]), reason, problem="does not fit")


def _parse_token(token: str, before: Sequence[Layer]) -> Layer:
    if not token:
        raise ValueError("A layer is missing here. Take out a hyphen or name the layer.")
    if before and isinstance(before[-1], NodeOutput):
        raise ValueError(f"{before[-1]} is the output and comes last.")
    has_nodes = not any(isinstance(layer, FullyConnected | Readout) for layer in before)
    if token.upper() == "G":
        if not has_nodes:
            raise ValueError("There are no nodes left to read out here. Take the G away.")
        return Readout()
    match = TOKEN.fullmatch(token.upper())
    if match is None:
        raise ValueError("Layers are C20, P4, P2x2, G, FC512 or N1, joined by hyphens.")
    sizes = [int(size) for size in match["size"].split("X")]
    if min(sizes) < 1:
        raise ValueError("A layer must have a size of at least 1.")
    kind = match["kind"]
    if kind != "P" and len(sizes) > 1:
        raise ValueError("Only pooling has several sides, as in P2x2.")
    if kind != "FC" and not has_nodes:
        last = "readout" if isinstance(before[-1], Readout) else "fully connected layer"
        raise ValueError(f"After a {last} there are no nodes. Put {token} before it.")
    if kind == "N" and any(isinstance(layer, Pooling) for layer in before):
        raise ValueError("After pooling the single nodes are gone. Take the P layers out.")
    if kind == "P":
        return Pooling(tuple(sizes))
    return {"C": Convolution, "FC": FullyConnected, "N": NodeOutput}[kind](sizes[0])


def _point_at(
    architecture: str, place: int, token: str, reason: str, problem: str = "cannot be read"
) -> str:
    shown = architecture.replace("\n", " ").replace("\t", " ")
    arrows = " " * place + "^" * max(1, len(token))
    return (
        f"architecture {problem} at position {place + 1} ({token!r}). {reason}\n"
        f"  {shown}\n  {arrows}"
    )
