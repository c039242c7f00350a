"""``walkconv export``: a model file becomes an ONNX file."""

import logging
import os
from typing import Annotated

import typer

from walkconv.cli.options import Quiet, check_output

logger = logging.getLogger(__name__)


def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model file that `walkconv fit` wrote.")
    ],
    output: Annotated[str, typer.Argument(metavar="FILE", help="ONNX file to write.")],
    quiet: Quiet = False,
) -> None:
    """Write a model as an ONNX file, which runs without walkconv and torch.

    Its input X is float32, (rows, columns), NaN is a missing value. Its outputs are label and
    probabilities, or values. onnxruntime confirms them before the file is written.
    """
    import walkconv

    if not output.lower().endswith(".onnx"):
        raise ValueError(f"The name of the output must end in .onnx; got {output}.")
    check_output(output, {"MODEL": model})
    walkconv.load(model).to_onnx(output)
    logger.info(f"{os.path.getsize(output):,} bytes in {output}")
