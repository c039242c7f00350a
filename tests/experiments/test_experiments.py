"""The experiments run, keep what they measured, and the page says what was kept."""

import json

import numpy as np
import pytest

from experiments import records, run, tables
from experiments.data import load_data
from experiments.methods import METHODS, _Watch, random_graph
from experiments.preparation import STEPS
from experiments.rows import NO_NETWORKS, PROTOCOLS, read_rows
from experiments.splits import hold_out
from walkconv import select_neighbors

ROWS = [row for table in run.TABLES for row in read_rows(table)]
KEPT = sorted(records.RESULTS.rglob("*.json"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:order='direction' uses a poor layout")  # of a few noisy rows
@pytest.mark.parametrize("table", run.TABLES)
def test_every_row_runs_small(table, capsys):
    pytest.importorskip("torch_geometric")  # and its own warnings are passed over here
    assert run.main([table, "--smoke"]) == 0, capsys.readouterr().out
    n_runs = sum(len(row.settings) for row in read_rows(table))
    assert len(capsys.readouterr().out.splitlines()) == n_runs


def test_every_row_is_run_by_a_method_and_a_protocol_with_enough_seeds():
    assert METHODS.keys() >= NO_NETWORKS
    for row in ROWS:
        assert row.method in METHODS, row.key
        assert row.settings or row.paper, row.key
        is_random = row.method not in {"ols", "ridge", "daily", "last value"}
        for protocol in row.settings:
            assert len(row.seeds[protocol]) >= (3 if is_random else 1), row.key


def test_every_file_is_in_its_table():
    for table in run.TABLES:
        files = {path.stem for path in (tables.TEMPLATE.parent / "configs" / table).glob("*.toml")}
        assert files - {"table"} == {row.key for row in read_rows(table)}


def test_a_run_is_kept_and_then_skipped(results, capsys):
    arguments = ["mnist", "--row", "logistic", "--protocol", "paper", "--seeds", "3"]
    assert run.main(arguments) == 0
    record = json.loads((results / "mnist" / "logistic.paper.3.json").read_text())
    assert [record[key] for key in ("row", "protocol", "seed")] == ["logistic", "paper", 3]
    assert record["score"] == record["history"][-1]["test"]
    assert len(record["history"]) == record["settings"]["max_iter"]
    assert not list((results / "unfinished").iterdir())
    capsys.readouterr()
    assert run.main(arguments) == 0
    assert capsys.readouterr().out == ""


def test_a_run_that_was_killed_ends_like_one_that_was_not(results, monkeypatch, capsys):
    arguments = ["mnist", "--row", "c20", "--protocol", "paper", "--seeds", "0"]
    path = results / "mnist" / "c20.paper.0.json"
    run.main(arguments)
    unbroken = json.loads(path.read_text())
    path.unlink()
    look = _Watch.look

    def killed(self, model):
        if len(model.history_) == 5:
            raise MemoryError
        return look(self, model)

    with monkeypatch.context() as broken:
        broken.setattr(_Watch, "look", killed)
        assert run.main(arguments) == 1
    assert not path.exists()
    assert len(list((results / "unfinished").iterdir())) == 1
    assert run.main(arguments) == 0
    continued = json.loads(path.read_text())
    assert continued["score"] == unbroken["score"]
    assert [e["loss"] for e in continued["history"]] == [e["loss"] for e in unbroken["history"]]
    assert "MemoryError" in capsys.readouterr().out


@pytest.mark.parametrize("changed", [{"settings": {}}, {"method": "ols"}])
def test_a_row_with_other_settings_or_another_method_is_run_again(results, capsys, changed):
    arguments = ["merck", "--row", "ridge", "--seeds", "0"]
    run.main(arguments)
    path = results / "merck" / "METAB" / "ridge.sound.0.json"
    record = json.loads(path.read_text())
    records.write_record(path, record | changed)
    capsys.readouterr()
    run.main(arguments)
    assert "ridge" in capsys.readouterr().out
    assert json.loads(path.read_text())["settings"] == record["settings"]


def test_seeds_are_averaged_also_if_that_was_all_that_was_missing(results):
    arguments = ["merck", "--row", "forest", "--protocol", "sound"]
    run.main(arguments)
    path = results / "merck" / "METAB" / "forest.sound.average.json"
    average = json.loads(path.read_text())
    scores = list(average["scores_of_seeds"].values())
    assert average["score"] > min(scores)
    assert average["score"] == pytest.approx(np.mean(average["scores_of_draws"]), abs=0.1)
    path.unlink()
    run.main(arguments)
    assert json.loads(path.read_text()) == average


def test_a_lead_is_compared_draw_by_draw(results):
    for key, score in [("forest", 0.5), ("boosting", 0.6)]:
        row = next(row for row in read_rows("merck") if row.key == key)
        average = {
            "score": score,
            "scores_of_draws": [score - 0.2, score, score + 0.2 * (key == "forest")],
            "method": row.method,
            "settings": row.settings["sound"],
        }
        records.write_record(records.record_path(row, "sound", "average"), average)
    _, _, forest, c10 = tables.leads("merck", "boosting", "forest", "c10").splitlines()
    assert forest.split("|")[2].strip() == "+0.100 ± 0.115"
    assert c10.split("|")[2].strip() == "not run yet"


def test_another_set_of_the_challenge_has_its_own_records_and_table(results, capsys):
    run.main(["merck", "--set", "DPP4", "--row", "ridge"])
    assert (results / "merck" / "DPP4" / "ridge.sound.0.json").exists()
    capsys.readouterr()
    tables.main(["--set", "DPP4"])
    title, _, *lines = capsys.readouterr().out.splitlines()
    assert title == "DPP4"
    assert "not run yet" not in next(line for line in lines if "ridge" in line)
    with pytest.raises(SystemExit, match="METAB was not run yet"):
        tables.main(["--set", "METAB"])


def test_the_sound_protocol_does_not_look_at_the_test_rows_while_training(results):
    run.main(["mnist", "--row", "logistic", "--protocol", "sound", "--seeds", "0"])
    record = json.loads((results / "mnist" / "logistic.sound.0.json").read_text())
    assert record["history"]
    assert not any("test" in epoch for epoch in record["history"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--row", "c99"], r"--row must be among .*got \['c99'\]"),
        (["--try", "max_iter=1"], "--try is for --validate"),
        (["--validate", "--try", "readout=sum"], "--try takes TOML, .* got readout=sum"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(arguments, message):
    with pytest.raises(SystemExit, match=message):
        run.main(["mnist", *arguments])


def test_a_failed_run_is_reported_and_the_others_go_on(results, monkeypatch, capsys):
    monkeypatch.setitem(METHODS, "ols", lambda *_: 1 / 0)
    assert run.main(["merck", "--row", "ols", "ridge", "--seeds", "0"]) == 1
    out = capsys.readouterr().out
    assert "ZeroDivisionError" in out
    assert "ridge" in out.splitlines()[-1]
    assert not (results / "merck" / "METAB" / "ols.sound.0.json").exists()


def test_rows_held_back_come_from_the_training_rows():
    data = load_data("merck", is_smoke=True)
    held = hold_out(data, seed=0)
    both = np.concatenate([held.X_train, held.X_test])
    assert len(held.y_test) == len(data.y_train) // 6
    np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(data.X_train, axis=0))


def test_random_neighbours_are_the_node_itself_and_others_once():
    index = select_neighbors(random_graph(7, n_neighbors=4, seed=0), n_neighbors=4).index
    assert (index[:, 0] == np.arange(7)).all()
    assert all(len(set(row)) == 4 and -1 not in row for row in index.tolist())
    another = select_neighbors(random_graph(7, n_neighbors=4, seed=1), n_neighbors=4).index
    assert (index != another).any()


@pytest.mark.parametrize("step", STEPS)
def test_preparation_learns_from_the_training_rows_alone(step, rng):
    X, y = rng.poisson(1.0, size=(30, 4)).astype(np.float32), rng.normal(size=30)
    train, test = STEPS[step](X[:20], X[20:], y[:20])
    same, other = STEPS[step](X[:20], 9 * X[20:], y[:20])
    np.testing.assert_array_equal(train, same)
    assert not np.allclose(test, other)
    assert np.isfinite(train).all()


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_was_kept_was_made_with_the_settings_on_file(path):
    record = json.loads(path.read_text())
    row = next(row for row in ROWS if (row.table, row.key) == (record["table"], record["row"]))
    assert record["protocol"] in PROTOCOLS
    assert (record["method"], record["settings"]) == (row.method, row.settings[record["protocol"]])
    if row.parameters is not None:
        assert record["n_parameters"] == row.parameters


def test_the_page_is_current():
    written = tables.PAGE.read_text()
    assert written == tables.render(tables.TEMPLATE.read_text()), "Run `make results`."


def test_the_page_gives_the_mean_and_the_deviation_over_seeds(results):
    row = next(row for row in ROWS if row.key == "c20")
    for seed, score in zip((0, 1, 2), (1.0, 2.0, 3.0), strict=True):
        record = {"method": row.method, "settings": row.settings["sound"], "score": score}
        if seed < 2:
            records.write_record(results / "mnist" / f"c20.sound.{seed}.json", record)
    assert tables.score("mnist", "c20", "sound") == "1.50 ± 0.71 (2 of 3 seeds)"
    records.write_record(results / "mnist" / "c20.sound.2.json", record)
    assert tables.score("mnist", "c20", "sound") == "2.00 ± 1.00"
    records.write_record(results / "mnist" / "c20.sound.2.json", record | {"settings": {}})
    assert tables.score("mnist", "c20", "sound") == "1.50 ± 0.71 (2 of 3 seeds)"


def test_a_table_shows_published_numbers_and_no_empty_column():
    header, _, *lines = tables.table("proteins").splitlines()
    assert "published" in header
    assert "paper's protocol" not in header
    dgcnn = next(line for line in lines if "DGCNN" in line)
    assert "75.5" in dgcnn
    assert "not run yet" not in dgcnn
