"""The PNG format of images of 8-bit colours: a header, then filtered rows, packed with zlib."""

import struct
import zlib

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 3
N_FILTERS = 5
"""None, left, above, the mean of both, and Paeth's choice."""


def parse_png(content: bytes, *, name: str) -> np.ndarray:
    """Return the pixels of an RGB image.

    Parameters
    ----------
    content : bytes
        The file: 8 bits for each colour, not interlaced.
    name : str
        Name of the file in error messages.

    Returns
    -------
    ndarray of shape (height, width, 3), uint8
    """
    if not content.startswith(SIGNATURE):
        raise ValueError(f"{name} must start as a PNG file; it starts with {content[:8]!r}.")
    try:
        chunks = _chunks(content)
        width, height, *form = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
        packed = zlib.decompress(chunks[b"IDAT"])
    except (KeyError, struct.error, zlib.error) as error:
        raise ValueError(f"{name} is damaged or cut short ({error!r}).") from error
    if form != [8, 2, 0, 0, 0]:
        raise ValueError(
            f"{name} must have 8 bits, RGB and no interlacing, [8, 2, 0, 0, 0]; it has {form}."
        )
    wanted = height * (1 + COLOURS * width)
    if len(packed) != wanted:
        raise ValueError(f"{name} must unpack to {wanted} bytes; it unpacks to {len(packed)}.")
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(height, 1 + COLOURS * width)
    if (rows[:, 0] >= N_FILTERS).any():
        raise ValueError(f"{name} must have filters 0 to 4; it has {int(rows[:, 0].max())}.")
    return _unfiltered(rows[:, 0], rows[:, 1:].reshape(height, width, COLOURS))


def _chunks(content: bytes) -> dict[bytes, bytes]:
    """Return the content of all chunks by kind, those of one kind joined."""
    joined: dict[bytes, list[bytes]] = {}
    place = len(SIGNATURE)
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        joined.setdefault(kind, []).append(content[place + 8 : place + 8 + length])
        place += length + 12  # the length, the kind and a checksum
    return {kind: b"".join(parts) for kind, parts in joined.items()}


def _unfiltered(kinds: np.ndarray, filtered: np.ndarray) -> np.ndarray:
    """Return pixels (height, width, 3) from filtered ones and the filter (height,) of each row.

    A pixel is what its filter guesses from the pixels to the left, above and in the corner between,
    plus the stored value. So all pixels of a diagonal are found at once, after those before it.
    """
    height, width, _ = filtered.shape
    stored = filtered.reshape(-1, COLOURS)
    known = np.zeros(((height + 1) * (width + 1), COLOURS), dtype=np.int16)  # a border of zeros
    for diagonal in range(height + width - 1):
        first, last = max(0, diagonal - width + 1), min(height - 1, diagonal)
        n_rows = last - first + 1
        here = width + 2 + diagonal + first * width

        def along(start: int, n_rows: int = n_rows) -> slice:
            return slice(start, start + (n_rows - 1) * width + 1, width)

        left, above, corner = (known[along(here - back)] for back in (1, width + 1, width + 2))
        guesses = np.stack(
            [
                np.zeros_like(left),
                left,
                above,
                (left + above) // 2,
                _nearest(left, above, corner),
            ]
        )
        guess = guesses[kinds[first : last + 1], np.arange(n_rows)]
        start, step = diagonal + first * (width - 1), max(1, width - 1)
        value = stored[start : start + (n_rows - 1) * step + 1 : step]
        known[along(here)] = (value + guess) & 255
    return known.reshape(height + 1, width + 1, COLOURS)[1:, 1:].astype(np.uint8)


def _nearest(left: np.ndarray, above: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return what is nearest to left + above - corner (Paeth); ties go in this order."""
    by_left, by_above = abs(above - corner), abs(left - corner)
    by_corner = abs(left + above - 2 * corner)
    is_left = (by_left <= by_above) & (by_left <= by_corner)
    return np.where(is_left, left, np.where(by_above <= by_corner, above, corner))
