"""Whether a call needs torch's dispatcher, whose way there and back takes as long as a small layer.

It does when someone stands between the call and the CPU: vmap and the other transforms, modes,
compile, tracing, the profiler, subclasses, tensors elsewhere, of another layout or with a sign not
yet applied; and when autograd is told to stay out.
"""

from functools import reduce
from operator import or_

import torch
from torch import Tensor, nn
from torch._C import DispatchKey, DispatchKeySet

_KINDS = (Tensor, nn.Parameter)
_is_excluded = torch._C._dispatch_tls_is_dispatch_key_excluded


def is_plain(*tensors: Tensor | None) -> bool:
    """Tell whether all are plain tensors on the CPU and nobody but autograd watches the call.

    Examples
    --------
    >>> import torch
    >>> from walkconv.conv.plain import is_plain
    >>> is_plain(torch.ones(2), None), is_plain(torch.ones(2, device="meta"))
    (True, False)
    """
    return (
        not torch.compiler.is_compiling()
        and not torch.autograd.profiler._is_profiler_enabled
        and torch._C._dispatch_tls_local_include_set().raw_repr() in _NOBODY_ELSE
        and not (torch.is_grad_enabled() and _is_excluded(DispatchKey.AutogradFunctionality))
        and not torch._C._is_torch_function_mode_enabled()
        and all(
            t is None or (type(t) in _KINDS and torch._C._dispatch_keys(t).raw_repr() in _ON_CPU)
            for t in tensors
        )
    )


def _raw(*names: str) -> int:
    keys = (DispatchKeySet(getattr(DispatchKey, name)) for name in names)
    return reduce(or_, keys).raw_repr()


# Each with autograd and, in inference mode, without.
_NOBODY_ELSE = {_raw("BackendSelect", "ADInplaceOrView"), _raw("BackendSelect")}
_ON_CPU = {
    _raw("CPU", "AutocastCPU", "AutogradCPU", "ADInplaceOrView"),
    _raw("CPU", "AutocastCPU"),
}
