"""Valid files to start from: one or more of each kind, as bytes.

A new input, or a new field of a file, joins the fuzzing here: as one more example in the function
of its kind, or as a new function with a line in `BASES`, and one in `MUTATORS` and in `TARGETS`.
A field joins by an example whose fit writes it. The worker makes the files itself, so that what it
reads was written under its own settings.
"""

import gzip
import io
import json
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample

X = np.random.default_rng(0).normal(size=(40, 6)).cumsum(axis=1)
Y = 100 + 3 * X[:, 2] - X[:, 5]
CHECKPOINTED = {"architecture": "C2-FC3", "n_neighbors": 3, "n_members": 2, "max_iter": 3}
CHECKPOINTED |= {"batch_size": 20, "early_stopping": 5, "random_state": 0}
CHOOSING = {"n_members": 2, "max_iter": 2, "batch_size": 20, "random_state": 0}
"""A fit whose checkpoint holds the choice of a search."""
COMPARED = {"architecture": "C2", "n_neighbors": 3, "max_iter": 1, "random_state": 0}
GRID = (8, 9)
SELECTED = {"n_neighbors": 5, "n_steps": 2}


@cache
def models():
    """Return the files of fitted models of several sorts."""
    small = {"n_neighbors": 3, "max_iter": 1, "random_state": 0, "n_members": 1}
    graphs = [GraphSample(walkconv.grid_graph((n,)), tags=np.arange(n) % 3) for n in range(3, 13)]
    labels = np.where(X[:, 3] > 0, "high", "low")
    frame = pl.DataFrame(X, schema=list("abcdef"))
    return [
        _saved(GraphCNNRegressor("C3-P2-C2-FC4", **small).fit(frame, Y, calibrate=True)),
        _saved(
            GraphCNNClassifier("C3-FC4", graph=walkconv.grid_graph((6,)), **small).fit(X, labels)
        ),
        _saved(GraphCNNClassifier("C3-P2-C2-G-FC4", **small).fit(graphs, np.arange(10) % 2)),
        _saved(GraphCNNClassifier(standardize="relevance", **small).fit(np.abs(X), labels)),
        _saved(GraphCNNRegressor("C2", order=np.arange(12.0).reshape(6, 2), **small).fit(X, Y)),
        _saved(GraphCNNRegressor("C2-FC3", **small).fit(mixed(), Y)),
        _saved(
            GraphCNNRegressor(
                "C2", loss=("quantile", 0.9), scoring="r2", early_stopping=2, **small
            ).fit(X, Y)
        ),
        _saved(GraphCNNRegressor("C2", loss="poisson", precision="bfloat16", **small).fit(X, Y)),
        _saved(
            GraphCNNClassifier("C2", loss=("cross_entropy", 0.1), **small).fit(
                mixed(), labels, calibrate=True
            )
        ),
        _saved(GraphCNNRegressor(max_iter=2, n_members=1, random_state=0).fit(frame, Y)),
    ]


def mixed():
    """Return a table with every kind of column, 40 rows."""
    many = [f"level{i % 4}" if i % 2 else f"rare{i // 3}" for i in range(40)]
    columns = {"number": X[:, 0], "sort": ["a", "b", None, "b"] * 10, "many": many}
    dates = pd.date_range("2020-01-01", periods=40, freq="10D")
    sizes = pd.Categorical(["small", "large"] * 20, categories=["small", "large"], ordered=True)
    return pd.DataFrame(columns | {"date": dates, "size": sizes})


@cache
def fit_checkpoints():
    """Return the checkpoints of a fit that was stopped early and of one that was not."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"

        def keep(_):
            if path.exists():
                found.append(path.read_bytes())

        GraphCNNRegressor(**CHECKPOINTED).fit(X, Y, checkpoint=path, after_epoch=keep)
        found.append(path.read_bytes())
        path.unlink()
        GraphCNNRegressor(**CHOOSING).fit(X, Y, checkpoint=path)
        return [found[0], found[3], found[-1], path.read_bytes()]


def selection_checkpoints():
    """Return a finished file of a selection in several blocks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "c"
        graph = walkconv.grid_graph(GRID)
        walkconv.select_neighbors(graph, checkpoint=path, block_size=20, **SELECTED)
        return [path.read_bytes()]


