"""The default: an architecture that held-back training rows choose."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import walkconv.estimators.relations
from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample, grid_graph, load
from walkconv.estimators import trials
from walkconv.estimators.candidates import Situation, list_candidates
from walkconv.estimators.settings import CHOSEN
from walkconv.persistence import ModelFileError, read_file, write_file
from walkconv.training import countdown

QUICK = {"max_iter": 2, "n_members": 1, "random_state": 0}
"""Given settings that keep every candidate cheap."""


def chosen(model):
    return next(each for each in model.choices_ if each["chosen"])


def situations():
    shapes = [
        (40, 3),
        (200, 30),
        (2000, 64),
        (60, 3000),
        (2000, 3000),
        (10_000, 784),
        (90_000, 50_000),
    ]
    for n_rows, n_nodes in shapes:
        for n_dims in range(4):
            for has_graph in (True, False):
                for is_classification in (True, False):
                    yield Situation(False, n_rows, n_nodes, 1, n_dims, has_graph, is_classification)
    yield Situation(True, 100, 0, 1, 0, True, True)


@pytest.mark.parametrize("situation", list(situations()))
def test_every_list_is_short_and_says_whether_the_graph_helps(situation):
    candidates = list_candidates(situation)
    assert 2 <= len(candidates) <= 7
    assert all(each.settings.keys() == CHOSEN.keys() for each in candidates)
    assert len({str(each) for each in candidates}) == len(candidates)
    if not situation.is_graphs:
        assert "linear model" in " ".join(map(str, candidates))
    assert all(each.settings["n_neighbors"] * situation.n_nodes <= 2e6 for each in candidates)
    roles = [each.role for each in candidates]
    if situation.has_graph:
        assert "alone" in roles
        assert ("random" in roles) == (not situation.is_graphs)


def test_the_search_lists_what_it_compared_and_a_file_keeps_it(table, classes, tmp_path):
    model = GraphCNNClassifier(**QUICK).fit(table, classes)
    assert sum(each["chosen"] for each in model.choices_) == 1
    words = [each["candidate"] for each in model.choices_]
    assert any("no neighbours" in each for each in words)
    assert any("random neighbours" in each for each in words)
    assert "random" not in chosen(model)["candidate"]
    assert all(0 <= each["score"] <= 1 and each["seconds"] > 0 for each in model.choices_)
    json.dumps(model.choices_)
    model.save(tmp_path / "m")
    same = load(tmp_path / "m")
    np.testing.assert_array_equal(same.predict_proba(table), model.predict_proba(table))
    untimed = [{k: v for k, v in each.items() if k != "seconds"} for each in model.choices_]
    assert same.choices_ == untimed
    assert same.get_params() == model.get_params()


def test_a_fit_repeats_and_equals_the_chosen_network_fitted_alone(table, values):
    model = GraphCNNRegressor(**QUICK).fit(table, values)
    again = GraphCNNRegressor(**QUICK).fit(table, values)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    alone = GraphCNNRegressor(**QUICK).set_params(**model._fitted.choice.settings)
    assert alone.architecture != "auto"
    np.testing.assert_array_equal(alone.fit(table, values).predict(table), model.predict(table))
    assert model.architecture_ == alone.architecture_ == alone.architecture
    assert alone.choices_ is None


def test_a_setting_that_is_given_holds_for_every_candidate(table, classes):
    model = GraphCNNClassifier(n_neighbors=2, dropout=0.1, **QUICK).fit(table, classes)
    assert model._fitted.settings.dropout == 0.1
    assert "no neighbours" not in chosen(model)["candidate"]
    words = " ".join(each["candidate"] for each in model.choices_)
    assert "2 neighbours" in words
    assert "2 random neighbours" in words
    assert "no neighbours" in words  # compared, and never chosen
    without = GraphCNNClassifier(graph=None, **QUICK).fit(table, classes)
    assert not any("neighbours" in each["candidate"] for each in without.choices_)


def test_columns_on_a_line_get_directions(rng):
    X = rng.normal(size=(300, 60)).cumsum(axis=1)[:, rng.permutation(60)]
    y = (X[:, 7] > X[:, 8]).astype(int)
    model = GraphCNNClassifier(**QUICK).fit(X, y)
    assert any("directions" in each["candidate"] for each in model.choices_)


@pytest.mark.parametrize("shape", [(2, 3), (5, 4), (9, 1), (12, 1), (30, 2), (12, 300)])
def test_tables_of_any_shape_fit(rng, shape):
    X = rng.normal(size=shape)
    y = np.arange(shape[0]) % 2
    model = GraphCNNClassifier(**QUICK).fit(X, y)
    assert set(model.predict(X)) <= {0, 1}
    if shape[0] >= 12:
        assert all(each["score"] is not None for each in model.choices_)
    GraphCNNRegressor(**QUICK).fit(X, X[:, 0]).predict(X)


def test_odd_tables_fit(rng):
    X = rng.normal(size=(40, 6))
    y = np.arange(40) % 2
    y[:1] = 2  # a class of one row
    holes = X.copy()
    holes[rng.random(X.shape) < 0.2] = np.nan
    holes[1:, 0] = np.nan  # missing in most parts of the rows
    constant = X * [1, 0, 0, 0, 0, 0]
    channels = rng.normal(size=(40, 5, 2))
    for table in (X, holes, constant, channels, sp.csr_array(np.maximum(X, 0)), X.astype("f4")):
        model = GraphCNNClassifier(**QUICK).fit(table, y)
        assert model.predict_proba(table).shape == (40, 3)


def test_graph_samples_have_candidates_of_their_own(tmp_path):
    graphs = [GraphSample(grid_graph((n,)), tags=np.arange(n) % 3) for n in range(3, 27)]
    model = GraphCNNClassifier(**QUICK).fit(graphs, np.arange(24) % 2)
    assert all("G" in each["candidate"] for each in model.choices_)
    model.save(tmp_path / "m")
    assert (load(tmp_path / "m").predict(graphs) == model.predict(graphs)).all()


def test_weights_of_rows_and_classes_reach_the_search(table, classes):
    weight = np.linspace(0, 2, len(table))
    model = GraphCNNClassifier(class_weight="balanced", **QUICK).fit(table, classes, weight)
    plain = GraphCNNClassifier(**QUICK).fit(table, classes)
    assert chosen(model)["loss"] != chosen(plain)["loss"]


def test_a_warm_start_and_a_transfer_keep_what_was_chosen(table, classes, monkeypatch):
    model = GraphCNNClassifier(graph="knn", warm_start=True, **QUICK)
    model.fit(table, classes)
    before = model._fitted.choice
    monkeypatch.setattr("walkconv.estimators.fitting.choose", None)  # no second search
    assert model.fit(table, classes)._fitted.choice is before
    assert len(model.history_) == 4
    if any(layer in chosen(model)["candidate"] for layer in ("C8", "C32")):
        moved = model.transfer(2 * table, classes)
        assert moved.architecture != "auto"


def test_a_fit_that_is_continued_does_not_search_again(table, classes, tmp_path, monkeypatch):
    def stop(model):
        if model.n_iter_ == 2:
            raise RuntimeError("stopped")

    whole = GraphCNNClassifier(**QUICK).fit(table, classes)
    with pytest.raises(RuntimeError, match="stopped"):
        GraphCNNClassifier(**QUICK).fit(table, classes, checkpoint=tmp_path / "c", after_epoch=stop)
    monkeypatch.setattr("walkconv.estimators.fitting.choose", None)
    model = GraphCNNClassifier(**QUICK).fit(table, classes, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(model.predict_proba(table), whole.predict_proba(table))
    assert chosen(model)["candidate"] == chosen(whole)["candidate"]


@pytest.mark.parametrize(
    "change",
    [
        lambda choice: choice.pop("choices"),
        lambda choice: choice["settings"].update(architecture="C8-"),
        lambda choice: choice["settings"].update(dropout=10**400),
        lambda choice: choice["settings"].update(max_iter=10**9),
        lambda choice: choice.update(choices=[3]),
    ],
)
def test_a_checkpoint_whose_choice_is_not_whole_is_refused(table, classes, tmp_path, change):
    GraphCNNClassifier(**QUICK).fit(table, classes, checkpoint=tmp_path / "c")
    arrays, content = read_file(tmp_path / "c", "checkpoint")
    change(content["choice"])
    write_file(tmp_path / "c", "checkpoint", arrays, content)
    with pytest.raises(ModelFileError, match="c is not a whole checkpoint: the choice"):
        GraphCNNClassifier(**QUICK).fit(table, classes, checkpoint=tmp_path / "c")


def test_a_fit_that_is_continued_says_what_was_chosen_before(table, classes, tmp_path, capsys):
    GraphCNNClassifier(**QUICK).fit(table, classes, checkpoint=tmp_path / "c")
    GraphCNNClassifier(verbose=1, **QUICK).fit(table, classes, checkpoint=tmp_path / "c")
    assert "candidates, compared before" in capsys.readouterr().err


def test_verbose_says_what_was_chosen(table, classes, capsys):
    model = GraphCNNClassifier(verbose=1, **QUICK).fit(table, classes)
    first = capsys.readouterr().err.splitlines()[0]
    assert chosen(model)["candidate"] in first
    assert "on held-back rows" in first


@pytest.fixture
def by_calls(monkeypatch):
    """Replace the clock of `time_limit` by one on which every look at it takes some time."""

    def use(step):
        def start(limit):
            spent = [0.0]

            def left():
                spent[0] += step
                return limit - spent[0]

            return None if limit is None else left

        monkeypatch.setattr("walkconv.estimators.fitting.start_countdown", start)

    return use


def test_without_time_the_search_ends_and_the_first_candidate_is_fitted(by_calls, table, classes):
    by_calls(1.0)
    model = GraphCNNClassifier(time_limit=0.5, random_state=0).fit(table, classes)
    assert chosen(model)["score"] is None
    assert len(model.history_) == 1  # one step of one epoch


def test_a_time_limit_does_not_go_with_what_must_repeat(table, classes, tmp_path):
    with pytest.raises(ValueError, match="time_limit does not go with a checkpoint"):
        GraphCNNClassifier(time_limit=1).fit(table, classes, checkpoint=tmp_path / "c")
    for wrong in (0, -1, "long", True):
        with pytest.raises((ValueError, TypeError), match="time_limit must be"):
            GraphCNNClassifier(time_limit=wrong).fit(table, classes)


def test_a_countdown_counts_down():
    left = countdown.start_countdown(1e6)
    assert left() > left() > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda choice: choice["settings"].update(verbose=3),
        lambda choice: choice["settings"].update(dropout=2.0),
        lambda choice: choice["settings"].pop("max_iter", choice["settings"].pop("dropout")),
        lambda choice: choice["choices"][0].update(chosen=False),
        lambda choice: choice["choices"][0].update(score="high"),
        lambda choice: choice["choices"][0].update(candidate=1),
        lambda choice: choice["choices"][0].pop("epochs"),
        lambda choice: choice.pop("choices"),
    ],
)
def test_a_choice_that_is_not_whole_is_refused(table, classes, tmp_path, change):
    GraphCNNClassifier(**QUICK).fit(table, classes).save(tmp_path / "m")
    arrays, content = read_file(tmp_path / "m", "model")
    change(content["choice"])
    write_file(tmp_path / "m", "model", arrays, content)
    with pytest.raises(ModelFileError, match="not a whole model"):
        load(tmp_path / "m")


def test_random_neighbors_are_others():
    graph = trials.random_neighbors(30, 5, 0)
    assert (graph.diagonal() == 0).all()
    counts = np.diff(graph.indptr)
    assert (counts == 4).all()


def test_early_stopping_and_validation_rows_go_with_a_search(table, classes):
    model = GraphCNNClassifier(early_stopping=1, **QUICK).fit(table, classes)
    assert all("validation_score" in record for record in model.history_)
    scored = GraphCNNClassifier(**QUICK).fit(
        table[:40], classes[:40], validation_data=(table[40:], classes[40:])
    )
    assert all("validation_score" in record for record in scored.history_)
    plain = GraphCNNClassifier(**QUICK).fit(table[:40], classes[:40])
    assert chosen(scored)["loss"] == chosen(plain)["loss"]


@pytest.mark.parametrize("graph", ["supervised", lambda X, y: np.abs(np.corrcoef(X.T))])
def test_a_graph_that_sees_y_is_learned_from_the_training_part(table, classes, graph, monkeypatch):
    n_rows = []
    find = walkconv.estimators.relations.find_graph

    def watched(*given):
        if not sp.issparse(given[3].settings.graph):  # random neighbours
            n_rows.append(len(given[0]))
        return find(*given)

    monkeypatch.setattr("walkconv.estimators.relations.find_graph", watched)
    GraphCNNClassifier(graph=graph, **QUICK).fit(table, classes)
    assert min(n_rows) < len(table)
    assert n_rows.count(len(table)) <= 1  # the fit of what was chosen


def test_a_linear_model_is_compared_with_the_penalty_that_does_best(rng):
    X = rng.normal(size=(80, 40))
    noise, plain = rng.normal(size=80), X[:, 0] - X[:, 1]
    penalties = []
    for y in (plain + 3 * noise, plain):
        model = GraphCNNRegressor(random_state=0, max_iter=1).fit(X, y)
        words = next(each["candidate"] for each in model.choices_ if "linear" in each["candidate"])
        penalties.append(float(words.split("penalty ")[1]))
    assert penalties[0] > 10 * penalties[1]
    fixed = GraphCNNRegressor(weight_decay=0.03, **QUICK).fit(X, plain)
    assert any(each["candidate"] == "linear model, penalty 0.03" for each in fixed.choices_)


def test_rows_that_come_in_parts_are_never_solved_at_once(table, classes):
    model = GraphCNNClassifier(random_state=0)
    model.partial_fit(table, classes, classes=np.unique(classes).tolist())
    words = [each["candidate"] for each in model.choices_]
    assert "linear model" in words
    assert not any("penalty" in each for each in words)


def test_trainings_of_equal_length_are_not_repeated(table, classes, monkeypatch):
    trained = []
    train = trials.Trials._train

    def watched(self, candidate, division, n_epochs, seconds):
        trained.append((str(candidate), division, n_epochs))
        return train(self, candidate, division, n_epochs, seconds)

    monkeypatch.setattr(trials.Trials, "_train", watched)
    GraphCNNClassifier(**QUICK).fit(table, classes)
    assert len(trained) > 10
    assert len(set(trained)) == len(trained)


def test_the_graph_of_the_columns_is_found_once(table, classes, monkeypatch):
    calls = []
    find = walkconv.estimators.relations.find_graph
    monkeypatch.setattr(
        "walkconv.estimators.relations.find_graph",
        lambda *what: calls.append(what[3].settings.graph) or find(*what),
    )
    GraphCNNClassifier(**QUICK).fit(table, classes)
    assert sum(isinstance(each, str) for each in calls) == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda graph: graph.tolil()])
def test_a_known_graph_and_known_positions_hold_for_every_candidate(table, classes, form):
    graph = form(grid_graph((7,)).toarray()) if form is np.asarray else form(grid_graph((7,)))
    model = GraphCNNClassifier(graph=graph, **QUICK).fit(table, classes)
    assert any("neighbours" in each["candidate"] for each in model.choices_)
    placed = GraphCNNClassifier(order=np.arange(7.0)[:, None], **QUICK).fit(table, classes)
    assert any("directions" in each["candidate"] for each in placed.choices_)


def test_a_given_scorer_decides(table, classes):
    model = GraphCNNClassifier(scoring="neg_log_loss", **QUICK).fit(table, classes)
    assert all(each["score"] < 0 for each in model.choices_)
    assert abs(chosen(model)["loss"] + chosen(model)["score"]) < 0.1
