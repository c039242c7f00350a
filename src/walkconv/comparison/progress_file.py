"""The file that follows a comparison: what has been measured so far, as JSON.

Anyone may have changed a file, so everything in it is checked before it is used.
"""

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from walkconv._checks import check_flag, check_integer, check_number
from walkconv._files import check_writable, whole_file
from walkconv.comparison.fits import Result
from walkconv.comparison.verdict import MODEL

FORMAT = "walkconv comparison 1"
MOST_BYTES = 2**26


@dataclass
class ProgressFile:
    """Results by task, written to a file after each task.

    Attributes
    ----------
    path : path or None
        None keeps the results in memory only.
    identity : str
        Digest of all that the comparison depends on.
    tasks : dict of str to list of Result
    """

    path: Path | None
    identity: str
    tasks: dict[str, list[Result]]

    @classmethod
    def open(cls, path: str | os.PathLike[str] | None, identity: str) -> "ProgressFile":
        """Return the results of a file of the same comparison; none if there is no file."""
        if path is None:
            return cls(None, identity, {})
        check_writable(path)
        path = Path(path)
        tasks = _read(path, identity) if path.exists() else {}
        return cls(path, identity, tasks)

    def add(self, task: str, results: list[Result]) -> None:
        """Keep the results of a task that is done."""
        self.tasks[task] = results
        if self.path is None:
            return
        tasks = {name: [asdict(each) for each in found] for name, found in self.tasks.items()}
        content = {"format": FORMAT, "identity": self.identity, "tasks": tasks}
        with whole_file(self.path) as part:
            part.write_text(json.dumps(content))


def _read(path: Path, identity: str) -> dict[str, list[Result]]:
    refused = f"{path.name} must be the checkpoint of a comparison"
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ValueError("it is too large")
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError("it is something else")
        is_same = content["identity"] == identity
        tasks = {name: _read_results(name, found) for name, found in content["tasks"].items()}
    except KeyError as error:
        raise ValueError(f"{refused}; {error} is missing. Delete it to start again.") from None
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{refused}; {reason}. Delete it to start again.") from None
    if not is_same:
        raise ValueError(
            f"{path.name} belongs to another comparison: the model, the data or the splits differ. "
            "Give another checkpoint, or delete it to start again."
        )
    return tasks


def _read_results(task: str, plain: Any) -> list[Result]:
    """Return the results of a task, which is called by its kind and the number of its split."""
    results = [_read_result(each) for each in plain]
    kind, _, split = task.rpartition(" ")
    if any(str(each.split) != split for each in results):
        raise ValueError(f"a result of {task!r} is of another split")
    if kind == "networks" and MODEL not in [each.contestant for each in results]:
        raise ValueError(f"{task!r} has no result of the model")
    return results


def _read_result(plain: Any) -> Result:
    if not isinstance(plain, dict) or plain.keys() != {each.name for each in fields(Result)}:
        raise ValueError("a result has other fields")
    if not isinstance(plain["contestant"], str):
        raise TypeError("a contestant has no name")
    return Result(
        contestant=plain["contestant"],
        split=check_integer(plain["split"], "split", minimum=0),
        error=check_number(plain["error"], "error", minimum=0),
        seconds=check_number(plain["seconds"], "seconds", minimum=0),
        uses_graph=check_flag(plain["uses_graph"], "uses_graph"),
    )
