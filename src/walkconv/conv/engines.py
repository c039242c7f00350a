"""Which engine computes the convolution, and why."""

import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

import torch

from walkconv import _native
from walkconv._warnings import warn_user
from walkconv.conv import native, tiled

WITHOUT_LIBRARY = "not built: Python and numpy; install a C compiler, then walkconv again"
VARIABLE = "WALKCONV_ENGINE"
"""Environment variable that forces an engine: "torch" or an instruction set of the kernel."""


@dataclass(frozen=True)
class Choice:
    """An engine with the reason for it.

    Attributes
    ----------
    name : str
        "torch", or an instruction set of the native kernel.
    engine : object with ``forward`` and ``backward``
        The module `tiled` or a `NativeEngine`.
    reason : str
        Why this one.
    """

    name: str
    engine: Any
    reason: str


@cache
def choose() -> Choice:
    """Return the engine for float32 and float64 on the CPU; warn once if it is the slow one."""
    asked = os.environ.get(VARIABLE, "auto").lower()
    supported = native.supported()
    known = ("auto", "torch", *native.INSTRUCTION_SETS)
    if asked not in known:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(known)}; got {asked!r}.")
    if asked == "torch":
        return Choice("torch", tiled, f"forced by {VARIABLE}")
    if asked in supported:
        return Choice(asked, native.NativeEngine(asked), f"forced by {VARIABLE}")
    if asked != "auto":
        raise ValueError(
            f"{VARIABLE} must be an engine that was built and that this machine can run "
            f"({', '.join(('torch', *supported))}); got {asked!r}."
        )
    if supported:
        best = native.preferred()
        return Choice(best, native.NativeEngine(best), "does best on this machine")
    reason = "the native kernel was not built at installation, or was built from older sources"
    warn_user(
        f"The convolution runs several times slower than it could: {reason}. "
        "Install a C compiler, then walkconv again.",
        RuntimeWarning,
    )
    return Choice("torch", tiled, reason)


def show_config() -> None:
    """Print which engine computes the convolution, with which instruction set, and why.

    Examples
    --------
    >>> import walkconv
    >>> walkconv.show_config()  # doctest: +ELLIPSIS
    walkconv ...
    """
    choice = choose()
    is_native = choice.name != "torch"
    threads = "torch's own pool" if native.openmp() or not is_native else "a pool per call"
    lines = {
        "engine": f"native kernel, {choice.name}" if is_native else "torch",
        "why": choice.reason,
        "built and supported here": ", ".join(native.supported()) or "no native kernel",
        "loops over graphs": "native" if _native.library() else WITHOUT_LIBRARY,
        "threads": f"{torch.get_num_threads()}, {threads}",
        "other devices and types": "torch",
        "torch": torch.__version__,
        "python": sys.version.split()[0],
    }
    print(f"walkconv {version('walkconv')}")
    for key, value in lines.items():
        print(f"  {key:26}{value}")
