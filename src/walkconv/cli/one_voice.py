"""Of processes that run one command together the first speaks.

The others do and meet the same, so that every message and every error would come once from each.
What they have to say is kept, and said only where one of them fails and the first does not.
"""

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from walkconv._launched import launched

INTERRUPTED = 130
GRACE = 10.0
"""Seconds in which the first process may fail too: then ``torchrun`` ends the others."""


@contextmanager
def one_voice() -> Iterator[None]:
    """Keep silent inside unless this process speaks for all, or ends alone with an error."""
    rank, _ = launched()
    if rank == 0:
        yield
        return
    said = io.StringIO()
    try:
        with redirect_stdout(said), redirect_stderr(said):
            yield
    except SystemExit as end:
        if end.code and end.code != INTERRUPTED:
            time.sleep(GRACE)
            lines = said.getvalue().splitlines()
            sys.stderr.write("".join(f"process {rank}: {line}\n" for line in lines))
        raise
