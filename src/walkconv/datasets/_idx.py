"""The idx format of MNIST: a magic number, the sides, then the bytes in C order."""

import math
import struct

import numpy as np

UNSIGNED_BYTES = 0x08


def parse_idx(content: bytes, *, n_axes: int, name: str) -> np.ndarray:
    """Return the array of unsigned bytes that an idx file holds.

    Parameters
    ----------
    content : bytes
        The unpacked file.
    n_axes : int
        Number of axes it must have: 3 for images, 1 for labels.
    name : str
        Name of the file in error messages.

    Returns
    -------
    ndarray of `n_axes` axes, uint8
    """
    n_header = 4 + 4 * n_axes
    if len(content) < n_header:
        raise ValueError(
            f"{name} must start with {n_header} bytes of header; it has {len(content)} bytes."
        )
    magic = (UNSIGNED_BYTES << 8) | n_axes
    found, *sides = struct.unpack(f">{1 + n_axes}I", content[:n_header])
    if found != magic:
        raise ValueError(
            f"{name} must start with the magic number {magic:#010x} (unsigned bytes, "
            f"{n_axes} axes); got {found:#010x}."
        )
    wanted = n_header + math.prod(sides)
    if len(content) != wanted:
        raise ValueError(
            f"{name} must have {wanted} bytes for its shape {tuple(sides)}; it has {len(content)}."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=n_header).reshape(sides).copy()
