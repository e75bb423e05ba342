"""What `AGENTS.md` tells an assistant to read and to run is there, and answers as it says."""

import re
import subprocess
import sys

import nbformat
from readers import NOTEBOOKS, ROOT

from scratchformer_course.__main__ import COMMANDS
from scratchformer_course.teaching.tables import exercises

TEXT = (ROOT / "AGENTS.md").read_text(encoding="utf-8")


def test_the_files_that_it_names_are_there_and_it_is_short():
    files = re.findall(r"\]\(([^)]+)\)", TEXT)
    files += re.findall(r"`((?:book|notebooks|scratchformer(?:_course)?|tests)/[^` ]*)`", TEXT)
    assert [name for name in files if not list(ROOT.glob(name.replace("NN", "06")))] == []
    assert len(TEXT.splitlines()) <= 90


def test_the_headings_that_it_names_are_in_every_chapter_and_fence_off_each_worked_answer():
    quiz, task, worked = "## What you know now", "### Exercise {}", "# @title Worked solution {}"
    assert all(f"`{part.format('N.M')}`" in TEXT for part in (quiz, task, worked))
    for path in NOTEBOOKS:
        text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells)
        assert f"\n{quiz}\n" in text, path.name
        for number in [exercise.number for exercise in exercises(path.stem)]:
            _, after = text.split(task.format(f"{number} "))
            shown = after.split(worked.format(f"{number}\n"))[0]
            assert shown != after and "..." in shown and "checks." in shown, number
            assert "_solution(" not in shown, number


def test_the_check_of_pasted_code_names_its_mistake_and_every_command_is_there(tmp_path):
    code = re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1]
    script = tmp_path / "pasted.py"
    script.write_text(re.sub("^   ", "", code, flags=re.M), encoding="utf-8")
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert "try again" in ran.stdout and "not divided" in ran.stdout
    commands = set(re.findall(r"scratchformer_course (\w+) ", TEXT))
    assert commands <= set(COMMANDS)
