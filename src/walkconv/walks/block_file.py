"""Finished rows in a file that grows: a selection that was killed continues from it.

The file begins with a line of JSON that says what it belongs to. Blocks follow, each with the
number of its rows and a digest of the line and of the block. If a process is killed while it
writes, the last block is incomplete: this is noticed, and its rows are computed again. So are the
rows of a block that was changed, or that belongs to another selection.
"""

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._files import only_user, whole_file
from walkconv._identity import DATA, first_change
from walkconv.walks.ranking import BY_CHANCE, BY_DISPLACEMENT, BY_INDEX, TieRule

RULES = {BY_INDEX: "index", BY_CHANCE: "random", BY_DISPLACEMENT: "positions"}
KIND = "walkconv neighbors, unfinished"
FORMAT = 2
HEAD = struct.Struct("<Q32s")
"""Before each block: the number of its rows, and its digest."""
LONGEST_LINE = 2**20


class BlockFile:
    """The finished rows of one selection.

    Parameters
    ----------
    path : path
        The file, which need not exist yet. The file of another selection is refused.
    identity : dict
        What the neighbours depend on, as plain values; digests are named as `_identity` says.
    """

    def __init__(self, path: str | os.PathLike, identity: dict[str, Any]):
        self.path, self.identity = Path(path), identity
        if self.path.exists():
            self._refuse_another()
        else:
            # Whole or not at all: half a first line would be refused as a file of something else.
            with whole_file(self.path) as part:
                part.write_bytes(self._first_line())

    @classmethod
    @contextmanager
    def open(cls, path: str | os.PathLike, identity: dict[str, Any]) -> Iterator["BlockFile"]:
        """Yield a file that no other call uses inside the block."""
        with only_user(path):
            yield cls(path, identity)

    def read_into(self, index: np.ndarray, visits: np.ndarray) -> np.ndarray:
        """Fill the finished rows of index and visits; return which they are (n_nodes,)."""
        is_done = np.zeros(len(index), dtype=bool)
        n_columns = index.shape[1]
        with self.path.open("r+b") as file:
            size = os.fstat(file.fileno()).st_size
            file.readline()
            whole = file.tell()
            while len(head := file.read(HEAD.size)) == HEAD.size:
                n_rows, digest = HEAD.unpack(head)
                # In a damaged file the number of rows may be anything: never read that much.
                n_bytes = 8 * n_rows * (1 + 2 * n_columns)
                if n_bytes > size - file.tell():
                    break
                content = file.read(n_bytes)
                if self._digest(content) != digest:
                    break
                block = _parts(content, n_rows, n_columns)
                if not _is_possible(*block, len(index)):
                    break
                rows = block[0]
                index[rows], visits[rows], is_done[rows] = block[1], block[2], True
                whole = file.tell()
            # Only lengths say where blocks begin, so nothing after a bad block can be found.
            file.truncate(whole)
        return is_done

    def append(self, rows: np.ndarray, index: np.ndarray, visits: np.ndarray) -> None:
        """Add finished rows (n_rows,), their index and their visits (n_rows, n_neighbors)."""
        content = b"".join(
            np.ascontiguousarray(part, dtype=kind).tobytes()
            for part, kind in ((rows, "<i8"), (index, "<i8"), (visits, "<f8"))
        )
        with self.path.open("ab") as file:
            file.write(HEAD.pack(len(rows), self._digest(content)) + content)
            # On the disk: the rows also survive a crash of the machine.
            file.flush()
            os.fsync(file.fileno())

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(hashlib.sha256(self._first_line()).digest() + content).digest()

    def _first_line(self) -> bytes:
        return json.dumps({"kind": KIND, "format": FORMAT, **self.identity}).encode() + b"\n"

    def _refuse_another(self) -> None:
        with self.path.open("rb") as file:
            line = file.readline(LONGEST_LINE)
        try:
            theirs = json.loads(line)
        except (ValueError, RecursionError):
            theirs = None
        if not isinstance(theirs, dict) or theirs.pop("kind", None) != KIND:
            raise ValueError(
                f"The checkpoint {self.path.name} must be a file of an unfinished selection of "
                "neighbours, or not exist yet; it is something else. Choose another path."
            )
        change = first_change(theirs, {"format": FORMAT, **self.identity})
        if change is not None:
            raise ValueError(
                f"The checkpoint {self.path.name} belongs to another selection: {change}. "
                "Use the same arguments, or remove the file, or choose another path."
            )


def _parts(
    content: bytes, n_rows: int, n_columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows (n_rows,), their index and their visits (n_rows, n_columns) of a block."""
    rows, index, visits = np.split(
        np.frombuffer(content, dtype="<i8"), [n_rows, n_rows * (1 + n_columns)]
    )
    return rows, index.reshape(-1, n_columns), visits.view("<f8").reshape(-1, n_columns)


def _is_possible(rows: np.ndarray, index: np.ndarray, visits: np.ndarray, n_nodes: int) -> bool:
    """Tell whether rows and index are nodes: compiled code reads memory where they point."""
    return bool(
        rows.min(initial=0) >= 0
        and rows.max(initial=-1) < n_nodes
        and index.min(initial=-1) >= -1
        and index.max(initial=-1) < n_nodes
        and np.isfinite(visits).all()
        and visits.min(initial=0.0) >= 0
    )


def identify_selection(
    graph: sp.csr_array, n_ranked: int, n_steps: int, rule: TieRule
) -> dict[str, Any]:
    """Return what the neighbours depend on, the arrays as digests."""
    # In 64 bits: a graph with indices of 32 bits is the same graph.
    indptr, indices = graph.indptr.astype(np.int64), graph.indices.astype(np.int64)
    return {
        f"{DATA}graph": _digest(indptr, indices, graph.data),
        "n_neighbors": n_ranked,
        "n_steps": n_steps,
        "rule of ties": RULES[rule.kind],
        "seed of ties": int(rule.seed),
        f"{DATA}positions": _digest(rule.places),
    }


def _digest(*arrays: np.ndarray) -> str:
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.hexdigest()
