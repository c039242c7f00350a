"""Matrix products have fewer threads while ours multiply side by side, and all afterwards."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from walkconv.graphs.correlation.search import limited_products


def numbers_of_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


def test_products_have_their_threads_again_afterwards():
    before = numbers_of_threads()
    with limited_products(1):
        assert numbers_of_threads() == {1}
    assert numbers_of_threads() == before


def test_calls_that_overlap_leave_what_was_there():
    before = numbers_of_threads()
    first, second = limited_products(1), limited_products(1)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert numbers_of_threads() == {1}
    second.__exit__(None, None, None)
    assert numbers_of_threads() == before


def test_an_error_gives_them_back():
    before = numbers_of_threads()
    with pytest.raises(ValueError, match="inside"), limited_products(1):
        raise ValueError("inside")
    assert numbers_of_threads() == before
