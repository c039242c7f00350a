"""Compressed files: what they unpack to is limited, and damage is named."""

import gzip
import io
import os
import zlib
from typing import BinaryIO, cast

FREE_BYTES = 64 * 2**20
TIMES_THE_FILE = 100
"""A compressed file may unpack to this many bytes, and this many times its own more: tables of
numbers shrink to a third, sparse ones to a fiftieth."""


def check_unpacked(path: str, n_bytes: int) -> None:
    """Refuse a compressed file that unpacks to far more bytes than it has."""
    most = most_unpacked(path)
    if n_bytes > most:
        raise ValueError(
            f"{path} must not unpack to more than {most / 2**20:.0f} MiB, {TIMES_THE_FILE} times "
            f"its size and {FREE_BYTES // 2**20} MiB; it does. If that is right, unpack it first "
            "and read what comes out."
        )


def most_unpacked(path: str) -> int:
    """Return the number of bytes that a compressed file may unpack to."""
    return FREE_BYTES + TIMES_THE_FILE * os.path.getsize(path)


def open_unpacked(path: str) -> BinaryIO:
    """Return a stream of the bytes in a file, unpacked if its name ends in ``.gz``."""
    if not path.lower().endswith(".gz"):
        return open(path, "rb")
    return cast(BinaryIO, io.BufferedReader(_Unpacked(path), 2**18))


class _Unpacked(io.RawIOBase):
    """The bytes in a gzip file, counted."""

    def __init__(self, path: str):
        self.path, self.file, self.n_bytes = path, gzip.GzipFile(path, "rb"), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        try:
            part = self.file.read(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            reason = str(error).rstrip(".")
            raise ValueError(
                f"{self.path} must be a whole gzip file; it is cut short or damaged ({reason})."
            ) from None
        self.n_bytes += len(part)
        check_unpacked(self.path, self.n_bytes)
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self.file.close()
        super().close()
