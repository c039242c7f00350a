"""A convolution over the neighbours that are present."""

from torch import Tensor

from walkconv.conv import graph_conv
from walkconv.layers.conv import GraphConv
from walkconv.layers.tables import beside


def convolve_present(layer: GraphConv, x: Tensor, missing: Tensor) -> Tensor:
    """Return the convolution of `layer` over the values that are there.

    The sum over the values present is multiplied by the number of values in the filled slots over
    the number of those present, so that its size does not depend on how many are missing. A node
    none of whose neighbours is present has the bias alone.

    Parameters
    ----------
    layer : GraphConv
    x : Tensor of shape (..., n_nodes, c_in)
        What stands at a missing place (usually NaN) does not matter.
    missing : bool Tensor of the shape of x

    Returns
    -------
    Tensor of shape (..., n_nodes, c_out)
    """
    assert layer.index is not None
    index = beside(x, layer.index)
    present = (~missing).to(x.dtype)
    ones = x.new_ones(layer.weight.shape[0], layer.c_in, 1)
    n_present = graph_conv(present, index, ones)  # (..., n_nodes, 1)
    n_filled = layer.c_in * (index >= 0).sum(dim=1, keepdim=True)
    over_present = graph_conv(x.masked_fill(missing, 0), index, layer.weight, None, layer.scale)
    out = over_present * (n_filled / n_present.clamp(min=1))
    return out if layer.bias is None else out + layer.bias
