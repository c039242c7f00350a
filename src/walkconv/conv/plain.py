"""Whether a call needs torch's dispatcher, whose way there and back takes as long as a small layer.

It does when someone stands between the call and the CPU: vmap and the other transforms, modes,
compile, tracing, the profiler, subclasses, tensors elsewhere, of another layout or with a sign not
yet applied; and when autograd is told to stay out.

Only private names of torch tell. Where a name is missing, every call takes the dispatcher.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_

import torch
from torch import Tensor, nn
from torch.autograd import profiler

_KINDS = (Tensor, nn.Parameter)


def is_plain(*tensors: Tensor | None) -> bool:
    """Tell whether all are plain tensors on the CPU and nobody but autograd watches the call.

    Examples
    --------
    >>> import torch
    >>> from walkconv.conv.plain import is_plain
    >>> is_plain(torch.ones(2, device="meta"))
    False
    """
    return _look is not None and not torch.compiler.is_compiling() and _look(tensors)


def _private_look() -> Callable[[tuple[Tensor | None, ...]], bool] | None:
    """Return the part of `is_plain` that private names answer, or None if one is missing."""
    try:
        from torch._C import DispatchKey, DispatchKeySet
        from torch._C import _dispatch_keys as keys_of
        from torch._C import _dispatch_tls_is_dispatch_key_excluded as is_excluded
        from torch._C import _dispatch_tls_local_include_set as included
        from torch._C import _is_torch_function_mode_enabled as has_mode

        def raw(*names: str) -> int:
            keys = (DispatchKeySet(getattr(DispatchKey, name)) for name in names)
            return reduce(or_, keys).raw_repr()

        # Each with autograd and, in inference mode, without.
        nobody_else = {raw("BackendSelect", "ADInplaceOrView"), raw("BackendSelect")}
        on_cpu = {
            raw("CPU", "AutocastCPU", "AutogradCPU", "ADInplaceOrView"),
            raw("CPU", "AutocastCPU"),
        }
        autograd = DispatchKey.AutogradFunctionality

        def look(tensors: tuple[Tensor | None, ...]) -> bool:
            return (
                not profiler._is_profiler_enabled
                and included().raw_repr() in nobody_else
                and not (torch.is_grad_enabled() and is_excluded(autograd))
                and not has_mode()
                and all(
                    t is None or (type(t) in _KINDS and keys_of(t).raw_repr() in on_cpu)
                    for t in tensors
                )
            )

        look((torch.empty(0),))
    except (ImportError, AttributeError, TypeError):
        return None
    return look


_look = _private_look()


def may_be_transformed() -> bool:
    """Tell whether `torch.func` may transform the call: yes, where only a private name knows."""
    is_tracing = torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
    if torch.compiler.is_compiling() or is_tracing:
        return False
    is_transformed = getattr(torch._C, "_are_functorch_transforms_active", None)
    return is_transformed is None or is_transformed()
