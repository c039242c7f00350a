"""A damaged sparse matrix is refused wherever one comes in, before compiled code reads it."""

import numpy as np
import pytest
import scipy.sparse as sp

import walkconv
from walkconv._checks import check_sparse


def with_parts(matrix, **parts):
    """Return a matrix with other arrays, as a damaged file or a careless program leaves it."""
    for name, values in parts.items():
        setattr(matrix, name, values)
    return matrix


def csr(indices=(0, 1, 2), indptr=(0, 1, 2, 3), kind=sp.csr_array):
    return with_parts(
        kind(np.eye(3)), indices=np.array(indices, np.int32), indptr=np.array(indptr, np.int32)
    )


def bsr(indices):
    return with_parts(sp.bsr_array(np.eye(4), blocksize=(2, 2)), indices=np.array(indices))


def coo(row):
    matrix = sp.coo_array(np.eye(3))
    matrix.coords = (np.array(row), matrix.coords[1])
    return matrix


def lil():
    matrix = sp.lil_array(np.eye(3))
    matrix.rows[1] = [7]
    return matrix


DAMAGED = {
    "outside": csr(indices=(0, 1, 10**6)),
    "far": csr(indices=(0, 1, 2**31 - 1)),
    "negative": csr(indices=(0, -5, 2)),
    "CSC": csr(indices=(0, 1, 3), kind=sp.csc_array),
    "CSR of the old kind": csr(indices=(0, 1, 3), kind=sp.csr_matrix),
    "BSR": bsr([0, 2]),
    "BSR, negative": bsr([0, -1]),
    "BSR of empty blocks": with_parts(bsr([0, 1]), data=np.ones((2, 0, 2))),
    "BSR of other blocks": with_parts(bsr([0, 1]), data=np.ones((2, 3, 3))),
    "COO": coo([0, 1, 3]),
    "COO, negative": coo([0, 1, -1]),
    "LIL": lil(),
    "indptr too far": csr(indptr=(0, 1, 2, 9)),
    "indptr falls": csr(indptr=(0, 3, 1, 3)),
    "indptr too short": csr(indptr=(0, 1, 3)),
    "indptr negative": csr(indptr=(0, -1, 2, 3)),
    "unsigned, outside": with_parts(csr(), indices=np.array([0, 1, 3], np.uint8)),
    "indices of floats": with_parts(csr(), indices=np.array([0.0, 1.0, 2.0])),
    "too few values": with_parts(csr(), data=np.ones(2)),
}
SOUND = [
    kind(np.arange(9.0).reshape(3, 3))
    for kind in (
        *(sp.csr_array, sp.csc_array, sp.bsr_array, sp.coo_array, sp.lil_array, sp.dok_array),
        *(sp.dia_array, sp.csr_matrix, sp.csc_matrix),
    )
]


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_matrix_is_no_graph(damage):
    with pytest.raises(ValueError, match="must be a whole sparse matrix"):
        walkconv.select_neighbors(DAMAGED[damage], n_neighbors=2)


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_matrix_is_no_table(damage):
    X = DAMAGED[damage]
    for use in (
        walkconv.correlation_graph,
        walkconv.knn_graph,
        lambda X: walkconv.GraphCNNRegressor("FC2", max_iter=1).fit(X, np.arange(X.shape[0])),
    ):
        with pytest.raises(ValueError, match="must be a whole sparse matrix"):
            use(X)


def test_a_damaged_matrix_is_not_predicted():
    model = walkconv.GraphCNNRegressor("FC2", max_iter=1, n_members=1)
    model.fit(np.eye(3), np.arange(3.0))
    with pytest.raises(ValueError, match="X must be a whole sparse matrix"):
        model.predict(DAMAGED["outside"])


def test_a_sparse_target_is_refused():
    model = walkconv.GraphCNNRegressor("FC2", max_iter=1)
    with pytest.raises(TypeError, match=r"y must be a dense array; got .* Call y\.toarray"):
        model.fit(np.eye(3), csr(indices=(0, 1, 10**6), kind=sp.csc_array))


@pytest.mark.parametrize("matrix", SOUND, ids=lambda m: type(m).__name__)
def test_a_sound_matrix_of_every_format_passes(matrix):
    check_sparse(matrix, "X")
    check_sparse(type(matrix)((3, 3)), "X")


@pytest.mark.parametrize("format", ["csr", "csc", "bsr", "coo"])
def test_a_damaged_npz_is_refused(tmp_path, format):
    path = tmp_path / "evil.npz"
    parts = {"format": np.array(format.encode()), "shape": np.array([3, 3])}
    bad = np.array([0, 1, 10**6])
    if format == "coo":
        np.savez(path, **parts, data=np.ones(3), row=bad, col=np.arange(3))
    else:
        data = np.ones((3, 1, 1)) if format == "bsr" else np.ones(3)
        np.savez(path, **parts, data=data, indices=bad, indptr=np.arange(4))
    with pytest.raises(ValueError, match=r"evil\.npz must be (a whole sparse matrix|as scipy)"):
        walkconv.io.read_graph(path)
    np.savez(path, indices=np.array([0, -5, 2]), indptr=np.arange(4))
    with pytest.raises(ValueError, match=r"evil\.npz must be a whole sparse matrix"):
        walkconv.io.read_graph(path)


def test_a_matrix_market_file_that_leaves_its_shape_is_refused(tmp_path):
    path = tmp_path / "evil.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 1\n1 4 1.0\n")
    with pytest.raises(ValueError, match=r"evil\.mtx must be a Matrix Market file"):
        walkconv.io.read_graph(path)
