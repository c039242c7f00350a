"""What else goes on in a process does not change what is learned, nor keep anyone waiting."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sklearn.base import clone

import walkconv
from walkconv.training.loop import TURN


def weights(model):
    tensors = [t for module in model.modules_ for t in module.state_dict().values()]
    return torch.cat([tensor.flatten().double() for tensor in tensors]).numpy()


def test_fits_in_threads_are_those_of_one_after_the_other(classifier, table, classes):
    alone = weights(clone(classifier).fit(table, classes))
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda _: clone(classifier).fit(table, classes), range(3)))
    for model in together:
        np.testing.assert_array_equal(weights(model), alone)


def test_a_fit_learns_also_where_gradients_are_switched_off(regressor, table, values):
    expected = clone(regressor).fit(table, values)
    with torch.no_grad():
        np.testing.assert_array_equal(weights(regressor.fit(table, values)), weights(expected))


def test_a_file_is_read_while_another_thread_trains(regressor, table, values, tmp_path):
    regressor.fit(table, values).save(tmp_path / "model.safetensors")
    with ThreadPoolExecutor(1) as pool, TURN:
        reading = pool.submit(walkconv.load, tmp_path / "model.safetensors")
        assert reading.result(timeout=60).n_features_in_ == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_does_not_wait_for_a_training_it_does_not_have():
    program = """
import os, threading
from walkconv.training import loop
held = threading.Event()
done = threading.Event()
def hold():
    with loop.TURN:
        held.set()
        done.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if loop.TURN.acquire(timeout=5) else 1)
status = os.waitpid(child, 0)[1]
done.set()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""
    quiet = [sys.executable, "-W", "ignore", "-c", program]
    assert subprocess.run(quiet, check=False, timeout=120).returncode == 0


@pytest.fixture
def double_by_default():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_the_default_type_of_torch_does_not_matter(regressor, table, values, tmp_path, request):
    model = regressor.fit(table, values)
    request.getfixturevalue("double_by_default")
    model.save(tmp_path / "model.safetensors")
    loaded = walkconv.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
    again = clone(model).fit(table, values)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
