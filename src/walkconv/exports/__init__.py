"""A fitted model of tables as a plain torch module, and as an ONNX file.

`table_model.py` is what comes in: all that predictions need. `plain_model.py` makes a module of
standard operators from it, with the layers of `plain_layers.py`. `onnx_graph.py` writes that module
layer by layer as a graph of ONNX operators, and `onnx_file.py` checks and writes the file.
"""

from .onnx_file import write_onnx
from .plain_model import PlainModel, plain_model
from .table_model import Probabilities, Quantities, TableModel

__all__ = [
    "PlainModel",
    "Probabilities",
    "Quantities",
    "TableModel",
    "plain_model",
    "write_onnx",
]
