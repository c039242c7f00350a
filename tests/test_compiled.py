import numpy as np

from walkconv._compiled import borrowed, compiled


@compiled
def _double(arrays):
    (first, (second, factor)), third = borrowed(arrays)
    first *= factor
    second[1:] *= factor  # a part of it is borrowed too
    return first.sum() + third.sum()


def test_what_is_borrowed_is_the_same_memory():
    first, second, third = np.ones(3), np.ones((2, 2), dtype=np.int32), np.ones(1)
    assert _double(((first, (second, 2)), third)) == 7
    assert first.tolist() == [2, 2, 2]
    assert second.tolist() == [[1, 1], [2, 2]]


@compiled
def _first_of_pieces(array):
    pieces = [borrowed(array)[:1], borrowed(array)[1:]]  # freed at the end, with what they own
    return pieces[0].sum()


def test_nothing_that_is_borrowed_is_freed():
    array = np.arange(1.0, 6.0)
    for _ in range(100):
        assert _first_of_pieces(array) == 1
    assert array.tolist() == [1, 2, 3, 4, 5]
