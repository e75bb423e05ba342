"""The repository's address: one value in _config.yml, the same wherever it is copied."""

import re
import shutil
from pathlib import Path

import pytest

from tools import set_repository as tool

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = re.compile(r"(?:github\.com|/github)/([\w.-]+/[\w-]+)")
FORK = "a-teacher-nobody-has-met/their-own-course"


@pytest.fixture
def copy(tmp_path) -> Path:
    """A folder with three of the files that hold an address."""
    for name in ("_config.yml", "README.md", "CITATION.cff"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def contents(root):
    return {path.relative_to(root): path.read_bytes() for path in tool.places(root)}


def test_all_copies_of_the_address_equal_the_one_in_config():
    slug = tool.current(ROOT)
    name = slug.split("/")[1]
    for path in tool.places(ROOT):
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found = {
            address.removesuffix(".git")
            for address in ADDRESS.findall(text)
            if address.split("/")[1] in (name, "scratchformer") or "YOUR_ACCOUNT" in address
        }
        assert found <= {slug}, path.relative_to(ROOT)
    assert f"github.com/{slug}" in (ROOT / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"git+https://github.com/{slug}" in path.read_text(encoding="utf-8"), path.name


def test_a_new_address_is_set_everywhere_once_and_can_be_taken_back(copy):
    for path in tool.places(ROOT):
        if b"github" in path.read_bytes():
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    page, built = copy / "a-folder-of-tomorrow" / "page.toml", copy / "_build" / "page.toml"
    for path in (page, built):
        path.parent.mkdir()
        path.write_text(f'home = "https://github.com/{tool.current(copy)}"', encoding="utf-8")
    before, old = contents(copy), tool.current(copy)
    changed = tool.set_repository(copy, f"https://github.com/{FORK}.git/")
    assert {copy / "_config.yml", page} <= set(changed)
    assert tool.current(copy) == FORK and old in built.read_text(encoding="utf-8")
    after = contents(copy)
    for path, text in after.items():
        assert not any(form.encode() in text for form in tool.forms(old)), path
    assert tool.set_repository(copy, f"https://github.com/{FORK}") == []
    assert contents(copy) == after
    tool.set_repository(copy, f"https://github.com/{old}")
    assert contents(copy) == before


def test_every_form_of_the_address_is_changed_and_no_other_address(copy):
    old = tool.current(copy)
    owner, name = old.split("/")
    forms = """https://github.com/{0}/{1} git+https://github.com/{0}/{1}.git https://{0}.github.io/{1}/
        https://colab.research.google.com/github/{0}/{1}/blob/main/notebooks/01_bpe.ipynb
        (https://github.com/{0}/{1})."""
    others = f" https://github.com/{old}-other https://github.com/{old}.x github.com/x/{name}"
    page = copy / "README.md"
    page.write_text(forms.format(owner, name) + others, encoding="utf-8")
    tool.set_repository(copy, f"https://github.com/{FORK}")
    assert page.read_text(encoding="utf-8") == forms.format(*FORK.split("/")) + others


def test_a_repository_that_is_its_owners_site_has_that_sites_address(copy):
    old, citation = tool.current(copy), copy / "CITATION.cff"
    before, another = citation.read_text("utf-8"), "# https://Teacher.github.io/another/\n"
    tool.set_repository(copy, "https://github.com/Teacher/teacher.github.io")
    text = citation.read_text("utf-8")
    assert "repository-code: https://github.com/Teacher/teacher.github.io\n" in text
    assert "url: https://Teacher.github.io/\n" in text
    citation.write_text(text + another, encoding="utf-8")
    tool.set_repository(copy, f"https://github.com/{old}")
    assert citation.read_text("utf-8") == before + another


def test_what_is_no_repository_is_refused_and_changes_nothing(copy):
    before = contents(copy)
    for url in (
        "",
        "github.com/owner/name",
        "https://gitlab.com/owner/name",
        "https://github.com/owner",
        "https://github.com/-owner/name",
        "https://github.com/owner/..",
        "https://github.com/owner/name; rm -rf",
    ):
        with pytest.raises(ValueError, match=r"expected https://github\.com/<owner>/<name>"):
            tool.set_repository(copy, url)
    assert contents(copy) == before
