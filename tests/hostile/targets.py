"""What is done with a hostile file. A target returns, or raises one of the errors that are clear.

It checks what it can of the answer, and raises `WrongAnswerError` where it is wrong.
"""

import contextlib
import json
import os
import re
import sys
import tempfile
import traceback
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
import torch

import walkconv
from tests.hostile import bases, expected
from tests.hostile.bases import CHECKPOINTED, CHOOSING, COMPARED, GRID, SELECTED, X, Y
from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample, ModelFileError, io
from walkconv.cli.main import main
from walkconv.conv.definition import define_graph_conv
from walkconv.datasets import load_tu
from walkconv.tables.lazy_rows import lazy_rows

SMALL_PART = 64
"""Bytes of a part of a table, at least: a few rows."""
MOST_ROWS = 1000
QUICK = {"architecture": "FC2", "max_iter": 1, "n_members": 1, "random_state": 0}
KNOWN_SETTINGS = GraphCNNClassifier().get_params().keys() - {"n_members", "max_iter", "device"}
KNOWN_SETTINGS |= QUICK.keys()
"""Those that decide how long a fit takes stay as they are."""


class WrongAnswerError(Exception):
    """An answer that cannot be right."""


def load_and_predict(path):
    """Load a model and let it predict."""
    model = walkconv.load(path)
    found = _predictions(model)
    if getattr(model, "residuals_", None) is not None:
        half = model._fitted.target.half_width(0.5)
        if not (half >= 0).all():
            raise WrongAnswerError("an interval that ends before it begins")
    if found is not None and len(found) != 3:
        raise WrongAnswerError(f"{len(found)} predictions for 3 rows")


def _predictions(model):
    """Return what a model predicts for three samples, None where no samples fit."""
    if model.table_encoding_ is not None:
        names = model.feature_names_in_ if hasattr(model, "feature_names_in_") else range(5)
        rows = pd.DataFrame({name: [None, None, "1"] for name in names})
    elif model.encoding_ is None:
        shape = model.scaling_.mean.shape
        rows = np.zeros((3, *shape)) if shape[1] > 1 else np.zeros((3, shape[0]))
    else:
        known = model.encoding_
        x = None if known.uses_degree or not len(known.mean) else np.zeros((5, len(known.mean)))
        tags = np.zeros(5, dtype=int) if len(known.tags) else None
        rows = [GraphSample(walkconv.grid_graph((5,)), x=x, tags=tags)] * 3
    names = getattr(model, "feature_names_in_", None)
    if names is not None and not all(names):
        return None
    with np.errstate(all="ignore"):
        try:
            return model.predict(rows)
        except ValueError as error:
            if "readout" not in str(error) and "pool" not in str(error):
                raise
            return None


def load_damaged(path):
    """Load a model whose bytes have changed: it is refused, or it predicts what it did."""
    model = walkconv.load(path)
    found = _predictions(model)
    if not any(np.array_equal(found, each) for each in _known_predictions()):
        raise WrongAnswerError("a damaged model predicts something else")


def continue_damaged_fit(path):
    """Continue a fit from a checkpoint whose bytes have changed: the same model, or refused."""
    model = GraphCNNRegressor(**_fitted_with(path)).fit(X, Y, checkpoint=path)
    if not np.array_equal(model.predict(X), _fitted_predictions(model.architecture)):
        raise WrongAnswerError("a damaged checkpoint leads to another model")


def continue_damaged_selection(path):
    """Continue a selection from a checkpoint whose bytes have changed: the same neighbours."""
    found = walkconv.select_neighbors(walkconv.grid_graph(GRID), checkpoint=path, **SELECTED)
    whole = walkconv.select_neighbors(walkconv.grid_graph(GRID), **SELECTED)
    if not (
        np.array_equal(found.index, whole.index) and np.array_equal(found.visits, whole.visits)
    ):
        raise WrongAnswerError("a damaged checkpoint leads to other neighbours")


def continue_fit(path):
    """Continue a fit from its checkpoint."""
    model = GraphCNNRegressor(**_fitted_with(path)).fit(X, Y, checkpoint=path)
    if not model.modules_ or not np.isfinite(model.predict(X)).all():
        raise WrongAnswerError("the members or the predictions")


