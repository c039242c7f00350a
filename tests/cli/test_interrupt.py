"""Ctrl-C during ``walkconv fit``: no model is written, and a checkpoint is continued."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import walkconv
from walkconv.cli.processes import InterruptedFitError, no_half_model
from walkconv.training.loop import Training

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

FIT = ["-a", "C4", "-p", 3, "--max-iter", 4, "--n-members", 2, "--random-state", 0]


@pytest.fixture
def data(rng, tmp_path):
    X = rng.normal(size=(40, 6)).cumsum(axis=1)
    np.savez(tmp_path / "data.npz", X=X, y=X[:, 2])
    return tmp_path / "data.npz"


@pytest.fixture
def interrupt(monkeypatch):
    """Let Ctrl-C be pressed when so many epochs of a member are done."""
    run_epoch = Training.run_epoch

    def interrupt(member, epoch):
        def interrupted(self, *arguments):
            if (self.randomness[1], self.epoch) == (member, epoch):
                raise KeyboardInterrupt
            run_epoch(self, *arguments)

        monkeypatch.setattr(Training, "run_epoch", interrupted)

    return interrupt


def test_half_a_training_is_not_written(run, data, tmp_path, interrupt):
    model = tmp_path / "m.safetensors"
    model.write_text("old")
    interrupt(member=0, epoch=2)
    assert run("fit", data, "--target", "y", "-o", model, *FIT, "-q") == (
        130,
        "",
        "walkconv: Training was interrupted in epoch 3 of 4 of member 1; nothing was written to "
        f"{model}. Add --checkpoint FILE, and the next call continues where this one "
        "stopped.\n",
    )
    assert model.read_text() == "old"


def test_before_an_epoch_is_done_there_is_nothing_to_go_on_from(run, data, tmp_path, interrupt):
    model = tmp_path / "m.safetensors"
    interrupt(member=0, epoch=0)
    assert run("fit", data, "--target", "y", "-o", model, *FIT, "-q") == (
        130,
        "",
        "walkconv: Training was interrupted before an epoch was finished; nothing was written to "
        f"{model}.\n",
    )
    assert not model.exists()


@pytest.mark.parametrize("member", [0, 1])
def test_the_next_call_goes_on_from_a_checkpoint(run, data, tmp_path, interrupt, member):
    whole, model, epochs = (tmp_path / name for name in ("whole", "m.safetensors", "epochs"))
    assert run("fit", data, "--target", "y", "-o", whole, *FIT, "-q")[0] == 0
    command = ["fit", data, "--target", "y", "-o", model, "--checkpoint", epochs, *FIT, "-q"]
    interrupt(member=member, epoch=2)
    assert run(*command) == (
        130,
        "",
        f"walkconv: Training was interrupted in epoch 3 of 4 of member {member + 1}; nothing was "
        f"written to {model}. Call again to continue from {epochs}.\n",
    )
    assert not model.exists()
    interrupt(member=0, epoch=0)  # which is not done again
    assert run(*command) == (0, "", "")
    X = np.load(data)["X"]
    found, wanted = (walkconv.load(path).predict(X) for path in (model, whole))
    np.testing.assert_array_equal(found, wanted)


def test_a_signal_from_outside_is_one_line(data, tmp_path):
    model, epochs = tmp_path / "m.safetensors", tmp_path / "epochs"
    command = ["fit", data, "--target", "y", "-o", model, "--checkpoint", epochs]
    command += ["-a", "C4", "--max-iter", 1_000_000, "-q"]
    process = subprocess.Popen(
        [sys.executable, "-m", "walkconv", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not epochs.exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.startswith("walkconv: Training was interrupted in epoch ")
    assert err.endswith(f"nothing was written to {model}. Call again to continue from {epochs}.\n")
    assert err.count("\n") == 1
    assert not model.exists()


SCRIPT = """
import os, signal, sys
from walkconv.cli.main import main
from walkconv.training.loop import Training

run_epoch = Training.run_epoch

def interrupted(self, *arguments):
    if self.epoch == 2:
        os.kill(os.getpid(), signal.SIGINT)
    run_epoch(self, *arguments)

Training.run_epoch = interrupted
main(sys.argv[1:])
"""


def test_processes_that_are_interrupted_together_say_so_once(run, run_together, data, tmp_path):
    model, epochs = tmp_path / "m.safetensors", tmp_path / "epochs"
    (tmp_path / "script.py").write_text(SCRIPT)
    command = ["fit", data, "--target", "y", "-o", model, "--checkpoint", epochs, *FIT, "-q"]
    done = run_together(tmp_path / "script.py", *command)
    assert done.returncode != 0
    assert (
        done.stderr.count("walkconv: Training was interrupted in epoch 3 of 4 of member 1; ") == 1
    )
    assert "process 1: " not in done.stderr
    assert "walkconv: error" not in done.stderr
    assert not model.exists()
    done = run_together("-m", "walkconv", *command)
    assert done.returncode == 0, done.stderr
    assert len(walkconv.load(model).history_) == 8


def test_epochs_of_an_earlier_call_are_not_forgotten(tmp_path):
    earlier = tmp_path / "epochs"
    with (
        pytest.raises(InterruptedFitError, match=r"written to m\.$"),
        no_half_model("m", str(earlier)),
    ):
        raise KeyboardInterrupt
    earlier.touch()
    with (
        pytest.raises(InterruptedFitError, match=r"continue from .*epochs\.$"),
        no_half_model("m", str(earlier)),
    ):
        raise KeyboardInterrupt
