"""A small world of its own for each test: folders, files, and a network on this machine."""

import gzip
import hashlib
import struct
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from walkconv.datasets import _download, mnist


def idx(array):
    """Return an array of bytes as the content of an idx file."""
    sides = struct.pack(f">{array.ndim}I", *array.shape)
    return struct.pack(">I", 0x0800 | array.ndim) + sides + array.tobytes()


@pytest.fixture(autouse=True)
def nothing_but_a_cache(tmp_path, monkeypatch):
    """Keep the tests away from the user's data, the network and npm."""
    monkeypatch.delenv("WALKCONV_DATA", raising=False)
    monkeypatch.setenv("WALKCONV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(mnist, "MIRRORS", ())
    monkeypatch.setattr(_download.shutil, "which", lambda _: None)
    return tmp_path / "cache"


@pytest.fixture
def digits(monkeypatch, rng):
    """Three training and two test pictures of 4 x 5 as the contents of the four files."""
    contents = {
        "train-images-idx3-ubyte": idx(rng.integers(0, 256, (3, 4, 5), dtype=np.uint8)),
        "train-labels-idx1-ubyte": idx(np.array([7, 0, 9], dtype=np.uint8)),
        "t10k-images-idx3-ubyte": idx(rng.integers(0, 256, (2, 4, 5), dtype=np.uint8)),
        "t10k-labels-idx1-ubyte": idx(np.array([1, 2], dtype=np.uint8)),
    }
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    monkeypatch.setattr(mnist, "FILES", sums)
    return contents


@pytest.fixture
def write(digits):
    """Write the four files to a folder, packed or not; `change` may spoil their bytes."""

    def write(folder, *, packed=True, change=lambda name, content: content):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in digits.items():
            path = folder / (f"{name}.gz" if packed else name)
            path.write_bytes(change(name, gzip.compress(content) if packed else content))
        return folder

    return write


@pytest.fixture
def serve():
    """Start servers on 127.0.0.1 that show a folder, or do as another handler says."""
    servers = []

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    def serve(folder=None, *, handler=None):
        handler = handler or partial(Quiet, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()
