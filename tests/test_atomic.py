"""Files that are written whole or not at all."""

import os

import pytest

from kermes._atomic import require_writable, whole


def test_a_missing_folder_is_named(tmp_path):
    target = tmp_path / "no" / "such" / "r.html"
    with pytest.raises(FileNotFoundError) as caught, whole(target):
        raise AssertionError("nothing may be written")
    assert caught.value.filename == str(target.parent)
    assert not list(tmp_path.iterdir())


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(FileNotFoundError, match=r"No such folder: .*letter'"), whole(tmp_path / "letter" / "r.html"):
        raise AssertionError("nothing may be written")


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "r.html"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), whole(target) as temporary:
        temporary.write_text(str(len("half") / 0))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with whole(target) as temporary:
        temporary.write_text("new")
    assert target.read_text() == "new"


def test_a_device_or_pipe_is_not_replaced_by_a_file(tmp_path):
    """As root, ``-f -o /dev/null`` would leave the machine without it."""
    target = tmp_path / "pipe"
    os.mkfifo(target)
    (tmp_path / "link").symlink_to(target)
    for path in (target, tmp_path / "link"):
        with pytest.raises(FileExistsError, match="left alone"):
            require_writable(path)
        with pytest.raises(FileExistsError, match="left alone"), whole(path):
            raise AssertionError("nothing may be written")
    assert target.is_fifo()
    assert len(list(tmp_path.iterdir())) == 2
