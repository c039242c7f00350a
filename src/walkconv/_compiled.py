"""How loops are compiled: machine code kept on disk, run without the GIL."""

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


def compiled(loop: Callable) -> Callable:
    """Compile a loop with numba; where no place for a cache can be written, once per process."""
    try:
        return numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError:
        return numba.njit(nogil=True)(loop)


def _prefetch(typing_context: Any, array: Any, place: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        offset = context.cast(builder, arguments[1], signature.args[1], types.intp)
        address = builder.bitcast(builder.gep(view.data, [offset]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", (cgutils.voidptr_t,), kind)
        to_read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(call, [address, to_read, keep, data])
        return context.get_dummy_value()

    return types.void(array, place), generate


prefetch: Any = intrinsic(_prefetch)
"""``prefetch(array, place)``, inside loops: ask for that cache line, and do not wait for it."""
