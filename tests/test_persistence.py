"""One file holds arrays and settings, whole or not at all."""

import hashlib
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from walkconv.persistence import FORMAT, ModelFileError, read_file, write_file

ARRAYS = {
    "floats": np.linspace(0, 1, 5, dtype=np.float32),
    "table": np.arange(6).reshape(2, 3),
    "signs": np.array([1, -1, 0], dtype=np.int8),
    "flags": np.array([True, False]),
    "number": np.array(3.0),
    "nothing": np.zeros((0, 4)),
}
SETTINGS = {"name": "größe", "rate": 0.1, "list": [1, None, True], "nested": {"a": "b"}}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.safetensors"
    write_file(path, "note", ARRAYS, SETTINGS)
    return path


def test_a_round_trip_changes_nothing(path):
    arrays, settings = read_file(path, "note")
    assert settings == SETTINGS
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert os.listdir(path.parent) == [path.name]


def test_slices_and_transposes_are_written_as_they_look(tmp_path):
    table = np.arange(12.0).reshape(3, 4)
    write_file(tmp_path / "a", "note", {"t": table.T, "s": table[:, ::2]}, {})
    arrays, _ = read_file(tmp_path / "a", "note")
    np.testing.assert_array_equal(arrays["t"], table.T)
    np.testing.assert_array_equal(arrays["s"], table[:, ::2])


def test_other_programs_can_read_the_arrays(path):
    np.testing.assert_array_equal(load_file(path)["table"], ARRAYS["table"])


def test_every_truncation_is_noticed(path, tmp_path):
    content = path.read_bytes()
    cut = tmp_path / "cut"
    for length in range(len(content)):
        cut.write_bytes(content[:length])
        with pytest.raises(ModelFileError):
            read_file(cut, "note")


@pytest.mark.parametrize("mask", [0x01, 0x80])
def test_every_changed_byte_is_noticed_or_harmless(path, tmp_path, mask):
    content = path.read_bytes()
    changed = tmp_path / "changed"
    n_noticed = 0
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= mask
        changed.write_bytes(flipped)
        try:
            arrays, settings = read_file(changed, "note")
        except ModelFileError:
            n_noticed += 1
        else:  # the versions are for people, and not part of the digest
            assert settings == SETTINGS
            assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)
    assert n_noticed > 0.8 * len(content)


def test_a_pickle_under_another_name_runs_no_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "owned"),))

    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(ModelFileError, match="must be a whole safetensors file"):
        read_file(path, "note")
    assert not (tmp_path / "owned").exists()


def rewritten(path, **changes):
    """The same file with another header."""
    header = json.loads(_metadata(path)["walkconv"])
    header.update(changes)
    save_file(load_file(path), path, {"walkconv": json.dumps(header)})


def _metadata(path):
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length])["__metadata__"]


def test_the_header_names_the_versions(path):
    header = json.loads(_metadata(path)["walkconv"])
    assert header["format"] == FORMAT
    assert set(header["versions"]) == {"python", "walkconv", "numpy", "scikit-learn", "torch"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": FORMAT + 1}, "has format 2; this version of walkconv reads up to 1. Update"),
        ({"kind": "letter"}, "must be a note; it is a letter"),
        ({"format": "one"}, "a header that cannot be read"),
        ({"digest": None}, "a header that cannot be read"),
        ({"settings": {}}, "a header that cannot be read"),
        ({"settings": "{}"}, "its contents have changed"),
        ({"digest": "0" * 64}, "its contents have changed"),
    ],
)
def test_bad_headers(path, changes, message):
    rewritten(path, **changes)
    with pytest.raises(ModelFileError, match=message):
        read_file(path, "note")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("[" * 100_000, "settings that cannot be read"),
        ("{", "settings that cannot be read"),
        ("1" * 5000, "settings that cannot be read"),
        ("[" + "[]," * 2_000_000 + "[]]", "a header that cannot be read"),
        ("[]", "settings that are no record"),
        ("\ud800", "settings that are not text"),
    ],
    ids=["deep", "not JSON", "digits", "wide", "a list", "half a letter"],
)
def test_settings_that_no_walkconv_wrote_are_refused(tmp_path, settings, message):
    path = tmp_path / "a"
    header = {"format": FORMAT, "kind": "note", "settings": settings}
    header["digest"] = hashlib.sha256(settings.encode(errors="replace")).hexdigest()
    save_file({}, path, {"walkconv": json.dumps(header)})
    with pytest.raises(ModelFileError, match=message):
        read_file(path, "note")


@pytest.mark.parametrize("header", ["[" * 100_000, '{"format": 1e999, "kind": "note"}', "1" * 5000])
def test_headers_that_no_walkconv_wrote_are_refused(tmp_path, header):
    save_file({}, tmp_path / "a", {"walkconv": header})
    with pytest.raises(ModelFileError, match="a has a header that cannot be read"):
        read_file(tmp_path / "a", "note")


def test_a_file_of_very_many_arrays_is_refused(tmp_path):
    save_file({str(i): np.zeros(0) for i in range(2**16 + 1)}, tmp_path / "a")
    with pytest.raises(ModelFileError, match="it has 65537 arrays; the most are 65536"):
        read_file(tmp_path / "a", "note")


def test_files_of_others(tmp_path):
    path = tmp_path / "other.safetensors"
    for metadata in (None, {"format": "pt"}, {"walkconv": "["}, {"walkconv": "3"}):
        save_file({"a": np.zeros(3)}, path, metadata)
        with pytest.raises(ModelFileError, match=r"written by walkconv|header that cannot be read"):
            read_file(path, "note")
    path.write_bytes(b"")
    with pytest.raises(ModelFileError, match="cut short or not be a model"):
        read_file(path, "note")
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_file(tmp_path / "none", "note")
    with pytest.raises(ModelFileError, match="must be a regular file; it is a folder"):
        read_file(tmp_path, "note")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="it is a pipe or a device"):
        read_file(tmp_path / "pipe", "note")


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_file(path, "note", {}, {"other": 1})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_it_needs_no_torch():
    program = "import sys, walkconv.persistence; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
