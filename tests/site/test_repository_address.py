"""The repository's address: one value in _config.yml, the same wherever it is copied."""

import json
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
        if slug != tool.PLACEHOLDER:
            assert "YOUR_ACCOUNT" not in text, path.relative_to(ROOT)


def test_readme_and_setup_cells_carry_the_address():
    slug = tool.current(ROOT)
    assert f"github.com/{slug}" in (ROOT / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        assert f"git+https://github.com/{slug}" in code, path.name


def test_a_new_address_is_set_everywhere_once_and_can_be_taken_back(copy):
    for path in tool.places(ROOT):
        if b"github" in path.read_bytes():
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    before, old = contents(copy), tool.current(copy)
    changed = tool.set_repository(copy, f"https://github.com/{FORK}.git/")
    assert copy / "_config.yml" in changed
    assert tool.current(copy) == FORK
    for path, text in contents(copy).items():
        assert f"github.com/{old}".encode() not in text, path
        assert f"/github/{old}".encode() not in text, path
    after = contents(copy)
    assert tool.set_repository(copy, f"https://github.com/{FORK}") == []
    assert contents(copy) == after
    tool.set_repository(copy, f"https://github.com/{old}")
    assert contents(copy) == before


def test_every_form_of_the_address_is_changed_and_no_other_address(copy):
    old = tool.current(copy)
    owner, name = old.split("/")
    lines = [
        "https://github.com/{}",
        "git+https://github.com/{}.git",
        "https://colab.research.google.com/github/{}/blob/main/notebooks/01_bpe.ipynb",
        "(https://github.com/{}).",
    ]
    others = f"\nhttps://github.com/{old}-other https://github.com/{old}.x github.com/x/{name}"
    page = copy / "README.md"
    site = f"\nhttps://{owner}.github.io/{name}/"
    page.write_text("\n".join(lines).replace("{}", old) + site + others, encoding="utf-8")
    tool.set_repository(copy, f"https://github.com/{FORK}")
    expected = (
        "\n".join(lines).replace("{}", FORK)
        + "\nhttps://a-teacher-nobody-has-met.github.io/their-own-course/"
    )
    assert page.read_text(encoding="utf-8") == expected + others


def test_a_repository_that_is_its_owners_site_has_that_sites_address(copy):
    old, before = tool.current(copy), contents(copy)
    citation = copy / "CITATION.cff"
    tool.set_repository(copy, "https://github.com/Teacher/teacher.github.io")
    text = citation.read_text(encoding="utf-8")
    assert "repository-code: https://github.com/Teacher/teacher.github.io\n" in text
    assert "url: https://Teacher.github.io/\n" in text
    citation.write_text(text + "# https://Teacher.github.io/another/\n", encoding="utf-8")
    tool.set_repository(copy, f"https://github.com/{old}")
    assert "# https://Teacher.github.io/another/\n" in citation.read_text(encoding="utf-8")
    tool.set_repository(copy, "https://github.com/Teacher/teacher.github.io")
    citation.write_text(text, encoding="utf-8")
    tool.set_repository(copy, f"https://github.com/{old}")
    assert contents(copy) == before


def test_an_address_changed_by_hand_in_config_alone_is_repaired(copy):
    config = copy / "_config.yml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace(tool.current(copy), "a/b"), encoding="utf-8")
    notebook = copy / "notebooks" / "99_x.ipynb"
    notebook.parent.mkdir(exist_ok=True)
    notebook.write_text('"!pip install git+https://github.com/c/d"', encoding="utf-8")
    tool.set_repository(copy, f"https://github.com/{FORK}")
    assert tool.current(copy) == FORK
    assert f'git+https://github.com/{FORK}"' in notebook.read_text(encoding="utf-8")


def test_a_folder_that_is_new_is_not_forgotten(copy):
    page = copy / "a-folder-of-tomorrow" / "deep" / "page.toml"
    page.parent.mkdir(parents=True)
    page.write_text(f'home = "https://github.com/{tool.current(copy)}"', encoding="utf-8")
    built = copy / "_build" / "page.toml"
    built.parent.mkdir()
    built.write_bytes(page.read_bytes())
    assert page in tool.set_repository(copy, f"https://github.com/{FORK}")
    assert FORK in page.read_text(encoding="utf-8") and FORK not in built.read_text("utf-8")


def test_what_is_no_repository_is_refused_and_changes_nothing(copy):
    before = contents(copy)
    for url in (
        "",
        "github.com/owner/name",
        "http://github.com/owner/name",
        "https://gitlab.com/owner/name",
        "https://github.com/owner",
        "https://github.com/owner/name/tree/main",
        "https://github.com/-owner/name",
        "https://github.com/ow_ner/name",
        "https://github.com/owner/..",
        "https://github.com/owner/.git",
        "https://github.com/owner/name.git.git",
        "https://github.com/owner/name; rm -rf",
    ):
        with pytest.raises(ValueError, match=r"expected https://github\.com/<owner>/<name>"):
            tool.set_repository(copy, url)
    assert contents(copy) == before
