"""Each script is one function that the loader knows."""

import re

from scratchformer_course.kit.figure.live_figure import LOADER, PACKAGE

SCRIPTS = {
    path.relative_to(PACKAGE.parent).as_posix(): path.read_text(encoding="utf-8")
    for folder in (PACKAGE, PACKAGE.parent / "book" / "_assets")
    for path in sorted(folder.rglob("*.js"))
    if path.relative_to(folder).as_posix() != LOADER
}


def test_all_that_a_script_does_stands_in_the_functions_it_defines():
    assert len(SCRIPTS) > 50
    for name, text in SCRIPTS.items():
        outside = [line for line in text.splitlines() if re.match(r"[^\s/]", line)]
        assert outside[::2] == [line for line in outside if line.startswith("course.define(")], name
        assert set(outside[1::2]) == {"});"}, name
