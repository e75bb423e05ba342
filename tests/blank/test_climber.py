"""`climb`: its process, what it prints and keeps, and the certificate."""

import pytest

from scratchformer_course.blank import certificate
from scratchformer_course.blank.climber import Climber, main, picture, read_kept, told
from scratchformer_course.blank.empty_files import written


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / "my fíles")
    return tmp_path / "my fíles"


def test_a_loop_without_end_and_a_process_that_ends_get_a_sentence(folder):
    for body, words in (("while True: pass", "never end"), ("__import__('os')._exit(3)", "ended")):
        text = f"def count_pairs(words):\n    {body}\n"
        (folder / "tokenizer.py").write_text(text, "utf-8")
        climber = Climber(folder)
        try:
            said = climber.climb(0, seconds=3.0)
        finally:
            climber.end()
        assert said["state"] == "try again"
        assert words in said["message"]


def test_one_rung_is_climbed_and_kept_whatever_its_file_prints(folder, capfd):
    with (folder / "tokenizer.py").open("a", encoding="utf-8") as file:
        file.write('\nprint("noise")\n')
    assert main([str(folder), "--rung", "2"]) == 0
    assert "Merge a pair" in capfd.readouterr().out
    assert "Merge a pair" in read_kept(folder)
    (folder / "tokenizer.py").write_text("", "utf-8")
    assert main([str(folder), "--rung", "2"]) == 1
    assert "You are at tokenizer.py" in capfd.readouterr().out
    assert "Merge a pair" not in read_kept(folder)


def test_a_folder_that_is_not_there_and_a_damaged_record_are_no_errors(folder, capsys):
    assert main([str(folder / "other")]) == 2
    assert "`blank` makes one" in capsys.readouterr().err
    (folder / "climb.json").write_text("{", "utf-8")
    assert read_kept(folder) == {}


def test_the_way_up_is_a_picture_with_a_sign_for_each_rung():
    drawn = picture({0: "●", 1: "●", 2: "✗"}, {"one": 2, "two": 3}, 1.0)
    lines = [line.split() for line in drawn.splitlines() if line.strip()]
    assert lines[:2] == [["two", *"✗··", "0/3"], ["one", *"●●", "2/2"]]
    assert " ".join(lines[2]) == "2 of 5 rungs, in 1 s"


def test_what_is_said_fits_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    said = {"seconds": 3.0, "message": "some words " * 9 + "\nan `answer(in=one)` of its own line"}
    lines = told(4, "✗", "A title", said).splitlines()
    assert max(map(len, lines)) < 40
    assert lines[0].startswith("  5 ✗ A title (3 s): some")
    assert all(line.startswith(" " * 6) for line in lines[1:])


def test_the_rung_of_minutes_is_climbed_again_by_its_number(folder, capfd):
    (folder / "training.py").write_text("", "utf-8")
    assert main([str(folder), "--rung", "25"]) == 1
    assert "define `two_minutes`" in capfd.readouterr().out


def test_a_certificate_holds_until_its_line_or_its_files_change(folder):
    line = certificate.write(folder, "Ada | Lovelace", {"one": {}, "two": {}})
    path = folder / "certificate.txt"
    assert "2 rungs" in line
    assert certificate.verify(path).startswith("Ada Lovelace: 2 rungs")
    assert "<script" not in (folder / "certificate.svg").read_text("utf-8")
    certificate.write(folder, "<script>", {})
    assert "<script" not in (folder / "certificate.svg").read_text("utf-8")
    path.write_text(line.replace("2 rungs", "3 rungs"), "utf-8")
    with pytest.raises(SystemExit, match="changed after"):
        certificate.verify(path)
    path.write_text(line, "utf-8")
    (folder / "model.py").write_text("other", "utf-8")
    with pytest.raises(SystemExit, match="other files"):
        certificate.verify(path)
    path.write_text("no certificate", "utf-8")
    with pytest.raises(SystemExit, match="no certificate"):
        certificate.verify(path)
