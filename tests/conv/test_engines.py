"""Which engine is chosen, and what holds of the native one besides being right."""

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from functools import cache
from pathlib import Path

import pytest
import torch

from walkconv import _native, graph_conv, show_config
from walkconv.conv import engines, native
from walkconv.conv.definition import define_graph_conv

ROOT = Path(__file__).parents[2]


def training_step(n_threads, **shape):
    """Output and gradients with a number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        x, index, weight, bias, scale = random_problem(**shape)
        out = graph_conv(x, index, weight, bias, scale)
        return [out, *torch.autograd.grad(out.square().sum(), (x, weight, bias))]
    finally:
        torch.set_num_threads(before)


def random_problem(
    M=5, n_in=301, N=301, p=5, d=7, f=19, per_sample=False, scaled=False, dtype=torch.float32
):
    draw = torch.Generator().manual_seed(0)
    shape = (M, N, p) if per_sample else (N, p)

    def normal(*size):
        return torch.randn(*size, generator=draw, dtype=dtype)

    return (
        normal(M, n_in, d).requires_grad_(),
        torch.randint(-1, n_in, shape, generator=draw),
        normal(p, d, f).requires_grad_(),
        normal(f).requires_grad_(),
        normal(*shape) if scaled else None,
    )


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"M": 1, "n_in": 4001, "N": 4003},
        {"M": 130, "N": 50, "d": 1},
        {"M": 130, "N": 500, "d": 1, "p": 12},
        {"M": 23},
        {"M": 23, "scaled": True},
        {"M": 17, "n_in": 9001, "N": 900, "d": 8},
        {"M": 3, "per_sample": True, "scaled": True},
        {"M": 40, "per_sample": True},
        {"d": 40, "f": 80, "p": 25, "n_in": 196, "N": 196},
    ],
)
def test_the_same_bits_for_any_number_of_threads(each_native_engine, shape):
    expected = training_step(1, **shape)
    for n_threads in (2, 3, 2):
        for a, b in zip(training_step(n_threads, **shape), expected, strict=True):
            assert torch.equal(a, b)


def test_tables_of_many_nodes_have_the_values_of_the_definition(each_native_engine):
    problem = random_problem(M=2, n_in=9001, N=9003, p=3, d=5, f=4, dtype=torch.float64)
    found, expected = (
        [out, *torch.autograd.grad(out.square().sum(), (problem[0], *problem[2:4]))]
        for out in (graph_conv(*problem), define_graph_conv(*problem))
    )
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("f", [1, 2, 7, 20, 33])
@pytest.mark.parametrize("p", [1, 2, 4, 5, 8, 9, 16, 17, 33])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_channel_has_the_gradients_of_the_definition(each_native_engine, dtype, p, f):
    same_gradients_of_one_channel(M=17, n_in=51, N=53, p=p, f=f, dtype=dtype)


@pytest.mark.parametrize(
    "shape",
    [
        {"M": 16, "n_in": 301, "N": 701, "p": 6, "f": 20},
        {"M": 70, "n_in": 301, "N": 701, "p": 6, "f": 20},
        {"M": 1025, "n_in": 9, "N": 7, "p": 3, "f": 5},
        {"M": 37, "n_in": 31, "N": 101, "p": 3, "f": 150},
        {"M": 20, "n_in": 1, "N": 3, "p": 2, "f": 4},
        {"M": 20, "n_in": 3, "N": 0, "p": 2, "f": 4},
        {"M": 20, "n_in": 3, "N": 3, "p": 0, "f": 4},
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_channel_of_many_samples_and_nodes_or_few(each_native_engine, dtype, shape):
    same_gradients_of_one_channel(**shape, dtype=dtype)


def same_gradients_of_one_channel(M, N, f, dtype, **shape):
    # Whole numbers, whose sums are exact in any order.
    problem = random_problem(M=M, N=N, d=1, f=f, dtype=dtype, **shape)
    x, index, weight, bias, _ = [t if t is None else t.detach().round() for t in problem]
    inputs = [t.requires_grad_() for t in (x, weight, bias)]
    grad = torch.randint(-3, 4, (M, N, f), generator=torch.Generator().manual_seed(1)).to(dtype)
    for wanted in (inputs, inputs[1:], inputs[:1]):
        found, expected = (
            torch.autograd.grad(convolve(x, index, weight, bias, None), wanted, grad)
            for convolve in (graph_conv, define_graph_conv)
        )
        for a, b in zip(found, expected, strict=True):
            assert torch.equal(a, b)


def test_a_table_changed_in_place_is_noticed(each_native_engine):
    x, index, weight, bias, _ = random_problem(M=2, n_in=9, N=9, f=3, dtype=torch.float64)
    for _ in range(2):
        found = torch.autograd.grad(graph_conv(x, index, weight, bias).square().sum(), x)[0]
        out = define_graph_conv(x, index, weight, bias, None)
        torch.testing.assert_close(found, torch.autograd.grad(out.square().sum(), x)[0])
        index[:] = index.flip(0).clone()


def test_reverse_lists_die_with_their_tables(each_native_engine):
    gc.collect()
    before = len(native._REVERSE_LISTS)
    x, index, weight, bias, _ = random_problem(M=2)
    graph_conv(x, index, weight, bias).sum().backward()
    assert len(native._REVERSE_LISTS) == before + 1
    del index
    gc.collect()
    assert len(native._REVERSE_LISTS) == before


def test_calls_from_several_python_threads_do_not_disturb_each_other(each_native_engine):
    expected = training_step(2)
    found = [[] for _ in range(4)]

    def repeat(place):
        x, index, weight, bias, scale = random_problem()
        for _ in range(5):
            out = graph_conv(x, index, weight, bias, scale)
            found[place] = [out, *torch.autograd.grad(out.square().sum(), (x, weight, bias))]

    threads = [threading.Thread(target=repeat, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for tensors in found:
        for a, b in zip(tensors, expected, strict=True):
            assert torch.equal(a, b)


def run(program, **environment):
    """Run a program in a new process and return what it printed."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch", *native.supported()])
