"""Tables in pairs: one to learn filters on, and one with other columns to move them to."""

from dataclasses import replace

import numpy as np

from experiments.data import Data, load_data, without_grid

PER_CLASS = 10
SOURCE_ROWS = 10_000


def load_small_digits(*, seed: int, is_smoke: bool) -> Data:
    """Return digits at half the size, ten of each class to train on; whole digits as source.

    The places of the pixels are used to take the means of 2 x 2 blocks, and then forgotten: columns
    of either size stand in no order that a method may use. The seed draws the digits; none is
    both labelled and among the whole ones.
    """
    digits = load_data("grid", is_smoke=is_smoke)
    if is_smoke:
        digits = _doubled(digits)
    order = np.random.default_rng(seed).permutation(len(digits.y_train))
    labelled = np.concatenate(
        [order[digits.y_train[order] == label][:PER_CLASS] for label in np.unique(digits.y_train)]
    )
    drawn = order[~np.isin(order, labelled)][:SOURCE_ROWS]
    source = replace(digits, X_train=digits.X_train[drawn], y_train=digits.y_train[drawn])
    half = replace(
        digits,
        X_train=_halved(digits.X_train[labelled], digits.shape),
        y_train=digits.y_train[labelled],
        X_test=_halved(digits.X_test, digits.shape),
        cells=np.arange(digits.X_test.shape[1] // 4),
    )
    return replace(without_grid(half), source=without_grid(source))


def load_other_half(*, seed: int, is_smoke: bool) -> Data:
    """Return a random half of the descriptors of METAB; the other half as source."""
    whole = load_data("merck", is_smoke=is_smoke)
    order = np.random.default_rng(seed).permutation(whole.X_train.shape[1])
    source, own = (
        replace(whole, X_train=whole.X_train[:, columns], X_test=whole.X_test[:, columns])
        for columns in np.array_split(order, 2)
    )
    return replace(own, source=source)


def _doubled(digits: Data) -> Data:
    """Return every pixel as a block of 2 x 2: small digits have too few columns to halve."""
    height, width = digits.shape
    places = np.arange(height * width).reshape(height, width).repeat(2, axis=0).repeat(2, axis=1)
    X_train, X_test = (X[:, places.ravel()] for X in (digits.X_train, digits.X_test))
    return replace(
        digits,
        X_train=X_train,
        X_test=X_test,
        shape=(2 * height, 2 * width),
        cells=np.arange(places.size),
    )


def _halved(X: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the means of blocks of 2 x 2 pixels, (n_samples, n_nodes / 4)."""
    height, width = shape
    blocks = X.reshape(len(X), height // 2, 2, width // 2, 2)
    return blocks.mean(axis=(2, 4)).reshape(len(X), -1)
