import sys

import numpy as np
import polars as pl
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from walkconv import GraphCNNRegressor, plots


def test_the_layout_has_a_dot_for_each_column_coloured_by_the_values(model):
    axes = plots.layout(model, values=np.arange(10))
    (dots,) = axes.collections
    assert len(dots.get_offsets()) == 10
    np.testing.assert_array_equal(dots.get_array(), np.arange(10))


def test_the_layout_shows_positions_that_the_model_uses(oriented):
    dots = plots.layout(oriented).collections[0].get_offsets()
    assert np.corrcoef(dots[:, 0], oriented.positions_[:, 0])[0, 1] > 0.999
    # As the map of a report: the second axis goes down.
    assert np.corrcoef(dots[:, 1], oriented.positions_[:, 1])[0, 1] < -0.999


def test_values_of_another_length_are_refused(model):
    with pytest.raises(ValueError, match=r"one number for each of 10 columns; got shape \(3,\)"):
        plots.layout(model, values=[1, 2, 3])


@pytest.mark.parametrize("column", ["c4", 4])
def test_the_neighbourhood_numbers_the_neighbours_by_rank(model, column):
    axes = plots.neighborhood(model, column)
    places = plots.layout(model).collections[0].get_offsets()
    assert axes.get_title() == "c4"
    for rank, other in enumerate(model.neighbors_.index[4]):
        assert axes.texts[rank].get_text() == str(rank + 1)
        np.testing.assert_allclose(axes.texts[rank].xy, places[other])


def test_an_unknown_column_is_refused_with_the_closest_name(model):
    with pytest.raises(ValueError, match=r"must be a column of the model; got 'c44'.*c4"):
        plots.neighborhood(model, "c44")
    with pytest.raises(ValueError, match="a number from 0 to 9; got 10"):
        plots.neighborhood(model, 10)


def test_a_name_is_not_read_as_a_formula(model):
    axes = plots.neighborhood(model, 0)
    axes.figure.canvas.draw()  # a broken formula would raise an error here
    assert axes.get_title() == "$\\frac{"
    ranking = model.importance(pl.DataFrame(np.eye(10), schema=list(model.feature_names_in_)))
    plots.importance(ranking).figure.canvas.draw()


def test_filters_by_rank_are_bars_of_the_weights(model):
    every = plots.filters(model, n_filters=2)
    weights = model.module_.convolutions[0].weight.detach().numpy()[:, 0]
    strongest = weights[:, np.abs(weights).max(axis=0).argmax()]
    np.testing.assert_allclose([bar.get_height() for bar in every[0].patches], strongest)
    assert len(every) == 2


def test_filters_of_a_plane_are_pictures(oriented):
    every = plots.filters(oriented)
    images = [axes.get_images()[0].get_array() for axes in every]
    assert [image.shape for image in images] == [(3, 3)] * 3
    weights = oriented.module_.convolutions[0].weight.detach().numpy()[:, 0]
    assert {round(float(image[1, 1]), 5) for image in images} == {
        round(float(weight), 5) for weight in weights[0]
    }


def test_the_history_has_a_loss_and_a_score_for_each_member(model):
    axes = plots.history(model)
    assert len(axes.lines) == 2
    losses = [record["loss"] for record in model.history_ if record["member"] == 0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), losses)
    (scores,) = [other for other in axes.figure.axes if other is not axes]
    assert len(scores.lines) == 2


def test_the_most_important_column_is_on_top(model):
    ranking = model.importance(pl.DataFrame(np.eye(10), schema=list(model.feature_names_in_)))
    axes = plots.importance(ranking, n_columns=3)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ranking["column"][:3].to_list()
    assert axes.yaxis_inverted()


def test_plots_go_to_the_axes_that_are_given(model):
    figure, given = plt.subplots()
    assert isinstance(given, Axes)
    assert plots.layout(model, ax=given) is given
    assert plots.history(model, ax=given) is given
    assert figure.axes[0] is given


def test_a_model_without_neighbours_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 4))
    model = GraphCNNRegressor("", max_iter=1, n_members=1).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="with a C layer"):
        plots.layout(model)
    with pytest.raises(ValueError, match="must have a first convolution"):
        plots.filters(model)


def test_without_matplotlib_the_error_names_the_remedy(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install walkconv\[plots\]"):
        plots.history(model)
