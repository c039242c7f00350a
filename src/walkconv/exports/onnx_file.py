"""A fitted model becomes an ONNX file that onnxruntime has confirmed."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from walkconv._files import check_writable, whole_file
from walkconv.exports.onnx_graph import INPUT, onnx_graph
from walkconv.exports.plain_model import plain_model
from walkconv.exports.table_model import Probabilities, Quantities, TableModel

if TYPE_CHECKING:
    from onnx import ModelProto

TOLERANCE = 1e-5
N_CHECKED = 64
MOST_BYTES = 2**31 - 2**20
"""An ONNX file is one protocol buffer, which can't be larger."""


def write_onnx(
    model: TableModel, path: str | os.PathLike, expected: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Write a model as an ONNX file, whole or not at all.

    Before the file is written, onnxruntime runs the graph on rows that are drawn for this, missing
    values among them.

    Parameters
    ----------
    model : TableModel
    path : path
    expected : callable
        From rows of a table to the probabilities, or the values, that the graph must give.
    """
    _check_installed()
    check_writable(path)
    labels = model.answer.labels if isinstance(model.answer, Probabilities) else None
    graph = onnx_graph(plain_model(model), labels, model.names)
    if graph.ByteSize() > MOST_BYTES:
        raise ValueError(
            f"The model must take less than 2 GiB to be one ONNX file; it takes "
            f"{graph.ByteSize() / 2**30:.1f} GiB. Use fewer members or units, or to_torch()."
        )
    content = graph.SerializeToString(deterministic=True)
    _confirm(graph, content, model, expected)
    with whole_file(path) as part:
        part.write_bytes(content)


def _check_installed() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "to_onnx needs the packages onnx and onnxruntime: pip install walkconv[onnx]"
        ) from error


def _confirm(
    graph: "ModelProto",
    content: bytes,
    model: TableModel,
    expected: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Raise an error if onnxruntime does not give the answers of the model."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(graph)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    rows = _rows_to_check(model)
    name = "probabilities" if isinstance(model.answer, Probabilities) else "values"
    found = np.asarray(session.run([name], {INPUT: rows})[0], dtype=np.float64)
    wanted = expected(rows.astype(np.float64))
    error = float(np.max(np.abs(found - wanted) / _unit(model.answer, wanted)))
    if not error <= TOLERANCE:
        raise RuntimeError(
            f"The graph must give the answers of the model up to {TOLERANCE:g}; onnxruntime "
            f"{onnxruntime.__version__} differs by {error:.2g}. Nothing was written. Use "
            "to_torch(), and please report this."
        )


def _rows_to_check(model: TableModel) -> np.ndarray:
    """Return rows (n, n_columns[, n_channels]), float32: some far out, some with missing values."""
    rng = np.random.default_rng(0)
    shape = (N_CHECKED, *model.mean.shape)
    z = rng.normal(size=shape) * rng.choice([1, 10], size=(N_CHECKED, 1, 1), p=[0.8, 0.2])
    z[N_CHECKED // 2 :][rng.random((N_CHECKED // 2, *shape[1:])) < 0.2] = np.nan
    z[-1] = np.nan
    rows = (model.mean + model.deviation * z).astype(np.float32)
    return rows[:, :, 0] if shape[2] == 1 else rows


def _unit(answer: Probabilities | Quantities, wanted: np.ndarray) -> np.ndarray | float:
    """Return what an error of the answers is measured in: 1, or the deviation or size of y."""
    if isinstance(answer, Probabilities):
        return 1.0
    return np.maximum(
        answer.deviation if answer.is_multi_output else answer.deviation[0], np.abs(wanted)
    )
