"""How far a reader must go to follow a call: files entered, and work that is done once."""

import pytest

from benchmarks import trace_journeys


@pytest.fixture(scope="module")
def journeys(tmp_path_factory):
    path = tmp_path_factory.mktemp("journeys") / "model.safetensors"
    trace_journeys.fit_and_save(path)  # what is imported or compiled on first use does not count
    return {
        "fit": trace_journeys.fit_and_save(path),
        "predict": trace_journeys.load_and_predict(path),
        "graphs": trace_journeys.fit_graphs(),
    }


@pytest.mark.parametrize(("name", "most", "most_in_room"), [("fit", 30, 9), ("predict", 20, 9)])
def test_a_call_passes_through_few_files(journeys, name, most, most_in_room):
    assert len(journeys[name].files) <= most
    assert len(journeys[name].in_room("estimators")) <= most_in_room


@pytest.mark.parametrize("name", ["fit", "predict", "graphs"])
def test_settings_and_architecture_are_read_once(journeys, name):
    calls = journeys[name].calls
    assert (calls["check_settings"], calls["parse_architecture"]) == (1, 1)


def test_every_graph_of_a_list_is_checked_once(journeys):
    assert journeys["graphs"].calls["as_graph"] == 16
