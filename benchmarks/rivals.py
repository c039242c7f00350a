"""The other ways to compute, or to replace, the convolution; all take and return whole batches."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def gather_tensordot(x: Tensor, index: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Gather every neighbour, then one tensor product: the usual way."""
    return torch.tensordot(x[:, index], weight, 2) + bias


def select_matmul(x: Tensor, index: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Do the same with `index_select` and one flat matrix product."""
    (n_samples, n_nodes, c_in), (_, n_slots) = x.shape, index.shape
    gathered = x.index_select(1, index.flatten()).view(n_samples * n_nodes, n_slots * c_in)
    product = torch.addmm(bias, gathered, weight.view(n_slots * c_in, -1))
    return product.view(n_samples, n_nodes, -1)


def bare_products(
    x: Tensor, index: Tensor, weight: Tensor
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return the matrix products that the usual way cannot do without, on data already gathered.

    The first is the forward product. The second does all three of a training step: forward,
    gradient of the gathered input, gradient of the weight; without gathering and scattering.
    What a layer returns is new memory, as it is for every contestant; the gradient of the gathered
    input, which it does not, is written to memory that stays.
    """
    n_slots, c_in, c_out = weight.shape
    gathered = x[:, index].view(-1, n_slots * c_in)
    filters = weight.detach().view(n_slots * c_in, c_out)
    grad = torch.randn(len(gathered), c_out)
    grad_gathered = torch.empty_like(gathered)

    def forward() -> Tensor:
        return torch.mm(gathered, filters)

    def training() -> tuple[Tensor, Tensor]:
        out = torch.mm(gathered, filters)
        torch.mm(grad, filters.t(), out=grad_gathered)
        return out, torch.mm(gathered.t(), grad)

    return forward, training


def pyg_layers(c_in: int, c_out: int, n_slots: int) -> dict[str, nn.Module]:
    """Return PyG's ChebConv with as many weights as ours, and its GCNConv."""
    from torch_geometric.nn import ChebConv, GCNConv

    return {
        "PyG ChebConv": ChebConv(c_in, c_out, K=n_slots, node_dim=-2),
        "PyG GCNConv": GCNConv(c_in, c_out, node_dim=-2),
    }
