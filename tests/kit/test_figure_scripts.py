"""Every script and style that a live figure needs is there, and each is some figure's."""

import pytest

from scratchformer_course.kit.figure.scripts import (
    LOADER,
    PACKAGE,
    SCRIPT,
    STYLE,
    files_of,
    registered,
)

VIEWS = sorted(path.stem for path in (PACKAGE / "page_model" / "views").glob("*.js"))


def test_all_that_figures_need_is_there_and_no_script_and_no_style_belongs_to_none():
    named = {STYLE, LOADER, SCRIPT}
    for name in registered():
        named |= set(files_of(name, {"views": VIEWS}))
    there = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.[jc]s*")}
    assert {name for name in there if name.endswith((".js", ".css"))} == named


def test_a_name_that_no_script_registers_is_refused():
    with pytest.raises(ValueError, match="'merge' has no scripts"):
        files_of("merge", {})
