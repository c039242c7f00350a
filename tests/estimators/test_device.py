"""Which device "auto" is."""

import pytest
import torch

from walkconv.estimators.settings import check_device


@pytest.mark.parametrize(
    ("has_cuda", "has_mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_is_the_gpu_that_is_there(monkeypatch, has_cuda, has_mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: has_mps)
    assert check_device("auto").type == expected


def test_without_mps_the_error_says_what_to_use():
    if torch.backends.mps.is_available():
        pytest.skip("this machine has MPS")
    with pytest.raises(ValueError, match=r"device 'mps' is not available .* use 'auto' or 'cpu'"):
        check_device("mps")
