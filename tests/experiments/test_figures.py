"""The figures show what the public functions say, and are the same every time."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

from experiments import records
from experiments.figures import __main__ as figures
from experiments.figures import convergence, convolution, style, visits
from experiments.rows import Row
from walkconv import select_neighbors


def test_the_node_of_figure_1_that_goes_further_needs_two_steps():
    graph, places = convolution.small_graph()
    assert (abs(graph - graph.T) > 0).nnz == 0
    near, far = (convolution._central(graph, places, degree) for degree in (4, 2))
    assert (select_neighbors(graph, n_neighbors=5, n_steps=1).index[near] >= 0).all()
    assert (select_neighbors(graph, n_neighbors=5, n_steps=1).index[far] >= 0).sum() == 3
    assert (select_neighbors(graph, n_neighbors=5, n_steps=2).index[far] >= 0).all()


@pytest.mark.parametrize(("n_steps", "n_reached"), [(1, 9), (4, 81)])
def test_figure_2_shows_all_visits_of_the_walk(n_steps, n_reached):
    row = visits.visits_from_centre(n_steps)
    assert row.sum() == pytest.approx(n_steps + 1)
    assert np.count_nonzero(row) == np.count_nonzero(row[visits.SHOWN, visits.SHOWN]) == n_reached
    assert row.argmax() == 14 * 28 + 14


def test_names_are_moved_apart_and_stay_in_order():
    moved = style.spread([0.5, 0.9, 0.51, 0.505], gap=0.1, highest=0.9)
    assert moved[0] < moved[3] < moved[2] < moved[1] <= 0.9
    assert np.diff(np.sort(moved)).min() > 0.1 - 1e-6
    np.testing.assert_array_equal(style.spread([3.0, 1.0], gap=0.1, highest=9), [3, 1])


def test_names_are_short_where_that_tells_them_apart():
    names = ["C10, random graph", "C10", "DNN, FC4000"]
    assert convergence.short_names(names) == ["C10, random graph", "C10", "DNN"]


def row(key, method="network", protocols=("paper",)):
    settings = {name: {"architecture": "FC2" if "fc" in key else "C2"} for name in protocols}
    seeds = {"paper": (0, 1)}
    return Row("merck", key, key, method, settings=settings, seeds=seeds, merck_set="METAB")


@pytest.fixture
def kept(results, monkeypatch):
    """Two seeds of one network, one of another, a twin, and a row without epochs."""
    rows = [row("forest", "forest"), row("fc2"), row("c2"), row("c2-random"), row("gone")]
    rows.append(row("sound-only", protocols=("sound",)))
    monkeypatch.setattr(convergence, "read_rows", lambda table, merck_set: rows)
    for key, seed, scores in [
        ("forest", 0, []),
        ("fc2", 0, [0.1, 0.2, 0.3]),
        ("fc2", 1, [0.3, 0.4]),
        ("c2", 1, [0.5, 0.6]),
        ("c2-random", 0, [0.7, 0.8]),
    ]:
        history = [{"member": 0, "epoch": e, "test": s} for e, s in enumerate(scores, start=1)]
        history += [{"member": 1, "epoch": 1, "test": 0.0}]
        settings = row(key).settings["paper"]
        record = {"method": "network", "settings": settings, "history": history}
        records.write_record(records.record_path(row(key), "paper", seed), record)
    return results


@pytest.mark.usefixtures("kept")
def test_curves_are_read_from_the_records():
    fully, graph = convergence.read_curves()
    np.testing.assert_array_equal(fully.scores, [[0.1, 0.2], [0.3, 0.4]])
    np.testing.assert_array_equal(graph.scores, [[0.5, 0.6]])
    assert fully.family is convergence.CONNECTED
    assert graph.family is convergence.OURS
    panel = convergence.draw_curves([fully, graph]).axes[0]
    drawn = [[0.1, 0.2], [0.3, 0.4], [0.2, 0.3], [0.5, 0.6], [0.5, 0.6]]
    np.testing.assert_allclose([line.get_ydata() for line in panel.lines], drawn)
    assert [text.get_text() for text in panel.texts] == ["fc2", "c2"]


def test_a_run_with_other_settings_or_another_method_is_not_of_a_row(kept):
    assert len(records.read_records(row("fc2"), "paper")) == 2
    assert records.read_records(row("c2"), "sound") == []
    assert records.read_records(row("fc2", method="gcn"), "paper") == []
    path = kept / "merck" / "METAB" / "fc2.paper.0.json"
    path.write_text(path.read_text().replace("FC2", "FC3"))
    (left,) = records.read_records(row("fc2"), "paper")
    assert left["history"][0]["test"] == 0.3


@pytest.mark.usefixtures("kept")
def test_a_seed_that_learned_nothing_does_not_move_the_curve():
    curve = convergence.read_curves()[0]
    scores = np.array([[0.4, 0.5], [0.0, 0.0], [0.5, 0.6]])
    np.testing.assert_array_equal(replace(curve, scores=scores).median, [0.4, 0.5])


def test_a_figure_without_its_data_is_not_drawn(tmp_path, monkeypatch, capsys):
    def draw():
        raise FileNotFoundError("There is no record of it yet.")

    monkeypatch.setattr(style, "FOLDER", tmp_path)
    monkeypatch.setitem(figures.FIGURES, "figure3_convergence", draw)
    assert figures.main(["figure3_convergence"]) == 0
    assert "not drawn. There is no record" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    with pytest.raises(SystemExit, match=r"Figures are figure1_convolution.*got figure9"):
        figures.main(["figure9"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["figure1_convolution", "figure2_visits", "figure3_convergence"])
def test_the_committed_pictures_are_current(name, tmp_path, monkeypatch):
    committed = (style.FOLDER / f"{name}.svg").read_bytes()
    monkeypatch.setattr(style, "FOLDER", tmp_path)
    figures.main([name])
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".png", ".svg"]
    if f"Matplotlib v{mpl.__version__}".encode() in committed:
        assert (tmp_path / f"{name}.svg").read_bytes() == committed
