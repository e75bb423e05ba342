"""The repository's address: one value in _config.yml, the same wherever it is copied."""

import re
import shutil

import pytest

from tests.site.conftest import ROOT
from tools import set_repository as tool

ADDRESS = re.compile(r"(?:github\.com|/github)/([\w.-]+/[\w-]+)")
FORK = "a-teacher-nobody-has-met/their-own-course"


def contents(root):
    return {path.relative_to(root): path.read_bytes() for path in tool.places(root)}


def test_all_copies_of_the_address_equal_the_one_in_config():
    slug = tool.current(ROOT)
    names = (slug.split("/")[1], "scratchformer")
    for path in tool.places(ROOT):
        addresses = ADDRESS.findall(path.read_bytes().decode("utf-8", errors="ignore"))
        ours = {a.removesuffix(".git") for a in addresses if a.split("/")[1] in names}
        assert ours <= {slug}, path.relative_to(ROOT)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"git+https://github.com/{slug}" in path.read_text(encoding="utf-8"), path.name


def test_a_new_address_is_set_everywhere_once_and_no_other_is_changed_and_it_can_be_taken_back(
    tmp_path,
):
    copy = tmp_path
    for path in tool.places(ROOT):
        if b"github" in path.read_bytes():
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    old = tool.current(copy)
    owner, name = old.split("/")
    forms = """https://github.com/{0}/{1} git+https://github.com/{0}/{1}.git https://{0}.github.io/{1}/
        https://colab.research.google.com/github/{0}/{1}/blob/main/notebooks/01_bpe.ipynb"""
    others = f" https://github.com/{old}-other https://github.com/{old}.x github.com/x/{name}"
    page = copy / "a-folder-of-tomorrow.md"
    page.write_text(forms.format(owner, name) + others, encoding="utf-8")
    before = contents(copy)
    changed = tool.set_repository(copy, f"https://github.com/{FORK}.git/")
    assert {copy / "_config.yml", page} <= set(changed) and tool.current(copy) == FORK
    assert page.read_text(encoding="utf-8") == forms.format(*FORK.split("/")) + others
    assert tool.set_repository(copy, f"https://github.com/{FORK}") == []
    with pytest.raises(ValueError, match=r"expected https://github\.com/<owner>/<name>"):
        tool.set_repository(copy, "https://gitlab.com/owner/name")
    tool.set_repository(copy, "https://github.com/Teacher/teacher.github.io")  # its owner's site
    assert "url: https://Teacher.github.io/\n" in (copy / "CITATION.cff").read_text("utf-8")
    tool.set_repository(copy, f"https://github.com/{old}")
    assert contents(copy) == before
