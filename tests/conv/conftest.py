"""Every engine that this machine can run is tested by being listed here."""

import pytest

from walkconv.conv import engines, native, tiled

NAMES = ("torch", *native.supported())


def choice(name):
    engine = tiled if name == "torch" else native.NativeEngine(name)
    return engines.Choice(name, engine, "chosen by a test")


@pytest.fixture(params=NAMES)
def each_engine(request, monkeypatch):
    """Run the test with every engine in turn."""
    chosen = choice(request.param)
    monkeypatch.setattr(engines, "choose", lambda: chosen)
    return request.param


@pytest.fixture(params=native.supported())
def each_native_engine(request, monkeypatch):
    """Run the test with every instruction set of the kernel."""
    chosen = choice(request.param)
    monkeypatch.setattr(engines, "choose", lambda: chosen)
    return request.param
