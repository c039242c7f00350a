"""Cases run in a process of its own, under limits of memory and time."""

import gzip
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
import time
import traceback
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 30
SECONDS_IN_ALL = 300
"""A case hangs if it works for longer, or if it takes longer: the machine may be busy. Most cases
take milliseconds."""
BYTES_MORE = 200 * 2**20
TIMES_THE_FILE = 10
TIMES_THE_TEXT = 25
"""The memory that a case may take: this many bytes, and this many times those of its file, or of
the text of a table. Of a compressed file what it unpacks to counts."""
FAR_MORE = 3 * 2**30
"""At this much more address space the system refuses."""
ENDINGS = {"model": "", "fit checkpoint": "", "selection checkpoint": "", "npz table": ".npz"}
ENDINGS |= {"npz graph": ".npz", "operator": "", "sparse": "", "tu": ".txt"}
ENDINGS |= dict.fromkeys(("fit", "choosing fit", "summary", "comparison"), "")
ENDINGS |= {"stored table": ".parquet", "command": ".csv"}
ENDINGS |= {f"parts {ending}": f".{ending}" for ending in ("csv", "csv.gz", "parquet")}
ENDINGS |= {f"damaged {kind}": "" for kind in ("model", "fit checkpoint", "selection checkpoint")}
REQUEST = struct.Struct("<II")
MOST_SAID = 500
FIXED = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS")
"""One thread each, whatever the environment says."""
REMOVED = ("WALKCONV_ENGINE", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What would make a worker another one than the next."""
MAKE = "make "
"""Before a kind: its valid files are asked for."""


HARMLESS = ("ok", "refused", "malformed", "polars")


@dataclass(frozen=True)
class Outcome:
    """What a case came to: "ok", "refused", "malformed", "polars", or a finding.

    "polars" is a page of Parquet that makes polars abort the process: SECURITY.md names it as a
    limit, and the campaign counts it. Findings are "raw" (an error of an unclear class), "wrong"
    (an answer), "memory", "hang" and "crash". What was refused has the message as its detail.
    """

    what: str
    detail: str = ""
    peak_bytes: int = 0

    @property
    def is_finding(self):
        """Whether the library broke a promise."""
        return self.what not in HARMLESS


class Worker:
    """A process that runs cases one after another; it is started again when it dies."""

    def __init__(self):
        self.process = None
        self.folder = tempfile.TemporaryDirectory()

    def bases(self, kind):
        """Return the valid files of a kind, made by the process that will read them."""
        outcome = self.run(f"{MAKE}{kind}", b"")
        if outcome.what != "ok":
            raise RuntimeError(f"the valid files of {kind} could not be made\n{outcome.detail}")
        made = [Path(self.folder.name, name) for name in json.loads(outcome.detail)]
        return [path.read_bytes() for path in made]

    def run(self, kind, content):
        """Return the outcome of a case."""
        if self.process is None:
            self._start()
        name = kind.encode()
        try:
            self.process.stdin.write(REQUEST.pack(len(name), len(content)) + name + content)
            self.process.stdin.flush()
            is_ready = self._wait()
            line = self.process.stdout.readline() if is_ready else b""
        except BrokenPipeError:
            line, is_ready = b"", True
        if line:
            return Outcome(**json.loads(line))
        self.process.kill()
        code = self.process.wait()
        self._forget()
        said = Path(self.folder.name, "stderr").read_text(errors="replace")[-2000:]
        if not is_ready:
            return Outcome("hang")
        is_of_polars = code == -signal.SIGABRT and "polars_parquet" in said
        return Outcome("polars" if is_of_polars else "crash", f"exit code {code}\n{said}")

    def close(self):
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self._forget()
        self.folder.cleanup()

    def _wait(self):
        """Wait for an answer, and tell whether there is one."""
        end, at_most = time.monotonic() + SECONDS_IN_ALL, self._worked() + SECONDS
        while not select.select([self.process.stdout], [], [], 1)[0]:
            if time.monotonic() > end or self._worked() > at_most:
                return False
        return True

    def _worked(self):
        """Return the seconds that the process has worked."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _start(self):
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED}
        with open(Path(self.folder.name, "stderr"), "wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.hostile.worker", self.folder.name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=kept | dict.fromkeys(FIXED, "1"),
            )

    def _forget(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None


def serve(folder):
    """Run the cases that come in at standard input, and write an outcome for each."""
    import warnings

    import torch

    from tests.hostile.targets import TARGETS

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, requests = os.fdopen(os.dup(1), "w"), sys.stdin.buffer
    os.dup2(2, 1)
    while head := requests.read(REQUEST.size):
        n_name, n_content = REQUEST.unpack(head)
        kind = requests.read(n_name).decode()
        content = requests.read(n_content)
        if kind.startswith(MAKE):
            outcome = _make(kind.removeprefix(MAKE), Path(folder))
        else:
            path = Path(folder, f"case{ENDINGS.get(kind, '.' + kind)}")
            path.write_bytes(content)
            outcome = _try(TARGETS[kind], path)
        answers.write(json.dumps(outcome) + "\n")
        answers.flush()
        os.truncate(2, 0)


def _make(kind, folder):
    from tests.hostile.bases import BASES

    names = []
    try:
        for number, content in enumerate(BASES[kind]()):
            names.append(f"base-{number}")
            (folder / names[-1]).write_bytes(content)
    except Exception:
        return {"what": "raw", "detail": traceback.format_exc()}
    return {"what": "ok", "detail": json.dumps(names)}


def _most_bytes(path):
    """Return the memory that a case may take."""
    from walkconv.io.packed import most_unpacked

    n_bytes, most = path.stat().st_size, most_unpacked(path)
    is_text = path.suffix in (".csv", ".tsv", ".gz")
    with suppress(Exception):  # damaged: no more than the file
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                while n_bytes < most and (part := file.read(2**18)):
                    n_bytes += len(part)
        elif path.suffix == ".npz":
            with zipfile.ZipFile(path) as file:
                n_bytes = max(n_bytes, sum(member.file_size for member in file.infolist()))
    return BYTES_MORE + (TIMES_THE_TEXT if is_text else TIMES_THE_FILE) * min(n_bytes, most)


def _try(target, path):
    from tests.hostile.targets import MalformedCaseError, WrongAnswerError

    run, clear = target
    detail = ""
    most = _most_bytes(path)
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
        detail = (
            f"{type(error).__name__}: {error}"[:MOST_SAID] if is_clear else traceback.format_exc()
        )
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    peak = _status("VmHWM") - before
    if what in ("ok", "refused") and peak > most:
        n_bytes = path.stat().st_size
        detail = f"{peak / 2**20:.0f} MiB for {n_bytes} bytes; the most is {most / 2**20:.0f} MiB"
        what = "memory"
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
