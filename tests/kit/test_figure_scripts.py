"""The table of live figures: every script is there, and each is some figure's."""

import re

import pytest

from scratchformer_course.kit.figure.live_figure import PACKAGE
from scratchformer_course.kit.figure.scripts import FILES, LOADER, SCRIPT, STYLE, files_of

REGISTERS = re.compile(r"\bfigures\.(\w+)\s*=")
VIEWS = {path.stem for path in (PACKAGE / "page_model" / "views").glob("*.js")}


@pytest.mark.parametrize("name", FILES)
def test_a_figures_files_are_there_and_one_of_them_registers_it(name):
    paths = [PACKAGE / file for file in files_of(name, {"views": sorted(VIEWS)})]
    assert [path for path in paths if not path.is_file()] == []
    scripts = [path.read_text(encoding="utf-8") for path in paths if path.suffix == ".js"]
    assert name in {found for script in scripts for found in REGISTERS.findall(script)}


def test_no_script_and_no_style_of_the_course_belongs_to_no_figure():
    named = {STYLE, LOADER, SCRIPT}
    for name in FILES:
        named |= set(files_of(name, {"views": sorted(VIEWS)}))
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.[jc]s*")}
    assert {name for name in found if name.endswith((".js", ".css"))} == named


def test_a_name_that_no_script_registers_is_refused():
    with pytest.raises(ValueError, match="'merge' has no scripts"):
        files_of("merge", {})
