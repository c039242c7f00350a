"""``torchrun -m walkconv fit``: one bar, one message of each kind, one model file."""

import os
import re
import sys
import termios
import threading

import numpy as np
import pytest

import walkconv
from walkconv.cli.processes import one_voice

FIT = ["-a", "C4-FC6", "-p", 3, "--max-iter", 2, "--n-members", 1, "--random-state", 0]


@pytest.fixture
def data(rng, tmp_path):
    X = rng.normal(size=(40, 6)).cumsum(axis=1)
    np.savez(tmp_path / "data.npz", X=X, y=(X[:, 2] > 0).astype(int))
    return tmp_path / "data.npz"


def read_all(terminal, chunks):
    while True:
        try:
            chunks.append(os.read(terminal, 4096))
        except OSError:  # the other end is closed
            return


@pytest.mark.slow
def test_two_processes_have_one_bar_one_message_and_one_model(run, run_together, data, tmp_path):
    alone, together = tmp_path / "alone.safetensors", tmp_path / "together.safetensors"
    checkpoint = tmp_path / "checkpoint.safetensors"
    assert run("fit", data, "--target", "y", "-o", alone, *FIT)[0] == 0
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    chunks = []
    reader = threading.Thread(target=read_all, args=(ours, chunks), daemon=True)
    reader.start()
    command = ["fit", data, "--target", "y", "-o", together, "--checkpoint", checkpoint, *FIT]
    done = run_together("-m", "walkconv", *command, stdout=theirs, stderr=theirs)
    os.close(theirs)
    reader.join()
    os.close(ours)
    said = b"".join(chunks).decode()
    assert done.returncode == 0, said
    lines = said.split("\r\n")
    assert len(lines) == 4, said
    assert lines[0] == "classification ('y' has 2 whole values): 40 rows, 6 features"
    assert "epoch 2/2, loss" in lines[1]
    assert lines[2].endswith(f"parameters in {together}")
    assert lines[3] == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("alone.safetensors", "checkpoint.safetensors"),
        *("data.npz", "together.safetensors"),
    ]
    losses = [
        [record["loss"] for record in walkconv.load(path).history_] for path in (alone, together)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)


@pytest.mark.slow
def test_an_error_at_the_door_is_said_once(run_together, tmp_path):
    missing = tmp_path / "missing.csv"
    done = run_together("-m", "walkconv", "fit", missing, "--target", "y", "-o", tmp_path / "m")
    assert done.returncode == 1
    assert done.stderr.count(f"walkconv: error: {missing} must be a file") == 1
    assert "process 1: " not in done.stderr


@pytest.fixture
def second(monkeypatch):
    """Let this process be the second of two that need not wait for the first."""
    launched = {"RANK": 1, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 1}
    for name, value in launched.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr("walkconv.cli.processes.GRACE", 0)


@pytest.mark.usefixtures("second")
def test_a_process_that_fails_alone_is_heard(run, tmp_path):
    code, out, err = run("fit", tmp_path / "missing.csv", "--target", "y", "-o", tmp_path / "m")
    assert (code, out) == (1, "")
    assert err.startswith("process 1: walkconv: error: ")
    assert err.count("\n") == 1


@pytest.mark.usefixtures("second")
def test_a_wrong_call_is_heard_too(run):
    code, out, err = run("fit", "--wrong")
    assert (code, out) == (2, "")
    assert re.search("process 1: Error: No such option:? '?--wrong", err)  # versions differ


@pytest.mark.usefixtures("second")
def test_the_others_are_silent_where_all_goes_well(run):
    assert run("--version") == (0, "", "")


def test_a_rank_without_a_launcher_silences_nobody(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with one_voice():
        print("heard")
    assert capsys.readouterr().out == "heard\n"


@pytest.mark.usefixtures("second")
def test_an_interrupt_is_no_failure_to_be_heard(capsys):
    def be_interrupted():
        print("half done")
        sys.exit(130)

    with pytest.raises(SystemExit), one_voice():
        be_interrupted()
    assert capsys.readouterr() == ("", "")


def test_checkpoint_and_model_must_be_two_files(run, data, tmp_path):
    model = tmp_path / "m.safetensors"
    code, _, err = run("fit", data, "--target", "y", "-o", model, "--checkpoint", model)
    assert code == 1
    assert "--checkpoint and --output must be two different files" in err
