import os
import stat

import pytest

from walkconv._files import whole_file


def test_a_file_appears_when_the_block_ends(tmp_path):
    path = tmp_path / "new" / "a.csv.gz"
    with whole_file(path) as part:
        part.write_text("new")
        assert not path.exists()
        assert part.name.endswith(".csv.gz")
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
