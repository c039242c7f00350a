import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import walkconv
from walkconv._files import check_writable, only_user, whole_file


def test_a_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "a.csv.gz"
    with whole_file(path) as part:
        part.write_text("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert os.listdir(path.parent) == ["a.csv.gz"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def write_half():
        with whole_file(path) as part:
            part.write_text("ne")
            raise KeyError

    with pytest.raises(KeyError):
        write_half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.skipif(os.name == "nt", reason="links and pipes")
def test_links_stay_links_and_pipes_stay_pipes(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with whole_file(tmp_path / "link") as part:
        part.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with whole_file(tmp_path / "pipe") as part:
        assert part == tmp_path / "pipe"
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_folder_is_refused(tmp_path):
    with (
        pytest.raises(IsADirectoryError, match="must be a file; it is a folder"),
        whole_file(tmp_path),
    ):
        pass


def test_a_folder_that_does_not_exist_is_refused_and_not_created(tmp_path):
    path = tmp_path / "results" / "new" / "a.csv"
    message = r"must be in a folder that exists; .*new does not\. Create it first"
    with pytest.raises(FileNotFoundError, match=message), whole_file(path):
        pass
    with pytest.raises(FileNotFoundError, match=message):
        check_writable(path)
    assert os.listdir(tmp_path) == []


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "a").write_text("a file")
    with pytest.raises(NotADirectoryError, match=r"must be in a folder; .*a is a file"):
        check_writable(tmp_path / "a" / "b.csv")
    with pytest.raises(NotADirectoryError), whole_file(tmp_path / "a" / "b.csv"):
        pass


def test_a_live_writer_of_the_same_or_a_similar_name_is_spared(tmp_path):
    for other in ("model", "model.ckpt", "model.x.part"):
        with whole_file(tmp_path / other) as part:
            part.write_text("first")
            with whole_file(tmp_path / "model") as second:
                second.write_text("second")
        assert (tmp_path / other).read_text() == "first"


KILLED = """
import os, signal, sys
from walkconv._files import only_user, whole_file

with only_user(sys.argv[1]), whole_file(sys.argv[1]) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="locks")
def test_the_next_write_removes_what_a_killed_one_left(tmp_path):
    path, other = tmp_path / "model", tmp_path / "model.ckpt"
    for each in (path, other):
        run = subprocess.run([sys.executable, "-c", KILLED, each], check=False)
        assert run.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 4
    with only_user(path), whole_file(path) as part:
        part.write_text("new")
    assert len(os.listdir(tmp_path)) == 3  # and what belongs to the other stays
    with only_user(other), whole_file(other) as part:
        part.write_text("new")
    assert sorted(os.listdir(tmp_path)) == ["model", "model.ckpt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(mode)
    with whole_file(path) as part:
        assert stat.S_IMODE(part.stat().st_mode) & ~mode == 0  # never wider, not for a moment
        part.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="permissions")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_follows_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with whole_file(tmp_path / "new") as part:
            part.write_text("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == mode


@pytest.mark.skipif(os.name == "nt", reason="the length of names")
def test_the_longest_name_can_be_written_and_a_longer_one_is_refused_at_once(tmp_path):
    longest = tmp_path / ("m" * 243 + ".safetensors")
    check_writable(longest)
    with only_user(longest), whole_file(longest) as part:
        part.write_text("new")
    assert longest.read_text() == "new"
    with pytest.raises(OSError, match=r"must be a path to a file; file name too long\."):
        check_writable(tmp_path / ("m" * 256))


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_circle_of_links_is_refused(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="must be a path to a file; too many levels of symbolic"):
        check_writable(tmp_path / "loop")


@pytest.mark.skipif(os.name == "nt", reason="permissions")
def test_a_read_only_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda where, _: where != path)  # root may do all
    with pytest.raises(PermissionError, match="kept must be writable; its permissions"):
        check_writable(path)


@pytest.mark.skipif(os.name == "nt", reason="locks")
def test_a_checkpoint_has_one_user_at_a_time(tmp_path):
    path, found = tmp_path / "c", []

    def use():
        try:
            with only_user(path):
                pass
        except BlockingIOError as error:
            found.append(str(error))

    with only_user(path):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()
        with only_user(tmp_path / "d"):
            pass
    use()
    assert len(found) == 1
    assert "c must have one user at a time; another call is using it. Wait until it" in found[0]
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="pipes")
def test_a_pipe_is_no_checkpoint(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(OSError, match="pipe must be a file; it is a pipe or a device"),
        only_user(tmp_path / "pipe"),
    ):
        pass


@pytest.mark.parametrize("path", [3, None])
def test_what_is_no_path_is_refused(path):
    for take in (check_writable, lambda path: walkconv.load(path)):
        with pytest.raises(TypeError, match=f"A path must be text .*; got {type(path).__name__}"):
            take(path)


@pytest.mark.parametrize("path", ["a\0b", "\ud800", Path("a\0b")])
def test_a_name_that_no_file_can_have_is_refused(path):
    with pytest.raises(ValueError, match="holds characters that no path can hold"):
        check_writable(path)
