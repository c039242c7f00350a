"""Finished rows in a file that grows: a selection that was killed continues from it.

The file begins with a line of JSON that says what it belongs to; then come blocks, each with the
number of its rows and a checksum. A process killed while writing leaves the last block cut short:
that is noticed, and its rows are done anew.
"""

import hashlib
import json
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._files import remove_leftovers, whole_file
from walkconv.walks.loops import BY_CHANCE, BY_DISPLACEMENT, BY_INDEX
from walkconv.walks.ties import TieRule

RULES = {BY_INDEX: "index", BY_CHANCE: "random", BY_DISPLACEMENT: "positions"}
KIND = "walkconv neighbors, unfinished"
HEAD = struct.Struct("<QI")


class BlockFile:
    """The finished rows of one selection.

    Parameters
    ----------
    path : path
        The file; it need not exist yet. That of another selection is refused.
    identity : dict
        What the neighbours depend on: plain values.
    """

    def __init__(self, path: str | os.PathLike, identity: dict[str, Any]):
        self.path, self.identity = Path(path), identity
        remove_leftovers(self.path)
        if self.path.exists():
            self._refuse_another()
        else:
            with whole_file(self.path) as part:
                part.write_bytes(self._first_line())

    def read_into(self, index: np.ndarray, visits: np.ndarray) -> np.ndarray:
        """Fill the finished rows of index and visits; return which they are (n_nodes,)."""
        is_done = np.zeros(len(index), dtype=bool)
        n_columns = index.shape[1]
        with self.path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            file.readline()
            whole = file.tell()
            while len(head := file.read(HEAD.size)) == HEAD.size:
                n_rows, checksum = HEAD.unpack(head)
                n_bytes = 8 * n_rows * (1 + 2 * n_columns)
                if n_bytes > size - file.tell():
                    break
                content = file.read(n_bytes)
                if zlib.crc32(content) != checksum:
                    break
                rows = np.frombuffer(content, dtype="<i8", count=n_rows)
                values = content[8 * n_rows :]
                half = len(values) // 2
                index[rows] = np.frombuffer(values[:half], dtype="<i8").reshape(-1, n_columns)
                visits[rows] = np.frombuffer(values[half:], dtype="<f8").reshape(-1, n_columns)
                is_done[rows] = True
                whole = file.tell()
            file.truncate(whole)
        return is_done

    def append(self, rows: np.ndarray, index: np.ndarray, visits: np.ndarray) -> None:
        """Add finished rows (n_rows,), their index and their visits (n_rows, n_neighbors)."""
        content = b"".join(
            np.ascontiguousarray(part, dtype=kind).tobytes()
            for part, kind in ((rows, "<i8"), (index, "<i8"), (visits, "<f8"))
        )
        with self.path.open("ab") as file:
            file.write(HEAD.pack(len(rows), zlib.crc32(content)) + content)
            file.flush()
            os.fsync(file.fileno())

    def _first_line(self) -> bytes:
        return json.dumps({"kind": KIND, **self.identity}).encode() + b"\n"

    def _refuse_another(self) -> None:
        with self.path.open("rb") as file:
            line = file.readline(2**20)
        try:
            theirs = json.loads(line)
        except ValueError:
            theirs = None
        if not isinstance(theirs, dict) or theirs.pop("kind", None) != KIND:
            raise ValueError(
                f"The checkpoint {self.path.name} must be a file of an unfinished selection of "
                "neighbours, or not exist yet; it is something else. Choose another."
            )
        for name in sorted({*theirs, *self.identity}):
            was, now = theirs.get(name), self.identity.get(name)
            if was != now:
                is_digest = name in ("graph", "positions")
                change = "has changed" if is_digest else f"was {was} and is {now}"
                raise ValueError(
                    f"The checkpoint {self.path.name} is of another selection: {name} {change}. "
                    "Call with the same arguments, or remove the file, or choose another."
                )


def identify(graph: sp.csr_array, n_ranked: int, n_steps: int, rule: TieRule) -> dict[str, Any]:
    """Return what the neighbours depend on, the arrays as digests."""
    return {
        "graph": _digest(graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data),
        "n_neighbors": n_ranked,
        "n_steps": n_steps,
        "rule of ties": RULES[rule.kind],
        "seed of ties": int(rule.seed),
        "positions": _digest(rule.places),
    }


def _digest(*arrays: np.ndarray) -> str:
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()
