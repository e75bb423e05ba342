"""Files written whole or not at all: after errors, after kills, with several writers."""

import os
import subprocess
import sys
import time

import pytest

from scratchformer.files import atomic_write, locked, remove_parts


def start(path, folder):
    """A process that is writing to `path` and has locked `folder`, until it is killed."""
    program = """import sys, time
from scratchformer.files import atomic_write, locked
with locked(sys.argv[2]), atomic_write(sys.argv[1]) as part:
    part.write_text("half of the n")
    print("ready", flush=True)
    time.sleep(60)
"""
    command = [sys.executable, "-c", program, str(path), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_file_appears_and_is_replaced_folders_included(tmp_path):
    path = tmp_path / "new" / "folder" / "file.txt"
    for text in ("first", "second"):
        with atomic_write(path) as part:
            part.write_text(text)
            assert part.parent.parent == path.parent  # on one file system
        assert path.read_text() == text
    assert os.listdir(path.parent) == ["file.txt"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, None])
def test_an_error_midway_or_nothing_written_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(error or FileNotFoundError), atomic_write(path) as part:
        if error:
            part.write_text("half of the n")
            raise error
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file.txt"]


def test_everyone_who_may_read_the_folder_may_read_the_file(tmp_path):
    import safetensors.torch
    import torch

    with atomic_write(tmp_path / "plain") as part:
        part.write_text("as a rule")
    with atomic_write(tmp_path / "weights") as part:  # safetensors makes files for one user only
        safetensors.torch.save_file({"x": torch.ones(2)}, part)
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_kill_while_writing_leaves_the_old_file_whole_and_no_lock(tmp_path):
    path, folder = tmp_path / "file.txt", tmp_path / "locked"
    path.write_text("old")
    process = start(path, folder)
    with pytest.raises(BlockingIOError, match="another process is writing to"), locked(folder):
        pass
    process.kill()
    process.communicate()
    with locked(folder):
        assert path.read_text() == "old"
    with atomic_write(path) as part:
        part.write_text("new")
    assert path.read_text() == "new"
    (left,) = tmp_path.glob(".file.txt.*.part")  # it may be another writer's who is alive
    for part in (left, *left.iterdir()):
        os.utime(part, (time.time() - 3700,) * 2)
    (other := tmp_path / ".file.txt.old.part.txt").write_text("not ours")
    os.utime(other, (0, 0))
    with atomic_write(path) as part:
        part.write_text("newer")
    assert sorted(os.listdir(tmp_path)) == [other.name, "file.txt", "locked"]


def test_what_a_killed_writer_put_beside_its_file_goes_with_it(tmp_path):
    path = tmp_path / "file.txt"
    folder = tmp_path / ".file.txt.0123.part"
    folder.mkdir()
    (folder / ".tmpXYZ").write_text("what a library wrote under a name of its own")
    (tmp_path / ".file.txt.4567.part").write_text("half")
    remove_parts(path)
    assert os.listdir(tmp_path) == []


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    before = sorted(os.listdir(tmp_path))
    for path in (tmp_path / "folder", tmp_path / "pipe", tmp_path / "link", "/dev/null"):
        with pytest.raises(OSError, match="is a folder or a device"), atomic_write(path):
            pytest.fail("it was written to")
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_stays_a_link(tmp_path, exists):
    (tmp_path / "far").mkdir()
    real, link = tmp_path / "far" / "real.txt", tmp_path / "link.txt"
    if exists:
        real.write_text("old")
    link.symlink_to(real)
    with atomic_write(link) as part:
        part.write_text("new")
    assert link.is_symlink() and real.read_text() == "new"
    assert os.listdir(tmp_path / "far") == ["real.txt"]