def tables():
    """Return tables as CSV."""
    names = ["height", "width", "sort", "price"]
    rows = [f"{i / 3:.4f},{i},{'ab'[i % 2]},{i * i}" for i in range(12)]
    text = "\n".join([",".join(names), *rows]) + "\n"
    edges = "source,target,weight\nada,bob,1.5\nbob,cyd,-2\ncyd,ada,1\n"
    quoted = 'name,"a ""b""",c\n"x, y",1e-3,-.5\n"two\nlines",NA,7\n'
    return [text.encode(), edges.encode(), quoted.encode(), b"a\n1\n"]


def tables_with_tabs():
    """Return tables whose separator is a tab."""
    return [each.replace(b",", b"\t") for each in tables()]


def collections():
    """Return collections of graphs with a class each."""
    one = "2\n3 1\n0 1 1\n1 2 0 2\n0 1 1\n2 0\n1 1 1\n1 1 0\n"
    return [one.encode(), b"1\n2 5\n0 1 1 0.5 -1\n3 1 0 1e3 2\n"]


def gzipped():
    """Return a table as CSV in gzip."""
    return [gzip.compress(each, mtime=0) for each in tables()]


def edge_texts():
    """Return lists of edges as text."""
    return [b"# edges\n0 1\n1 2\n2 0\n", b"ada bob 2\nbob cyd 1.5\n", b"1\t2\n2\t3\n"]


def matrix_markets():
    """Return Matrix Market files."""
    real = "%%MatrixMarket matrix coordinate real general\n4 4 3\n1 2 1.5\n2 3 -2\n3 4 1e3\n"
    dense = "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n"
    symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n"
    return [real.encode(), dense.encode(), symmetric.encode()]


def npz_tables():
    """Return tables as npz."""
    return [
        _npz(X=X, feature_names=np.array(list("abcdef")), y=Y),
        _npz(np.savez_compressed, X=X.astype(np.float32)),
    ]


def npz_graphs():
    """Return graphs as npz."""
    graph = walkconv.grid_graph((3, 3))
    found = [_npz(indptr=graph.indptr, indices=graph.indices, data=graph.data)]
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        file = io.BytesIO()
        sp.save_npz(file, sp.csr_matrix(graph).asformat(kind))
        found.append(file.getvalue())
    return found


def parquets():
    """Return tables as Parquet."""
    file = io.BytesIO()
    columns = {"a": [1.5, 2.5, None], "b": [True, False, None], "sort": ["x", "y", "x"]}
    pl.DataFrame({**columns, "d": [1, 2, 3]}).write_parquet(file)
    return [file.getvalue()]


def stored_tables():
    """Return tables as Parquet that are read in blocks."""
    found = []
    for kind in (pl.Float64, pl.Float32):
        file = io.BytesIO()
        frame = pl.DataFrame(X[:12, :3], schema=list("abc")).cast(kind)
        frame.with_columns(pl.Series("d", [1, None, 3] * 4), e=pl.col("a") > 0).write_parquet(
            file, row_group_size=5
        )
        found.append(file.getvalue())
    return found


def fits():
    """Return tables of every kind of column, with targets, settings and what is done then."""
    columns = {"a": X[:, 0].tolist(), "b": [None, *X[1:, 1].tolist()], "c": X[:, 2].tolist()}
    words = {"sort": ["u", "v", None, "v"] * 10, "size": ["low", "high"] * 20}
    dates = {"date": [f"20{i + 10}-03-01" for i in range(40)]}
    types = {"size": "category", "date": "datetime64[us]"}
    labels = np.where(X[:, 2] > 0, "yes", "no").tolist()
    quick = {"architecture": "C2-FC2", "n_neighbors": 3}
    cases = [
        {"columns": columns, "y": Y.tolist(), "settings": quick, "do": "interval"},
        {"columns": columns, "y": labels, "settings": quick, "do": "onnx"},
        {"columns": columns | words | dates, "types": types, "y": labels, "do": "report"},
        {"columns": columns | words, "y": Y.tolist(), "weight": [0.0, 1, 2, 3] * 10},
        {"columns": columns, "y": np.abs(Y).tolist(), "settings": {"loss": "poisson"}},
        {"columns": columns, "y": labels, "do": "explain"},
        {"columns": columns, "y": Y.tolist(), "settings": {"loss": ["quantile", 0.9]}},
        {
            "columns": columns,
            "y": labels,
            "settings": {"scoring": "roc_auc", "early_stopping": True, "class_weight": "balanced"},
        },
        {"columns": columns, "y": Y.tolist(), "settings": {"order": "auto"}, "do": "part"},
        {"columns": columns, "y": Y.tolist(), "settings": {"standardize": "relevance"}},
        {"columns": columns, "do": "images"},
    ]
    return [json.dumps(case).encode() for case in cases]


