"""A transformer that turns the rows of a table into images, one pixel for each column."""

from typing import Any, Literal, Self

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import (
    _check_feature_names_in,  # the only way to the names that scikit-learn itself uses
    check_is_fitted,
    validate_data,
)

from walkconv._checks import as_array, as_real, check_number
from walkconv.images.pixels import own_pixels
from walkconv.layouts import layout_columns


# Images are no frames, so there is no set_output.
class ColumnLayout(  # pyright: ignore[reportGeneralTypeIssues]
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # pyright: ignore[reportCallIssue]
):
    """Turn rows of a table into images in which related columns are near pixels.

    Each column has a pixel of its own, so no value is lost and `inverse_transform` is exact. The
    layout comes from the values alone (`layout_columns`). Values are moved, not scaled.

    Parameters
    ----------
    n_dims : "auto", 1, 2 or 3, default "auto"
        Axes of the images. "auto" takes the kind of layout that is found: a line or ring has one
        axis, a plane two and a volume three. If the table has no such structure, the images have
        two axes and `kind_` is "none".
    fill : float, default 0.0
        Value of the pixels without a column.

    Attributes
    ----------
    layout_ : Layout
        Positions of the columns, with the reason for its kind.
    kind_ : "none", "line", "ring", "plane" or "volume"
        The kind of `layout_`.
    image_shape_ : tuple of int
        Shape of one image, without channels.
    n_channels_ : int
        Channels of a pixel: the number of columns measured at one place.
    pixel_ : ndarray of shape (n_columns, n_dims), int64
        The pixel of each column.
    channel_ : ndarray of shape (n_columns,), int64
        The channel of each column in its pixel.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import ColumnLayout
    >>> rng = np.random.default_rng(0)
    >>> series = np.cumsum(rng.normal(size=(500, 40)), axis=1)
    >>> X = series[:, rng.permutation(40)]
    >>> layout = ColumnLayout(n_dims=1).fit(X)
    >>> images = layout.transform(X)
    >>> images.shape == (500, *layout.image_shape_)
    True
    >>> bool((layout.inverse_transform(images) == X).all())
    True
    """

    def __init__(self, *, n_dims: int | Literal["auto"] = "auto", fill: float = 0.0):
        self.n_dims: int | Literal["auto"] = n_dims
        self.fill = fill

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find a pixel for every column.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_columns)
            Missing values (NaN) are allowed.
        y : ignored

        Returns
        -------
        ColumnLayout
        """
        check_number(self.fill, "fill", minimum=-np.inf, is_open=True)
        X = _table(self, X, reset=True)
        self.layout_ = layout_columns(X, n_dims=self.n_dims)
        self.kind_ = self.layout_.kind
        pixel, self.image_shape_ = own_pixels(self.layout_.positions, self.layout_.period)
        self.pixel_ = pixel[self.layout_.node]
        self.channel_ = self.layout_.channel
        self.n_channels_ = int(self.channel_.max()) + 1
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the rows as images.

        Parameters
        ----------
        X : array or DataFrame of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, height, width), or (n_samples, height, width, n_channels)
            (n, length), (n, height, width) or (n, depth, height, width), with the channels last
            where a pixel has several. float32 for float32, else float64.
        """
        check_is_fitted(self)
        X = _table(self, X, reset=False)
        images = np.full((len(X), self._n_values), self.fill, dtype=X.dtype)
        images[:, self._value_index] = X
        return images.reshape(len(X), *self._value_shape)

    def inverse_transform(self, images: Any) -> np.ndarray:
        """Return the rows of images: the values of the pixels that hold a column.

        Parameters
        ----------
        images : array of shape (n_samples, height, width), with channels also n_channels
            As `transform` returns them.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        images = as_array(images, "images")
        if images.ndim == 0 or images.shape[1:] != self._value_shape:
            raise ValueError(
                f"images must have the shape (n_samples, {', '.join(map(str, self._value_shape))}) "
                f"that transform returns; got {images.shape}."
            )
        return images.reshape(len(images), self._n_values)[:, self._value_index]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the column in each pixel, for images flattened to rows.

        Parameters
        ----------
        input_features : array of str of shape (n_columns,), optional
            Names of the columns, if `fit` saw none.

        Returns
        -------
        ndarray of shape (n_values,), object
            A pixel without a column is called empty with its number, as in "empty7".
        """
        check_is_fitted(self)
        names = np.array([f"empty{number}" for number in range(self._n_values)], dtype=object)
        names[self._value_index] = _check_feature_names_in(self, input_features)
        return names

    def plot(self, values: Any = None, *, ax: Any = None) -> Any:
        """Draw the columns at their pixels and return the matplotlib axes.

        Parameters
        ----------
        values : array of shape (n_columns,), optional
            Colour of each column, such as a row of the table or importances. By default the number
            of the column. Of several channels the first is drawn.
        ax : matplotlib axes, optional
            Axes to draw on, for images with three axes a 3-D one. By default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self)
        try:
            from matplotlib import pyplot as plt
        except ImportError as error:
            raise ImportError("plot needs matplotlib: pip install matplotlib") from error
        n_columns, n_dims = self.pixel_.shape
        values = np.arange(n_columns) if values is None else as_array(values, "values")
        if values.shape != (n_columns,):
            raise ValueError(
                f"values must have shape (n_columns,) with n_columns = {n_columns}; "
                f"got {values.shape}."
            )
        if ax is None:
            projection = {"projection": "3d"} if n_dims == 3 else {}
            ax = plt.figure().add_subplot(**projection)
        is_first = self.channel_ == 0
        pixel, values = self.pixel_[is_first], values[is_first]
        if n_dims == 3:
            ax.scatter(*pixel.T, c=values)
        else:
            image = np.full(self.image_shape_, np.nan)
            image[tuple(pixel.T)] = values
            ax.imshow(np.atleast_2d(image), aspect="auto" if n_dims == 1 else "equal")
        ax.set_title(f"{n_columns} columns, kind: {self.kind_}")
        return ax

    @property
    def _value_shape(self) -> tuple[int, ...]:
        has_channels = self.n_channels_ > 1
        return (*self.image_shape_, self.n_channels_) if has_channels else self.image_shape_

    @property
    def _n_values(self) -> int:
        return int(np.prod(self._value_shape))

    @property
    def _value_index(self) -> np.ndarray:
        """The place of each column (n_columns,) in a flattened image."""
        pixel = np.ravel_multi_index(tuple(self.pixel_.T), self.image_shape_)
        return pixel * self.n_channels_ + self.channel_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _table(layout: ColumnLayout, X: Any, *, reset: bool) -> np.ndarray:
    """Return a table as a dense array of finite numbers or NaN, checked by scikit-learn."""
    if isinstance(X, pl.DataFrame | pl.LazyFrame) or hasattr(X, "iloc"):
        as_real(as_array(X, "X"), "X")  # scikit-learn does not name what is wrong in a frame
    return validate_data(
        layout,
        X,
        reset=reset,
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        ensure_min_samples=2 if reset else 1,
        ensure_min_features=2 if reset else 1,
    )
