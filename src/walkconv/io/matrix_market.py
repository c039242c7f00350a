"""Matrix Market files: a banner, comments, a line of sizes, and the entries.

Read here and not by `scipy.io.mmread`, which crashes on a line that lacks a number.
"""

import warnings
from io import BytesIO

import numpy as np
import scipy.sparse as sp

from walkconv._checks import closest

BANNER = "%%matrixmarket"
FIELDS = ("real", "double", "integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
MOST_EMPTY_NODES = 10**6


def parse_matrix_market(content: bytes, path: str) -> sp.csr_array:
    r"""Return the matrix in the text of a Matrix Market file; errors call it `path`.

    Examples
    --------
    >>> from walkconv.io.matrix_market import parse_matrix_market
    >>> text = b"%%MatrixMarket matrix coordinate real symmetric\n% two nodes\n2 2 1\n2 1 1.5\n"
    >>> parse_matrix_market(text, "a.mtx").toarray()
    array([[0. , 1.5],
           [1.5, 0. ]])
    """
    try:
        return _parse(content, path)
    except _MatrixMarketError as error:
        raise ValueError(f"{path} must be a Matrix Market file; {error}") from None


class _MatrixMarketError(Exception):
    """A text is no Matrix Market file; the message says why."""


def check_size(shape: tuple[int, ...], n_bytes: int, path: str) -> None:
    """Refuse a matrix that would take far more memory than its file."""
    most = MOST_EMPTY_NODES + n_bytes
    if max(shape) > most:
        raise ValueError(
            f"{path} must have at most {most} rows and columns, one million and one more for each "
            f"byte; it has shape {tuple(shape)}. Leave out nodes without edges."
        )


def _parse(content: bytes, path: str) -> sp.csr_array:
    first, _, rest = content.partition(b"\n")
    form, field, symmetry = _read_banner(first)
    while rest[:1] in (b"%", b"\n", b"\r") and rest:
        rest = rest.partition(b"\n")[2]
    line, _, body = rest.partition(b"\n")
    sizes = _read_sizes(line, 3 if form == "coordinate" else 2)
    shape = sizes[0], sizes[1]
    check_size(shape, len(content), path)
    if symmetry != "general" and shape[0] != shape[1]:
        raise _MatrixMarketError(f"a {symmetry} matrix must be square, but it has shape {shape}.")
    if form == "array":
        return sp.csr_array(_dense(body, shape, symmetry))
    width = 2 if field == "pattern" else 3
    entries = _read_numbers(body, sizes[2], width)
    ends = entries[:, :2] - 1
    if (ends < 0).any() or (ends >= shape).any() or (ends != np.rint(ends)).any():
        raise _MatrixMarketError(
            f"its rows and columns must be whole numbers from 1 to {shape[0]} and {shape[1]}."
        )
    row, column = ends.T.astype(np.int64)
    value = entries[:, 2] if width == 3 else np.ones(len(entries))
    matrix = sp.csr_array((value, (row, column)), shape=shape)
    if symmetry == "general":
        return matrix
    is_off = row != column
    mirrored = value[is_off] if symmetry == "symmetric" else -value[is_off]
    return matrix + sp.csr_array((mirrored, (column[is_off], row[is_off])), shape=shape)


def _read_banner(line: bytes) -> tuple[str, str, str]:
    words = line.decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[:2] != [BANNER, "matrix"]:
        raise _MatrixMarketError(
            "its first line must be like '%%MatrixMarket matrix coordinate real general'."
        )
    for word, known in zip(words[2:], (("coordinate", "array"), FIELDS, SYMMETRIES), strict=True):
        if word not in known:
            raise _MatrixMarketError(
                f"its first line must name one of {', '.join(known)}; got {word[:40]!r}."
                f"{closest(word, known)}"
            )
    if words[2:4] == ["array", "pattern"]:
        raise _MatrixMarketError("an array must have values, but it is a pattern.")
    return words[2], words[3], words[4]


def _read_sizes(line: bytes, n_sizes: int) -> list[int]:
    words = line.split()
    # Twelve digits are more than any file has bytes.
    if len(words) != n_sizes or not all(word.isdigit() and len(word) < 13 for word in words):
        raise _MatrixMarketError(
            f"after the comments must be a line of {n_sizes} whole numbers, its sizes; got "
            f"{line[:40].decode('ascii', 'replace')!r}."
        )
    return [int(word) for word in words]


def _read_numbers(body: bytes, n_rows: int, n_columns: int) -> np.ndarray:
    """Return the numbers (n_rows, n_columns) in the lines of a text."""
    if n_rows * n_columns > len(body):
        raise _MatrixMarketError(f"it announces {n_rows} entries in {len(body)} bytes.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a text without numbers
            numbers = np.loadtxt(BytesIO(body), comments="%", ndmin=2, encoding="ascii")
    except (ValueError, OverflowError) as error:
        raise _MatrixMarketError(f"its entries cannot be read: {error}") from None
    if numbers.size == 0:
        numbers = np.empty((0, n_columns))
    if numbers.shape != (n_rows, n_columns):
        raise _MatrixMarketError(
            f"there must be {n_rows} lines of {n_columns} number(s), as announced; there are "
            f"{numbers.shape[0]} of {numbers.shape[1]}."
        )
    return numbers


def _dense(body: bytes, shape: tuple[int, int], symmetry: str) -> np.ndarray:
    """Return a matrix that is listed value by value, column after column."""
    n = shape[0]
    if symmetry == "general":
        return _read_numbers(body, shape[0] * shape[1], 1).reshape(shape[::-1]).T
    is_skew = symmetry == "skew-symmetric"
    matrix = np.zeros(shape)
    column, row = np.triu_indices(n, k=int(is_skew))  # the lower half, column after column
    matrix[row, column] = _read_numbers(body, len(row), 1)[:, 0]
    mirrored = np.tril(matrix, -1).T
    return matrix - mirrored if is_skew else matrix + mirrored
