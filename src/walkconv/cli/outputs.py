"""The file that a command writes, checked before anything is read."""

import os
from collections.abc import Mapping
from pathlib import Path


def refuse_inputs(output: str, inputs: Mapping[str, str | None]) -> None:
    """Refuse an output that is one of the files a command reads, named as its help names them."""
    for name, path in inputs.items():
        if path is not None and path != "-" and _is_same_file(path, output):
            raise ValueError(
                f"{name} and --output must be two files; both are {output}. Name another output."
            )


def _is_same_file(path: str, output: str) -> bool:
    """Tell whether two paths lead to one file, also by links; a device or pipe is none."""
    if not Path(output).exists():
        return Path(path).resolve() == Path(output).resolve()
    return Path(output).is_file() and Path(path).exists() and os.path.samefile(path, output)
