"""Files written whole or not at all: after errors, after kills, with several writers."""

import os
import subprocess
import sys
import time

import pytest
import safetensors.torch
import torch

from scratchformer.files import atomic_write, cache_folder, locked, remove_parts

WRITER = """import sys, time
from scratchformer.files import atomic_write, locked
with locked(sys.argv[2]), atomic_write(sys.argv[1]) as part:
    part.write_text("half of the n")
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_file_appears_and_is_replaced_folders_included_readable_as_any_other(tmp_path):
    path = tmp_path / "new" / "folder" / "file.txt"
    for text in ("first", "second"):
        with atomic_write(path) as part:
            part.write_text(text)
            assert part.parent.parent == path.parent  # on one file system
        assert path.read_text() == text
    with atomic_write(path.with_name("x")) as part:  # safetensors makes files for one user only
        safetensors.torch.save_file({"x": torch.ones(2)}, part)
    assert path.with_name("x").stat().st_mode == path.stat().st_mode
    assert sorted(os.listdir(path.parent)) == ["file.txt", "x"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, None])
def test_an_error_midway_or_nothing_written_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(error or FileNotFoundError), atomic_write(path) as part:
        if error:
            part.write_text("half of the n")
            raise error
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file.txt"]


def test_a_kill_while_writing_leaves_the_old_file_whole_and_no_lock(tmp_path):
    path, folder = tmp_path / "file.txt", tmp_path / "locked"
    path.write_text("old")
    command = [sys.executable, "-c", WRITER, str(path), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(BlockingIOError, match="another process is writing to"), locked(folder):
            pass
        process.kill()
    with locked(folder):
        assert path.read_text() == "old"
    with atomic_write(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    (left,) = tmp_path.glob(".file.txt.*.part")  # it may be another writer's who is alive
    (left / ".tmpXYZ").write_text("what a library wrote under a name of its own")
    for part in (left, *left.iterdir()):
        os.utime(part, (time.time() - 3700,) * 2)
    (other := tmp_path / ".file.txt.old.part.txt").write_text("not ours")
    os.utime(other, (0, 0))
    with atomic_write(path) as part:
        part.write_text("newer")
    (tmp_path / ".file.txt.4567.part").write_text("half")
    remove_parts(path)  # of any age
    assert sorted(os.listdir(tmp_path)) == [other.name, "file.txt", "locked"]


def test_a_link_stays_a_link_and_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.txt", tmp_path / "link.txt"
    link.symlink_to(real)
    for text in ("first", "second"):
        with atomic_write(link) as part:
            part.write_text(text)
        assert link.is_symlink() and real.read_text() == text
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "far", tmp_path / "pipe", "/dev/null"):
        with pytest.raises(OSError, match="is a folder or a device"), atomic_write(path):
            pytest.fail("it was written to")
    assert sorted(os.listdir(tmp_path)) == ["far", "link.txt", "pipe"]


def test_a_lock_leaves_no_folder_behind_after_an_error(tmp_path, monkeypatch):
    with pytest.raises(KeyError), locked(f"{tmp_path}/a/b"):
        raise KeyError
    assert os.listdir(tmp_path) == []
    monkeypatch.setenv("SCRATCHFORMER_CACHE", "~/cache")
    assert cache_folder().parts[-1] == "cache" and cache_folder().is_absolute()
