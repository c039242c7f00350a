"""The files that a command writes, checked before anything is read."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from walkconv._files import check_writable
from walkconv.cli.tables import ending_of


def check_output(
    output: str, inputs: Mapping[str, str | None], *, endings: Sequence[str] | None = None
) -> None:
    """Refuse an output that would destroy an input or could not be written.

    Parameters
    ----------
    output : str
        The path; ``-`` is stdout. Folders that are missing will be made. A device or a pipe may
        have any name.
    inputs : dict of str to path or None
        What the command reads, as its help names it.
    endings : sequence of str, optional
        How the name may end; any way by default.
    """
    path = Path(output)
    if output == "-" or (path.exists() and not path.is_file() and not path.is_dir()):
        return
    for name, source in inputs.items():
        if source is not None and source != "-" and _is_same_file(source, output):
            raise ValueError(
                f"{name} and --output must be two files; both are {output}. Name another output."
            )
    check_writable(output)
    if endings is not None and ending_of(output) not in endings:
        raise ValueError(
            f"The name of an output must end in {', '.join(endings)}, or be - for stdout; got "
            f"{output}."
        )


def _is_same_file(path: str, output: str) -> bool:
    """Tell whether two paths lead to one file, also by links."""
    if Path(path).exists() and Path(output).exists():
        return os.path.samefile(path, output)
    return Path(path).resolve() == Path(output).resolve()
