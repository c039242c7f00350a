"""The file that a command may follow its work in."""

from pathlib import Path


def refuse_same_file(checkpoint: str | None, output: str) -> None:
    """Refuse a checkpoint that would be overwritten by what the command writes."""
    if checkpoint is not None and Path(checkpoint).resolve() == Path(output).resolve():
        raise ValueError(f"--checkpoint and --output must be two files; both are {output}.")
