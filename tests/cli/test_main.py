"""What all commands share: how they start, fail and leave."""

import logging
import subprocess
import sys

import pytest

from walkconv.cli import main as main_module

HEAVY = ["torch", "sklearn", "scipy", "polars", "numpy", "pandas", "matplotlib"]


def test_help_imports_nothing_heavy():
    program = (
        "import sys\n"
        "from walkconv.cli.main import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit as leaving:\n"
        "    assert not leaving.code\n"
        f"loaded = set({HEAVY}) & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for command in ("fit", "predict", "neighbors", "info", "compare"):
        assert f"\n  {command} " in done.stdout


def test_a_missing_table_is_noticed_before_torch_is_loaded():
    program = (
        "import sys\n"
        "from walkconv.cli.main import main\n"
        "try:\n"
        "    main(['fit', 'none.csv', '--target', 'y', '--output', 'none.safetensors'])\n"
        "except SystemExit as leaving:\n"
        "    assert leaving.code == 1\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_python_m_walkconv_is_the_command():
    command = [sys.executable, "-m", "walkconv", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("walkconv 0.")


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["neighbors"],
        ["neighbors", "a.csv", "--n-steps", "many"],
        ["neighbors", "a.csv", "--n-neighbors", "x"],
        ["fit", "a.csv", "--output", "m.safetensors"],
        ["fit", "a.csv", "--target", "y", "--output", "m", "--task", "ranking"],
        ["fit", "a.csv", "--target", "y", "--output", "m", "--max-iter", "0"],
        ["fit", "a.csv", "--target", "y", "--output", "m", "--n-members", "0"],
        ["fit", "a.csv", "--target", "y", "--output", "m", "-p", "0"],
        ["neighbors", "a.csv", "--n-neighbors", "0"],
        ["neighbors", "a.csv", "--n-steps", "-1"],
    ],
)
def test_a_wrong_call_leaves_with_2(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert "Usage: walkconv" in err


def test_an_error_is_one_line_on_stderr_and_leaves_with_1(run, tmp_path):
    code, out, err = run("neighbors", tmp_path / "none.csv")
    assert code == 1
    assert out == ""
    assert err == (
        f"walkconv: error: {tmp_path / 'none.csv'} must be a file; there is no file of that name.\n"
    )


@pytest.mark.parametrize("place", [0, 1, 2])
def test_debug_shows_where_an_error_comes_from(run, place):
    arguments = ["neighbors", "none.csv"]
    arguments.insert(place, "--debug")
    code, _, err = run(*arguments)
    assert code == 1
    assert err.startswith("Traceback")
    assert "FileNotFoundError: none.csv must be a file" in err


def test_what_nobody_thought_of_is_named(run, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr(main_module, "get_command", lambda _: fail)
    assert run("info", "m") == (
        1,
        "",
        "walkconv: error: unexpected ZeroDivisionError: by\nzero (--debug shows where)\n",
    )


def test_the_lines_of_an_error_are_kept(run, monkeypatch):
    def fail(*_, **__):
        raise ValueError("max_iter is 0 at ('X3').\n  C4-X3\n     ^^")

    monkeypatch.setattr(main_module, "get_command", lambda _: fail)
    picture = "max_iter is 0 at ('X3').\n  C4-X3\n     ^^\n"
    assert run("info", "m") == (1, "", f"walkconv: error: {picture}")


def test_what_the_library_logs_is_printed_unless_quiet(run, monkeypatch):
    def log(*_, **__):
        logging.getLogger("walkconv.training").info("epoch 1")

    monkeypatch.setattr(main_module, "get_command", lambda _: log)
    assert run("info", "m") == (0, "", "epoch 1\n")
    logger = logging.getLogger("walkconv")
    assert (logger.level, logger.handlers) == (logging.NOTSET, [])


def test_an_interrupt_leaves_with_130(run, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module, "get_command", lambda _: interrupt)
    assert run("info", "m") == (130, "", "")