def choosing_fits():
    """Return tables whose architecture is chosen."""
    columns = {name: X[:20, place].tolist() for place, name in enumerate("abc")}
    return [json.dumps({"columns": columns, "y": Y[:20].tolist(), "settings": {}}).encode()]


def summaries():
    """Return what reports are made from, as JSON."""
    labels = np.where(X[:, 3] > 0, "high", "low")
    small = {"n_neighbors": 3, "max_iter": 2, "random_state": 0}
    found = [
        GraphCNNRegressor("C2-FC4", **small).fit(mixed(), Y).summarize(mixed(), Y),
        GraphCNNClassifier("C2-FC4", **small).fit(X, labels).summarize(X, labels),
    ]
    return [json.dumps(each).encode() for each in found]


def comparisons():
    """Return the checkpoint of a comparison."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c")
        walkconv.compare(
            GraphCNNRegressor(**COMPARED), X, Y, n_splits=2, n_repeats=1, checkpoint=path
        )
        return [path.read_bytes()]


def raw_operators():
    """Return arguments of the operators: shapes, types and values."""
    return [
        json.dumps(each).encode()
        for each in (
            {"op": "conv", "x": [2, 5, 3], "index": [5, 2], "weight": [2, 3, 4], "bias": [4]},
            {
                "op": "conv",
                "x": [2, 5, 3],
                "index": [2, 4, 2],
                "weight": [2, 3, 1],
                "scale": [2, 4, 2],
            },
            {"op": "largest", "x": [2, 5, 3], "start": [0, 2, 5], "member": [4, 1, 0, 2, 3]},
        )
    ]


def sparse_matrices():
    """Return the arrays of sparse matrices of every format."""
    matrix = sp.csr_array(np.array([[0, 1.5, 0, 2], [1, 0, 0, 0], [0, 0, 0, 1], [2, 0, 1, 0]]))
    found = []
    for kind in ("csr", "csc", "coo", "bsr"):
        each = matrix.asformat(kind)
        parts = {"row": each.row, "col": each.col} if kind == "coo" else {}
        if kind != "coo":
            parts = {"indptr": each.indptr, "indices": each.indices}
        parts = {name: array.tolist() for name, array in parts.items()}
        parts |= {"format": kind, "shape": [4, 4], "data": each.data.tolist()}
        found.append(json.dumps(parts).encode())
    return found


BASES = {
    "model": models,
    "fit checkpoint": fit_checkpoints,
    "selection checkpoint": selection_checkpoints,
    "damaged model": models,
    "damaged fit checkpoint": fit_checkpoints,
    "damaged selection checkpoint": selection_checkpoints,
    "csv": tables,
    "tsv": tables_with_tabs,
    "csv.gz": gzipped,
    "parts csv": tables,
    "parts csv.gz": gzipped,
    "parts parquet": parquets,
    "txt": edge_texts,
    "mtx": matrix_markets,
    "tu": collections,
    "npz table": npz_tables,
    "npz graph": npz_graphs,
    "parquet": parquets,
    "operator": raw_operators,
    "sparse": sparse_matrices,
    "stored table": stored_tables,
    "fit": fits,
    "choosing fit": choosing_fits,
    "summary": summaries,
    "comparison": comparisons,
    "command": tables,
}
"""What makes the valid files, by the kind of file."""


def _saved(model):
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/m")
        return Path(f"{folder}/m").read_bytes()


def _npz(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()
