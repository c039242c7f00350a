import builtins

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib import pyplot as plt
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from walkconv import ColumnLayout
from walkconv.images import column_layout


@parametrize_with_checks([ColumnLayout(), ColumnLayout(n_dims=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def series(rng):
    """200 shuffled series of 24 columns."""
    walks = np.cumsum(rng.normal(size=(200, 24)), axis=1)
    return walks[:, rng.permutation(24)]


@pytest.fixture
def colours(monkeypatch, series):
    """Pretend that columns 2 i and 2 i + 1 are two channels of one node, in a plane of 4 x 3."""
    found = column_layout.layout_columns(series[:, :12], n_dims=2)
    fields = {name: getattr(found, name) for name in found.__dataclass_fields__}
    sites = np.stack(np.divmod(np.arange(12), 3), axis=1).astype(float)
    fields |= {"positions": sites, "period": np.zeros(2), "kind": "plane"}
    fields |= {"node": np.repeat(np.arange(12), 2), "channel": np.tile([0, 1], 12)}
    layout = type(found)(**fields)
    monkeypatch.setattr(column_layout, "layout_columns", lambda X, n_dims: layout)
    return series


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_the_way_back_is_exact(series, n_dims):
    series[3, 5] = np.nan
    layout = ColumnLayout(n_dims=n_dims, fill=-7.5).fit(series)
    images = layout.transform(series)
    assert images.shape == (200, *layout.image_shape_)
    assert len(layout.image_shape_) == n_dims
    np.testing.assert_array_equal(layout.inverse_transform(images), series)
    assert (images == -7.5).sum() == 200 * (np.prod(layout.image_shape_) - 24)


def test_neighbors_in_a_series_are_adjacent_pixels(rng):
    walks = np.cumsum(rng.normal(size=(2000, 24)), axis=1)
    order = rng.permutation(24)
    pixel = ColumnLayout(n_dims=1).fit(walks[:, order]).pixel_.ravel()
    in_order = np.empty(24, dtype=int)
    in_order[order] = pixel
    assert (abs(np.diff(in_order)) == 1).mean() > 0.9


def test_each_channel_has_its_own_plane_of_the_image(colours):
    layout = ColumnLayout().fit(colours)
    assert layout.n_channels_ == 2
    images = layout.transform(colours)
    assert images.shape == (200, 4, 3, 2)
    np.testing.assert_array_equal(images[:, 1, 2], colours[:, [10, 11]])
    np.testing.assert_array_equal(layout.inverse_transform(images), colours)


def test_a_table_without_structure_still_becomes_images(rng):
    noise = rng.normal(size=(300, 40))
    layout = ColumnLayout().fit(noise)
    assert layout.kind_ == layout.layout_.kind == "none"
    assert layout.layout_.reason
    assert len(layout.image_shape_) == 2
    np.testing.assert_array_equal(layout.inverse_transform(layout.transform(noise)), noise)


def test_names_stand_at_the_pixels_of_their_columns(series):
    names = [f"c{i}" for i in range(24)]
    layout = ColumnLayout(n_dims=2).fit(pd.DataFrame(series, columns=names))
    flat = layout.get_feature_names_out().reshape(layout.image_shape_)
    assert [flat[tuple(pixel)] for pixel in layout.pixel_] == names
    assert sum(name.startswith("empty") for name in flat.ravel()) == flat.size - 24
    unnamed = ColumnLayout(n_dims=2).fit(series)
    assert set(names) < set(unnamed.get_feature_names_out(names))
    assert "x23" in unnamed.get_feature_names_out()


def test_float32_stays_float32_and_integers_become_float64(series):
    layout = ColumnLayout(n_dims=1)
    assert layout.fit_transform(series.astype(np.float32)).dtype == np.float32
    assert layout.fit_transform((9 * series).astype(np.int64)).dtype == np.float64


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_plot_returns_axes_that_show_the_values(series, n_dims):
    layout = ColumnLayout(n_dims=n_dims).fit(series)
    axes = layout.plot(series[0])
    assert axes.get_title() == f"24 columns, kind: {layout.kind_}"
    if n_dims < 3:
        shown = np.asarray(axes.images[0].get_array()).reshape(layout.image_shape_)
        np.testing.assert_array_equal(shown[tuple(layout.pixel_.T)], series[0])
    assert layout.plot(ax=axes) is axes
    plt.close(axes.figure)


def test_plot_without_matplotlib_says_what_to_install(series, monkeypatch):
    real = builtins.__import__

    def refuse(name, *rest, **others):
        if name == "matplotlib":
            raise ImportError(name)
        return real(name, *rest, **others)

    layout = ColumnLayout(n_dims=1).fit(series)
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        layout.plot()


@pytest.mark.parametrize(
    ("images", "given"), [(np.zeros((2, 3, 3)), r"\(2, 3, 3\)"), (np.zeros(()), r"\(\)")]
)
def test_images_of_another_shape_are_rejected(series, images, given):
    layout = ColumnLayout(n_dims=1).fit(series)
    length = layout.image_shape_[0]
    with pytest.raises(ValueError, match=rf"shape \(n_samples, {length}\) .* got {given}"):
        layout.inverse_transform(images)


def test_bad_settings_and_values_are_rejected(series):
    with pytest.raises(ValueError, match="n_dims must be at most 3"):
        ColumnLayout(n_dims=4).fit(series)
    with pytest.raises(TypeError, match="fill must be a number"):
        ColumnLayout(fill="zero").fit(series)
    with pytest.raises(ValueError, match=r"values must have shape \(n_columns,\)"):
        ColumnLayout(n_dims=1).fit(series).plot(np.zeros(3))


def test_two_fits_agree(series):
    layout = ColumnLayout().fit(series)
    np.testing.assert_array_equal(layout.pixel_, clone(layout).fit(series).pixel_)


def test_a_frame_that_holds_no_numbers_is_refused(series):
    frame = {"a": ["x", "y"], "b": [1.0, 2.0]}
    for X in (pd.DataFrame(frame), pl.DataFrame(frame), pl.DataFrame(series).lazy()):
        with pytest.raises(TypeError, match="X must hold real numbers; got an array of"):
            ColumnLayout().fit(X)
