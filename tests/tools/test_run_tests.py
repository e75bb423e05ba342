"""`make quick` runs what a change touches, and `make test` tells of each part."""

import sys

from tools import run_tests


def test_a_change_touches_its_chapter_its_room_and_its_tests():
    chapters, tests = run_tests.touched(
        [
            "notebooks/08_rotary.ipynb",
            "scratchformer_course/ch11_training/live.js",
            "scratchformer_course/kit/canvas.py",
            "scratchformer_course/tab_trainer/trainer.js",
            "lab/law.py",
            "README.md",
        ]
    )
    assert chapters == ["08", "11"]
    assert tests == ["tests/kit", "tests/lab", "tests/tab_trainer"]


def test_parts_go_on_after_a_failure_and_the_summary_says_which_failed(capsys):
    run = run_tests.Run()
    python = [sys.executable, "-c"]
    output = "SKIPPED [1] no browser\\nRERUN tests/a.py::slow\\nFAILED tests/a.py::b - Error"
    run.part("first", [[*python, f"print('{output}'); raise SystemExit(3)"]])
    run.part("second", [[*python, "import os; print(os.environ['SAID'])"]], "lane | ", SAID="yes")
    assert run.end() == 1
    said = capsys.readouterr().out
    assert "lane | yes" in said and "first: [1] no browser" in said
    assert said.index("tests/a.py::b - Error\n", said.index("Failed:")) > 0
    assert said.index("tests/a.py::slow\n", said.index("Run twice")) > 0
    assert [line.split()[1] for line in said.splitlines() if " min, " in line] == [
        "FAILED",
        "passed",
    ]


def test_every_part_is_run_once_by_make_test():
    lanes = [name for lane in run_tests.LANES for name in lane]
    assert sorted([*run_tests.FIRST, *lanes]) == sorted(run_tests.PARTS)
    assert run_tests.main(["no such part"]) == 2
