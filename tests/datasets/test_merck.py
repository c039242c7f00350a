import gzip

import numpy as np
import pytest

from walkconv.datasets import DatasetNotFoundError, load_merck

# D_1 is active in three training molecules, D_7 in two, D_9 in one and D_4 in none.
TRAINING = """MOLECULE,Act,D_1,D_4,D_7,D_9,D_20
M_1,0.5,1,0,0,2,1
M_2,70,3,0,1,0,1
M_3,2,1,0,4.5,0,1
"""
# Another order, one descriptor of its own, D_20 missing.
TEST = """MOLECULE,Act,D_9,D_7,D_1,D_4,D_30
M_4,1,9,7,1,4,3
M_5,2,0,0,0,0,3
"""


def put(folder, *, training=TRAINING, test=TEST, name="METAB"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}_training_disguised.csv").write_text(training)
    (folder / f"{name}_test.csv.gz").write_bytes(gzip.compress(test.encode()))
    return folder


def test_keeps_common_descriptors_that_are_active_often_enough(tmp_path):
    record = load_merck("METAB", data_home=put(tmp_path / "data"), min_active=2)
    assert record.feature_names == ("D_1", "D_7")
    np.testing.assert_array_equal(record.X_train, np.float32([[1, 0], [3, 1], [1, 4.5]]))
    np.testing.assert_array_equal(record.X_test, np.float32([[1, 7], [0, 0]]))
    np.testing.assert_array_equal(record.y_train, [0.5, 70, 2])
    np.testing.assert_array_equal(record.y_test, [1, 2])
    assert record.X_train.dtype == record.X_test.dtype == np.float32
    assert record.molecules_train == ("M_1", "M_2", "M_3")
    assert record.molecules_test == ("M_4", "M_5")
    assert (record.n_rare, record.n_training_only, record.n_test_only) == (2, 1, 1)
    assert record.description == (
        "METAB: 3 training and 2 test molecules, 2 descriptors. Left out: 2 active in fewer than 2 "
        "training molecules, 1 only in the training file, 1 only in the test file."
    )
    assert repr(record) == "Merck(X_train=(3, 2), X_test=(2, 2), 'METAB')"


@pytest.mark.parametrize(
    ("min_active", "kept"),
    [(0, ("D_1", "D_4", "D_7", "D_9")), (1, ("D_1", "D_7", "D_9")), (3, ("D_1",))],
)
def test_min_active_counts_training_molecules(tmp_path, min_active, kept):
    data = put(tmp_path / "data")
    assert load_merck("METAB", data_home=data, min_active=min_active).feature_names == kept


@pytest.mark.parametrize("place", ["data_home", "$WALKCONV_DATA", "cache"])
@pytest.mark.parametrize("subfolder", [".", "merck_dpp4"])
def test_files_are_found_in_every_place(
    tmp_path, monkeypatch, nothing_but_a_cache, place, subfolder
):
    folder = nothing_but_a_cache if place == "cache" else tmp_path / "data"
    put(folder / "another", name="CB1")
    put(folder / subfolder, name="DPP4")
    if place == "$WALKCONV_DATA":
        monkeypatch.setenv("WALKCONV_DATA", str(folder))
    record = load_merck("dpp4", data_home=folder if place == "data_home" else None, min_active=1)
    assert record.source == str(folder / subfolder)


def test_the_error_names_the_files_wanted_and_the_places(tmp_path, monkeypatch):
    folder = put(tmp_path / "data")
    (folder / "METAB_test.csv.gz").unlink()
    monkeypatch.setenv("WALKCONV_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFoundError) as caught:
        load_merck("METAB", data_home=folder)
    message = str(caught.value)
    assert f"{folder}: no METAB_test*.csv[.gz] beside the other" in message
    assert f"$WALKCONV_DATA {tmp_path / 'nowhere'}: no such folder" in message
    assert "Put METAB_training.csv and METAB_test.csv (or the same with .gz)" in message


@pytest.mark.parametrize(
    ("files", "settings", "message"),
    [
        ({}, {"name": "ACT1"}, "name must be one of '3A4', .*; got 'ACT1'"),
        ({}, {"min_active": -1}, "min_active must be at least 0; got -1"),
        ({}, {"min_active": 4}, "none is left. Lower min_active"),
        (
            {"training": TRAINING.replace("Act", "Activity")},
            {},
            r"training_disguised\.csv must have the columns MOLECULE and Act; it has no Act",
        ),
        (
            {"test": TEST.replace("9,7,1", "9,,1")},
            {},
            r"METAB_test\.csv\.gz must have no empty cells; column D_7 has some",
        ),
        (
            {"training": TRAINING.replace("4.5", "many")},
            {},
            r"training_disguised\.csv must be a table of numbers",
        ),
    ],
)
def test_bad_files_and_settings(tmp_path, files, settings, message):
    data = put(tmp_path / "data", **files)
    with pytest.raises(ValueError, match=message):
        load_merck(**{"name": "METAB", "data_home": data, "min_active": 1, **settings})


def test_two_files_of_one_kind_are_ambiguous(tmp_path):
    data = put(tmp_path / "data")
    (data / "METAB_training.csv").write_text(TRAINING)
    with pytest.raises(
        ValueError, match=r"it has METAB_training\.csv, METAB_training_disguised\.csv"
    ):
        load_merck("METAB", data_home=data)
