"""The type in which a network multiplies: float32, or a shorter one under autocast."""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch

Precision = Literal["float32", "bfloat16"]


def products_in(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Return a context for one forward pass; weights, losses and steps stay float32.

    With "float32" a surrounding ``torch.autocast`` decides.

    Examples
    --------
    >>> import torch
    >>> from walkconv.training.precision import products_in
    >>> weight, x = torch.ones(2, 2), torch.ones(1, 2)
    >>> with products_in("bfloat16", x.device):
    ...     (x @ weight).dtype
    torch.bfloat16
    """
    kind = device.type
    if precision == "bfloat16":
        dtype = torch.bfloat16
    elif torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    else:
        return nullcontext()
    # Autocast would keep its copies of the weights until the outermost context ends, while every
    # step changes the weights.
    return torch.autocast(kind, dtype=dtype, cache_enabled=False)