def continue_selection(path):
    """Continue a selection from its checkpoint, in order of visits."""
    found = walkconv.select_neighbors(walkconv.grid_graph(GRID), checkpoint=path, **SELECTED)
    n_nodes = found.n_nodes
    is_inside = (found.index >= -1).all() and (found.index < n_nodes).all()
    if not is_inside or not np.isfinite(found.visits).all():
        raise WrongAnswerError("neighbours that are no nodes, or visits that are no numbers")


def read_table(path):
    """Read a table, take its features and its target, or what it holds if it is a graph."""
    table = io.read_graph_or_table(path)
    if isinstance(table, io.NamedGraph):
        _check_graph(table, path)
        return
    differ = expected.differing_cell(table, path)
    if differ:
        raise WrongAnswerError(differ)
    text = [column.name for column in table if column.dtype in (pl.String, pl.Date, pl.Datetime)]
    if len(text) < table.width:
        features = io.take_features(table, drop=text)
        if features.height != table.height:
            raise WrongAnswerError("rows were lost")
    io.take_target(table, table.columns[-1])


def read_parts(path):
    """Read a table in small parts, which must be the rows of the whole table."""
    parts = list(io.read_table_parts(path, n_bytes=max(SMALL_PART, path.stat().st_size // 4)))
    try:
        whole = io.read_table(path)
    except ValueError:
        return  # the types of a column may differ from part to part
    if whole.height <= MOST_ROWS:
        differ = expected.differing_parts(parts, whole)
        if differ:
            raise WrongAnswerError(differ)


def read_graph(path):
    """Read a graph, or a table, and find neighbours."""
    held = io.read_graph_or_table(path)
    if isinstance(held, io.NamedGraph):
        _check_graph(held, path)


def read_collection(path):
    """Read a collection of graphs with a class each."""
    found = load_tu(path.stem, data_home=path.parent)
    if len(found.graphs) != len(found.y) or not len(found.y):
        raise WrongAnswerError("graphs without classes")


def _check_graph(held, path):
    n_nodes = held.graph.shape[0]
    if len(held.names) != n_nodes:
        raise WrongAnswerError("names without nodes")
    differ = expected.differing_edge(held, path)
    if differ:
        raise WrongAnswerError(differ)
    if n_nodes <= 5000:
        found = walkconv.select_neighbors(held.graph, n_neighbors=min(3, n_nodes))
        _check_neighbors(held.graph.astype(float).toarray() if n_nodes < 50 else None, found)


def use_operator(path):
    """Call an operator with the arguments that a file lists, and compare with the definition."""
    given = _listed(path)
    if given.get("op") == "conv":
        tensors = {name: _tensor(given, name) for name in ("x", "index", "weight", "bias", "scale")}
        if any(tensors[name] is None for name in ("x", "index", "weight")):
            raise MalformedCaseError
        found = torch.ops.walkconv.graph_conv(*tensors.values())
        expected = define_graph_conv(*tensors.values())
        wanted = (found.numel() > 0, True, True)
        scale = tensors["scale"]
        x, index, weight = (tensors[name] for name in ("x", "index", "weight"))
        torch.ops.walkconv.graph_conv_backward(found, x, index, weight, scale, *wanted)
        if found.shape != expected.shape or not torch.allclose(
            found, expected, rtol=1e-3, atol=1e-4, equal_nan=True
        ):
            raise WrongAnswerError("the convolution")
        return
    x = _tensor(given, "x")
    try:
        start, member = (torch.tensor(given[name]) for name in ("start", "member"))
        n_turns = int(given.get("n_turns", start.diff().max()))
    except (TypeError, ValueError, RuntimeError, OverflowError, KeyError, IndexError):
        raise MalformedCaseError from None
    if x is None or not 0 <= n_turns < 2**31:
        raise MalformedCaseError
    found, winner = torch.ops.walkconv.largest(x, start, member, n_turns)
    torch.ops.walkconv.largest_backward(found, winner, start, member)
    for g in range(len(start) - 1):
        expected = x[..., member[start[g] : start[g + 1]], :].amax(-2)
        if not torch.equal(found[..., g, :], expected):
            raise WrongAnswerError("the largest of a group")


def use_sparse(path):
    """Take a sparse matrix as a graph and as a table."""
    given = _listed(path)
    matrix = _sparse(given)
    graph = walkconv.as_graph(matrix)
    expected = np.zeros(matrix.shape)
    for i, j, value in _entries(given):
        expected[int(i), int(j)] += value
    if not np.allclose(graph.toarray(), expected):
        raise WrongAnswerError("the graph")
    found = walkconv.select_neighbors(graph, n_neighbors=min(2, len(expected)))
    _check_neighbors(expected, found)
    walkconv.correlation_graph(matrix)


def fit_stored_table(path):
    """Read a stored table in blocks, whose rows must be those of the whole table, and fit it."""
    rows = lazy_rows(path)
    if len(rows) > MOST_ROWS:
        return
    found = rows[:]
    whole = io.read_table(path).cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if not np.array_equal(found, whole.astype(found.dtype), equal_nan=True):
        raise WrongAnswerError("other rows than those of the table")
    if len(rows) > 2:
        with _accepting_scikit_learn():
            model = GraphCNNRegressor(**QUICK).fit(path, np.arange(len(rows)))
            _check_numbers(model.predict(path), len(rows))


def fit_frame(path):
    """Fit a table as a file describes it, save the model, load it and do one thing more."""
    given = _listed(path)
    X, y, weight, settings = _read_fit(given)
    with _accepting_scikit_learn():
        if given.get("do") == "images":
            layout, numbers = walkconv.ColumnLayout().fit(X), X.astype(float).to_numpy()
            if not np.array_equal(
                layout.inverse_transform(layout.transform(X)), numbers, equal_nan=True
            ):
                raise WrongAnswerError("the way back from images")
            return
        is_number = all(isinstance(each, int | float) for each in y)
        if is_number:
            settings.pop("class_weight", None)
        model = (GraphCNNRegressor if is_number else GraphCNNClassifier)(**settings)
        if given.get("do") == "part":
            model.partial_fit(X, y, sample_weight=weight, **({} if is_number else {"classes": y}))
            model.partial_fit(X, y)
        else:
            model.fit(X, y, weight, calibrate=given.get("do") == "interval")
        predicted = model.predict(X) if is_number else model.predict_proba(X)
        _check_numbers(predicted, len(X))
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/m")
            loaded = walkconv.load(f"{folder}/m")
        again = loaded.predict(X) if is_number else loaded.predict_proba(X)
        if not np.array_equal(predicted, again):
            raise WrongAnswerError("another prediction after save and load")
        _do_more(given.get("do"), loaded, X, y, is_number=is_number)


def _do_more(what, model, X, y, *, is_number):
    if what == "report":
        _check_page(walkconv.render_report(model.summarize(X, y)))
    elif what == "onnx":
        with tempfile.TemporaryDirectory() as folder:
            model.to_onnx(f"{folder}/m.onnx")
    elif what == "explain":
        model.explain(X.iloc[:3], n_steps=8)
    elif what == "interval" and is_number:
        low, high = np.moveaxis(model.predict_interval(X), -1, 0)
        if (low > high).any():
            raise WrongAnswerError("an interval that ends before it begins")


def draw_summary(path):
    """Make the page of a forged summary; it runs no script of the summary."""
    try:
        summary = json.loads(path.read_text())
    except (ValueError, RecursionError):
        raise MalformedCaseError from None
    _check_page(walkconv.render_report(summary))


def continue_comparison(path):
    """Continue a comparison from its checkpoint."""
    model = GraphCNNRegressor(**COMPARED)
    found = walkconv.compare(model, X, Y, n_splits=2, n_repeats=1, checkpoint=path)
    if not np.isfinite(found.table["error"].to_numpy()).all():
        raise WrongAnswerError("errors that are no numbers")


def run_commands(path):
    """Run the commands on a table: they end, and none fails with an unexpected error."""
    model, page = path.with_suffix(".m"), path.with_suffix(".html")
    target = _last_name(path)
    options = ["-a", "FC2", "--max-iter", "1", "--n-members", "1", "--random-state", "0"]
    _, code = _run(["fit", str(path), "--target", target, "-o", str(model), *options])
    if code == 0:
        _run(["report", str(model), "-o", str(page)])
        from_file, _ = _run(["predict", str(model), str(path)])
        from_stream, code = _run(["predict", str(model), "-"], path)
        if code == 0 and from_file != from_stream:
            raise WrongAnswerError("other predictions from standard input")
        _run(["export", str(model), str(path.with_suffix(".onnx"))])


def _last_name(path):
    try:
        return io.read_table(path).columns[-1]
    except ValueError:
        return "price"


def _run(arguments, standard_input=None):
    """Return what a command wrote to standard output, and its code."""
    out, err = StringIO(), StringIO()
    before = sys.stdin
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            if standard_input is not None:
                sys.stdin = open(standard_input)  # noqa: SIM115 (closed below)
            main(arguments)
        except SystemExit as end:
            code = end.code
        finally:
            if sys.stdin is not before:
                sys.stdin.close()
            sys.stdin = before
    if "unexpected" in err.getvalue():
        raise RuntimeError(f"{arguments[0]}: {err.getvalue()}")
    return out.getvalue(), code


def _read_fit(given):
    """Return the table, the targets, the weights and the settings that a file describes."""
    try:
        X = pd.DataFrame(given["columns"]).astype(given.get("types", {}))
        y, weight = given.get("y", []), given.get("weight")
        settings = {**QUICK, **given.get("settings", {})}
        loss = settings.get("loss")
        if isinstance(loss, list):
            settings["loss"] = tuple(loss)
        if not isinstance(y, list) or not settings.keys() <= KNOWN_SETTINGS:
            raise MalformedCaseError
        if "settings" in given and not given["settings"]:
            settings["architecture"] = "auto"
    except Exception:
        raise MalformedCaseError from None
    if max([0, *map(int, re.findall(r"\d{1,9}", str(settings["architecture"])))]) > 99:
        raise MalformedCaseError
    return X, y, weight, settings


@contextlib.contextmanager
def _accepting_scikit_learn():
    """Let scikit-learn's checks of input refuse a table."""
    try:
        yield
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        if "sklearn/utils" not in last.replace(os.sep, "/"):
            raise


def _check_numbers(predicted, n_rows):
    if len(predicted) != n_rows or not np.isfinite(predicted).all():
        raise WrongAnswerError("predictions that are missing or no numbers")


def _check_page(page):
    if "<script>alert" in page:
        raise WrongAnswerError("a page that runs a script of its summary")


TARGETS = {
    "model": (load_and_predict, (ModelFileError,)),
    "fit checkpoint": (continue_fit, (ModelFileError, ValueError)),
    "selection checkpoint": (continue_selection, (ValueError,)),
    "damaged model": (load_damaged, (ModelFileError,)),
    "damaged fit checkpoint": (continue_damaged_fit, (ModelFileError, ValueError)),
    "damaged selection checkpoint": (continue_damaged_selection, (ValueError,)),
    "parts csv": (read_parts, (ValueError, io.ColumnError)),
    "parts csv.gz": (read_parts, (ValueError, io.ColumnError)),
    "parts parquet": (read_parts, (ValueError, io.ColumnError)),
    "tsv": (read_table, (ValueError, io.ColumnError)),
    "tu": (read_collection, (ValueError,)),
    "csv": (read_table, (ValueError, io.ColumnError)),
    "csv.gz": (read_table, (ValueError, io.ColumnError)),
    "txt": (read_graph, (ValueError, io.ColumnError)),
    "mtx": (read_graph, (ValueError, TypeError)),
    "npz table": (read_table, (ValueError, io.ColumnError)),
    "npz graph": (read_graph, (ValueError, TypeError, io.ColumnError)),
    "parquet": (read_table, (ValueError, io.ColumnError)),
    "operator": (use_operator, (ValueError, TypeError, IndexError)),
    "sparse": (use_sparse, (ValueError, TypeError)),
    "stored table": (fit_stored_table, (ValueError, TypeError)),
    "fit": (fit_frame, (ValueError, TypeError)),
    "choosing fit": (fit_frame, (ValueError, TypeError)),
    "summary": (draw_summary, (ValueError,)),
    "comparison": (continue_comparison, (ValueError,)),
    "command": (run_commands, ()),
}
"""What is done with a kind of file, and the clear errors, of exactly these classes."""


@cache
def _known_predictions():
    """Return what each valid model predicts."""
    found = []
    for content in bases.models():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "m")
            path.write_bytes(content)
            found.append(_predictions(walkconv.load(path)))
    return found


@cache
def _fitted_predictions(architecture):
    settings = CHOOSING if architecture == "auto" else CHECKPOINTED
    return GraphCNNRegressor(**settings).fit(X, Y).predict(X)


def _fitted_with(path):
    """Return the settings of the fit that a checkpoint is from, as far as it can be seen."""
    is_chosen = re.search(rb'architecture[\\": ]+auto', path.read_bytes())
    return CHOOSING if is_chosen else CHECKPOINTED


class MalformedCaseError(Exception):
    """A case that torch or scipy refuses to make; it never reaches the library."""


def _listed(path):
    """Return the record that a file lists in JSON."""
    try:
        given = json.loads(path.read_text())
    except (ValueError, RecursionError):
        raise MalformedCaseError from None
    if not isinstance(given, dict):
        raise MalformedCaseError
    return given


def _tensor(given, name):
    shape = given.get(name)
    if shape is None:
        return None
    dtype = {"index": torch.int64}.get(name, torch.float32)
    try:
        if np.prod([float(n) for n in shape]) > 1e6:
            raise MalformedCaseError
        dtype = getattr(torch, given.get(f"{name} type", ""), dtype)
        draw = torch.Generator().manual_seed(0)
        if name == "index":
            highest = given.get("highest", 5)
            tensor = torch.randint(-1, highest, shape, generator=draw).to(dtype)
        else:
            tensor = torch.randn(shape, generator=draw).to(dtype)
        return LAYOUTS[given.get("layout", "plain")](tensor)
    except (TypeError, ValueError, RuntimeError, LookupError, OverflowError, AttributeError):
        raise MalformedCaseError from None


LAYOUTS = {
    "plain": lambda tensor: tensor,
    "transposed": lambda tensor: tensor.mT.contiguous().mT if tensor.ndim > 1 else tensor,
    "strided": lambda tensor: tensor.repeat_interleave(2, dim=-1)[..., ::2],
    "expanded": lambda tensor: tensor[:1].expand_as(tensor),
}
"""Ways to lie in memory; the last one gives other values."""


def _sparse(given):
    """Return the matrix that a file lists, without scipy's own checks."""
    try:
        shape = tuple(given["shape"])
        if len(shape) != 2 or not all(0 <= n < 1000 for n in shape):
            raise MalformedCaseError
        kind = given["format"]
        matrix = sp.coo_array(shape).asformat(kind)
        matrix.data = np.array(given["data"], dtype=float)
        if kind == "coo":
            matrix.coords = tuple(_indices(given, name) for name in ("row", "col"))
        else:
            matrix.indptr, matrix.indices = (_indices(given, n) for n in ("indptr", "indices"))
        if kind == "bsr" and matrix.data.ndim != 3:
            raise MalformedCaseError
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError):
        raise MalformedCaseError from None
    return matrix


def _indices(given, name):
    array = np.array(given[name])
    if "index type" in given:
        return array.astype(given["index type"])
    return array.astype(np.int64) if array.size == 0 else array


def _entries(given):
    """Yield the entries (row, column, value) of a listed matrix, by its meaning."""
    data, kind = given["data"], given["format"]
    if kind == "coo":
        yield from zip(_indices(given, "row"), _indices(given, "col"), data, strict=True)
        return
    indptr, indices = _indices(given, "indptr"), _indices(given, "indices")
    for major in range(len(indptr) - 1):
        for k in range(indptr[major], indptr[major + 1]):
            block = np.atleast_2d(data[k])
            height, width = block.shape
            for (a, b), value in np.ndenumerate(block):
                place = major * height + a, indices[k] * width + b
                yield (*(place if kind != "csc" else place[::-1]), value)


def _check_neighbors(weight, found):
    """Compare the neighbours after one step with a dense product, where it is small."""
    if not ((found.index >= -1).all() and (found.index < found.n_nodes).all()):
        raise WrongAnswerError("neighbours that are no nodes")
    if weight is None:
        return
    strength = np.abs(weight)
    total = strength.sum(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        step = np.where(total > 0, strength / total, 0.0)
    step[np.arange(len(step))[total[:, 0] == 0], np.flatnonzero(total[:, 0] == 0)] = 1.0
    visits = np.eye(len(step)) + step
    expected = -np.sort(-visits, axis=1)[:, : found.n_neighbors]
    if not np.allclose(np.where(found.index >= 0, found.visits, 0), expected, atol=1e-6):
        raise WrongAnswerError("the visits")
