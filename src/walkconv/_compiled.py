"""How loops are compiled: machine code kept on disk, run without the GIL."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


def compiled(loop: Callable, *, inline: bool = False) -> Callable:
    """Compile a loop with numba; where no place for a cache can be written, once per process."""
    try:
        return numba.njit(nogil=True, cache=True, forceinline=inline)(loop)
    except RuntimeError:
        return numba.njit(nogil=True, forceinline=inline)(loop)


inlined = partial(compiled, inline=True)
"""Compile what a loop calls row by row into the loop itself: a call takes longer than it seems."""


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


def _borrow(typing_context: Any, value: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.Tuple | types.UniTuple):
        parts = cgutils.unpack_tuple(builder, value, len(kind))
        bare = [
            _without_owner(context, builder, *part) for part in zip(kind.types, parts, strict=True)
        ]
        return context.make_tuple(builder, kind, bare)
    return value


borrowed: Any = intrinsic(_borrow)
"""``borrowed(arrays)``, inside loops: the same arrays, alone or in tuples, their uses not counted.

Counting who uses an array takes some twenty cycles each time one is handed on or cut, which shows
in a loop that does little else. Only for what the caller keeps, such as arguments: an array made
inside a loop may be freed as soon as it is borrowed.
"""