def test_the_environment_forces_an_engine_and_show_config_says_so(name):
    shown = run("import walkconv; walkconv.show_config()", WALKCONV_ENGINE=name)
    assert shown.returncode == 0, shown.stderr
    engine = "torch" if name == "torch" else f"native kernel, {name}"
    assert f"engine                    {engine}\n" in shown.stdout
    assert "forced by WALKCONV_ENGINE" in shown.stdout


@pytest.mark.slow
def test_an_unknown_engine_is_refused():
    shown = run("import walkconv; walkconv.show_config()", WALKCONV_ENGINE="cuda")
    assert "WALKCONV_ENGINE must be one of auto, torch, portable, avx2, avx512" in shown.stderr


@pytest.mark.slow
@pytest.mark.skipif("avx512" in native.supported(), reason="this machine has AVX-512")
def test_an_instruction_set_that_the_machine_lacks_is_refused():
    shown = run("import walkconv; walkconv.show_config()", WALKCONV_ENGINE="avx512")
    assert "must be an engine that was built and that this machine can run (torch" in shown.stderr


@pytest.mark.skipif(not native.supported(), reason="no kernel was built")
def test_the_best_engine_is_the_default(capsys, monkeypatch):
    monkeypatch.delenv(engines.VARIABLE, raising=False)
    engines.choose.cache_clear()
    show_config()
    engines.choose.cache_clear()
    assert native.preferred() in native.supported()
    assert native.preferred() != "portable" or native.supported() == ("portable",)
    assert f"native kernel, {native.preferred()}" in capsys.readouterr().out


NUMBERS = """
    import warnings, torch, walkconv
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        draw = torch.Generator().manual_seed(0)
        x = torch.randn(4, 30, 3, generator=draw)
        index = torch.randint(-1, 30, (30, 5), generator=draw)
        weight = torch.randn(5, 3, 6, generator=draw)
        for _ in range(3):
            out = walkconv.graph_conv(x, index, weight)
    print(walkconv.__file__)
    print([str(w.message) for w in caught if w.category is RuntimeWarning])
    print(out.flatten()[:40].tolist())
"""


@pytest.mark.slow
def test_without_a_compiler_it_installs_warns_once_and_gives_the_same_numbers(tmp_path):
    source = tmp_path / "source"
    target = tmp_path / "installed"
    ignore = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    pip_install = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-build-isolation"]
    installed = subprocess.run(
        [*pip_install, "--target", str(target), str(source)],
        env={**os.environ, "CC": str(tmp_path / "no-compiler-here")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert installed.returncode == 0, installed.stderr
    bare = run(NUMBERS, PYTHONPATH=str(target), WALKCONV_ENGINE="auto")
    assert bare.returncode == 0, bare.stderr
    place, warnings, numbers = bare.stdout.splitlines()
    assert place.startswith(str(target))
    assert warnings.count("the native kernel was not built") == 1
    _, no_warnings, native_numbers = run(NUMBERS).stdout.splitlines()
    assert no_warnings == "[]"
    torch.testing.assert_close(
        torch.tensor(eval(numbers)), torch.tensor(eval(native_numbers)), atol=1e-5, rtol=1e-5
    )


@pytest.mark.skipif(not native.supported(), reason="no kernel was built")
def test_a_kernel_from_older_sources_is_not_used(monkeypatch):
    monkeypatch.setitem(_native._SIGNATURES, "walkconv_of_tomorrow", (None, []))
    for cached in (_native.library, native.library, native.supported, engines.choose):
        monkeypatch.setattr(cached.__module__ + "." + cached.__name__, cache(cached.__wrapped__))
    with pytest.warns(RuntimeWarning, match="built from older sources"):
        assert engines.choose().name == "torch"
