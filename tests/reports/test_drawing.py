import re

import numpy as np
import pytest
import scipy.sparse as sp

import walkconv as wc
from walkconv.reports.drawing.charts import Line, line_chart, nice_ticks, scatter_chart
from walkconv.reports.drawing.compact_map import draw_compact_map
from walkconv.reports.drawing.filters import draw_filters
from walkconv.reports.drawing.svg import element
from walkconv.reports.summarizing.graph_places import place_nodes
from walkconv.reports.summarizing.places import block_below, place_for_the_eye


def test_text_and_attributes_of_an_element_are_escaped():
    drawn = element("text", "<b>", aria_label='"&')
    assert drawn == '<text aria-label="&#34;&amp;">&lt;b&gt;</text>'


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.93), (-3.2, 17.0), (1e-9, 4e-9), (2.0, 3.0)])
def test_ticks_are_even_and_inside(low, high):
    ticks = nice_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert low - 1e-12 <= ticks[0]
    assert ticks[-1] <= high + 1e-12
    assert np.ptp(np.diff(ticks)) < 1e-9 * (high - low)


def test_epochs_are_whole_numbers():
    drawn = line_chart([Line([1, 2, 3], [0.5, 0.4, 0.3])], title="t", x_label="Epoch", y_label="y")
    numbers = re.findall(r'class="tick middle">([^<]*)<', drawn)
    assert numbers == ["1", "2", "3"]


def test_a_point_above_the_diagonal_is_drawn_above_it():
    drawn = scatter_chart([0.0, 1.0], [1.0, 0.0], title="t", x_label="x", y_label="y")
    (left, high), (right, low) = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert float(left) < float(right)
    assert float(high) < float(low)  # SVG counts downwards


def test_a_filter_of_the_plane_has_its_cells_where_the_map_has_the_neighbours():
    offsets = wc.slot_offsets(9).tolist()
    weights = [0.0] * 9
    weights[offsets.index([1, 0])] = 2.0  # one step along the first axis: to the right
    filters = [{"number": 1, "weights": [weights]}]
    (drawn,) = draw_filters({"offsets": offsets, "filters": filters})
    (cell,) = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*fill-opacity="1"', drawn["picture"])
    side = 92 / 3
    assert [float(end) for end in cell] == pytest.approx([2 * side, side], abs=0.01)


def test_ranks_of_several_channels_are_a_table_of_cells():
    filters = [{"number": 1, "weights": [[1.0, -1.0], [0.5, 0.0], [0.0, 0.0]]}]
    (drawn,) = draw_filters({"offsets": None, "filters": filters})
    assert drawn["picture"].count("<rect") == 6 + 1


@pytest.mark.parametrize("n_columns", [3, 700, 4000])
def test_the_compact_map_has_a_dot_for_each_column_or_for_each_cell(n_columns):
    x, y = np.random.default_rng(0).integers(4000, size=(2, n_columns)).tolist()
    drawn = draw_compact_map(
        {
            "n_columns": n_columns,
            "names": None,
            "x": x,
            "y": y,
            "values": [{"label": "mean", "values": [None] * n_columns}],
            "neighbors": {"index": [-1] * n_columns, "n_listed": 1},
        }
    )
    dots = drawn.count("<circle")
    assert dots == n_columns if n_columns <= 2500 else 100 < dots < 3600


def test_groups_of_columns_are_drawn_apart():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), 20)
    rng.shuffle(group)
    within = (group[:, None] == group) & ~np.eye(120, dtype=bool)
    links = within * (rng.random((120, 120)) < 0.4)
    graph = sp.csr_array((links + links.T).astype(float))
    places = place_for_the_eye(graph)
    gap = np.linalg.norm(places[:, None] - places[None], axis=2)
    nearest = np.argsort(gap, axis=1)[:, 1:6]
    assert (group[nearest] == group[:, None]).mean() > 0.95


def test_a_grid_is_drawn_as_a_plane():
    graph = wc.grid_graph((12, 9))
    places = place_for_the_eye(graph)
    gap = np.linalg.norm(places[:, None] - places[None], axis=2)
    nearest = np.argsort(gap, axis=1)[:, 1:4]
    dense = graph.toarray()
    assert np.mean([dense[i, j] > 0 for i in range(108) for j in nearest[i]]) > 0.95


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 30])
def test_columns_without_relations_still_have_places(n_nodes):
    places = place_for_the_eye(sp.csr_array((n_nodes, n_nodes)))
    assert len(np.unique(places, axis=0)) == n_nodes


def test_lone_columns_stand_below():
    above = np.random.default_rng(0).random((50, 2))
    assert block_below(30, above)[:, 1].max() < above[:, 1].min()


def test_distances_in_a_drawn_graph_follow_the_edges():
    ring = wc.graph_from_edges([range(6), [1, 2, 3, 4, 5, 0]])
    places = place_nodes(ring)
    sides = np.linalg.norm(places - np.roll(places, -1, axis=0), axis=1)
    assert np.ptp(sides) < 0.05


def test_parts_of_a_graph_are_drawn_beside_each_other():
    pairs = wc.graph_from_edges([[0, 2], [1, 3]], n_nodes=5)
    places = place_nodes(pairs)
    gap = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(5)
    assert gap.min() > 0.9
