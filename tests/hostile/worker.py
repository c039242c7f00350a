"""Cases run in a process of its own, under limits of memory and time."""

import json
import os
import re
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
"""A case that takes longer hangs. Most take milliseconds; the machine may be busy."""
BYTES_MORE = 200 * 2**20
TIMES_THE_FILE = 10
"""The memory that a case may take: this many bytes, and this many times those of its file."""
FAR_MORE = 3 * 2**30
"""At this much more address space the system refuses."""
ENDINGS = {"model": "", "fit checkpoint": "", "selection checkpoint": "", "npz table": ".npz"}
ENDINGS |= {"npz graph": ".npz", "operator": "", "sparse": ""}
REQUEST = struct.Struct("<II")


@dataclass(frozen=True)
class Outcome:
    """What a case came to: "ok", "refused", "malformed", or a finding.

    Findings are "raw" (an error of an unclear class), "wrong" (an answer), "memory", "hang" and
    "crash".
    """

    what: str
    detail: str = ""
    peak_bytes: int = 0

    @property
    def is_finding(self):
        """Whether the library broke a promise."""
        return self.what not in ("ok", "refused", "malformed")


class Worker:
    """A process that runs cases one after another; it is started again when it dies."""

    def __init__(self):
        self.process = None
        self.folder = tempfile.TemporaryDirectory()

    def run(self, kind, content):
        """Return the outcome of a case."""
        if self.process is None:
            self._start()
        name = kind.encode()
        try:
            self.process.stdin.write(REQUEST.pack(len(name), len(content)) + name + content)
            self.process.stdin.flush()
            is_ready = select.select([self.process.stdout], [], [], SECONDS)[0]
            line = self.process.stdout.readline() if is_ready else b""
        except BrokenPipeError:
            line, is_ready = b"", True
        if line:
            return Outcome(**json.loads(line))
        self.process.kill()
        code = self.process.wait()
        self._forget()
        said = Path(self.folder.name, "stderr").read_text(errors="replace")[-2000:]
        return Outcome("crash", f"exit code {code}\n{said}") if is_ready else Outcome("hang")

    def close(self):
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._forget()
        self.folder.cleanup()

    def _start(self):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
        with open(Path(self.folder.name, "stderr"), "wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.hostile.worker", self.folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment,
            )

    def _forget(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None


def serve(folder):
    """Run the cases that come in at standard input, and write an outcome for each."""
    import warnings

    from tests.hostile.targets import TARGETS

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, requests = os.fdopen(os.dup(1), "w"), sys.stdin.buffer
    os.dup2(2, 1)
    while head := requests.read(REQUEST.size):
        n_name, n_content = REQUEST.unpack(head)
        kind = requests.read(n_name).decode()
        content = requests.read(n_content)
        path = Path(folder, f"case{ENDINGS.get(kind, '.' + kind)}")
        path.write_bytes(content)
        answers.write(json.dumps(_try(TARGETS[kind], path, n_content)) + "\n")
        answers.flush()
        os.truncate(2, 0)


def _try(target, path, n_bytes):
    from tests.hostile.targets import MalformedCaseError, WrongAnswerError

    run, clear = target
    detail = ""
    before = _start_of_peak()
    memory = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + FAR_MORE, memory))
    try:
        run(path)
        what = "ok"
    except MalformedCaseError:
        what = "malformed"
    except MemoryError:
        what, detail = "memory", traceback.format_exc()
    except WrongAnswerError:
        what, detail = "wrong", traceback.format_exc()
    except BaseException as error:
        is_clear = type(error) in clear and _is_ours(error)
        what = "refused" if is_clear else "raw"
        detail = "" if is_clear else traceback.format_exc()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    peak = _status("VmHWM") - before
    if what in ("ok", "refused") and peak > BYTES_MORE + TIMES_THE_FILE * n_bytes:
        what, detail = "memory", f"{peak / 2**20:.0f} MiB for {n_bytes} bytes"
    return {"what": what, "detail": detail, "peak_bytes": peak}


def _is_ours(error):
    """Tell whether the library itself raised an error: it then says what to do."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "walkconv" in Path(last.filename).parts


def _start_of_peak():
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    return _status("VmRSS")


def _status(name):
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024


if __name__ == "__main__":
    serve(sys.argv[1])
