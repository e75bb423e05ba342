"""`make classroom`: no answer is left, every stub is, and the notebooks run alone."""

import ast
import base64
import builtins
import os
import re
import shutil
import subprocess
import symtable
import sys
import sysconfig
import zipfile
import zlib
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from readers import NOTEBOOKS, fill, stubs

from tools import classroom

ROOT = Path(__file__).resolve().parents[2]
SHELL = ROOT / "tests" / "lone" / "shell.py"
LEAST = 24  # letters and signs of a line that nobody writes by chance
# a whole model, which the course runs, and lines of the library that faults edit
MODELS = (
    "page_model/speedrun.py",
    "ch23_silent_bugs/edited_library.py",
    "ch23_silent_bugs/faults.py",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What `make classroom` makes of all chapters."""
    made = tmp_path_factory.mktemp("made") / "classroom"
    assert classroom.classroom(NOTEBOOKS, made) == made.with_suffix(".zip")
    with zipfile.ZipFile(made.with_suffix(".zip")) as archive:
        names = {Path(name).name for name in archive.namelist()} - {made.name, ""}
    assert names == {path.name for path in made.iterdir()}
    return made


@pytest.fixture(scope="module")
def package(folder, tmp_path_factory):
    """The students' wheel, unpacked."""
    (wheel,) = folder.glob("*.whl")
    unpacked = tmp_path_factory.mktemp("package")
    zipfile.ZipFile(wheel).extractall(unpacked)
    return unpacked


def cells(path, kind="code"):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == kind]


def parse(source):
    return ast.parse(TransformerManager().transform_cell(source))  # %pip is no Python


def lines(tree):
    """The statements of some code, without spaces, comments and the author's line breaks."""
    parts = [x for x in ast.walk(tree) if isinstance(x, ast.stmt) and not hasattr(x, "body")]
    parts += [x.body for x in ast.walk(tree) if isinstance(x, ast.Lambda)]
    bare = {re.sub(r"\s|^return ", "", ast.unparse(part)) for part in parts}
    return {line for line in bare if len(line) >= LEAST}


def worked_lines(stem):
    """The lines of a chapter's right answers: of its table, and of its worked solutions."""
    tree = parse((ROOT / f"scratchformer_course/ch{stem}/exercises.py").read_text("utf-8"))
    defined = {getattr(node, "name", ""): node for node in tree.body}
    right = [k.value for k in ast.walk(tree) if isinstance(k, ast.keyword) and k.arg == "right"]
    answers = [node for listed in right for node in ast.walk(listed)]
    answers += [defined[n.id] for n in answers if isinstance(n, ast.Name) and n.id in defined]
    sources = [cell.source for cell in cells(ROOT / f"notebooks/{stem}.ipynb")]
    answers += [parse(text) for text in sources if text.startswith("# @title Worked solution")]
    found = set().union(*map(lines, answers))
    return {line for line in found if not line.startswith(("checks.", '"'))}


def without_spaces(texts):
    return re.sub(r"\s", "", "\n".join(texts))


def asked_for(path):
    """The cells of a chapter up to its last exercise, without worked solutions."""
    notebook = nbformat.read(path, as_version=4)
    last = [notebook.cells.index(cell) for cell, _ in stubs(notebook)][-1]
    return [c for c in notebook.cells[: last + 1] if not c.source.startswith("# @title Worked")]


@pytest.mark.slow
def test_no_line_of_a_worked_answer_can_be_read(folder, package):
    texts = {}
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        asked = [cell for cell, _ in stubs(notebook)]
        code = [c.source for c in notebook.cells if c.cell_type == "code" and c not in asked]
        texts[path.name] = set().union(*(lines(parse(text)) for text in code))
        texts[f"prose of {path.name}"] = without_spaces(c.source for c in cells(path, "markdown"))
    for path in (package / "scratchformer_course").rglob("*.*"):
        if path.suffix in (".py", ".js", ".json") and not any(m in str(path) for m in MODELS):
            texts[str(path)] = without_spaces([path.read_text("utf-8")])
    shown, said = set(), ""  # by this chapter and those before it
    for path in NOTEBOOKS:
        own = asked_for(path)
        shown |= set().union(*(lines(parse(c.source)) for c in own if c.cell_type == "code"))
        said += without_spaces(c.source for c in own if c.cell_type == "markdown")
        secret = {line for line in worked_lines(path.stem) - shown if line not in said}
        assert len(secret) >= 3, path.stem
        found = {(line, name) for line in secret for name, text in texts.items() if line in text}
        assert not found, f"{path.stem}: a cell needs the tag {classroom.GIVES_ANSWER}"


def test_each_notebook_is_valid_and_small_and_keeps_every_stub(folder):
    for path in NOTEBOOKS:
        own = nbformat.read(folder / path.name, as_version=4)
        nbformat.validate(own)
        kept = [(name, cell.source) for cell, name in stubs(own)]
        chapter = nbformat.read(path, as_version=4)
        assert kept == [(name, cell.source) for cell, name in stubs(chapter)] != []
        text = (folder / path.name).read_text("utf-8")
        gone = ("_solution", "Solution(", "course-guess", "data-answer", "git+https", "{doc}")
        assert len(text) < 60_000 and not any(each in text for each in gone), path.name
        assert set(own.metadata) == {"kernelspec", "language_info"}
        assert not any(cell.outputs for cell in own.cells if cell.cell_type == "code")


def names(table, inside=False):
    """The names that some code uses and does not make in a function of its own."""
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (not inside or symbol.is_global()):
            yield symbol.get_name()
    for child in table.get_children():
        yield from names(child, True)


def test_what_cells_use_is_still_made_before_them(folder):
    known = {*dir(builtins), "get_ipython", "__annotations__", "__conditional_annotations__"}
    for path in sorted(folder.glob("*.ipynb")):
        made = set(known)
        for cell in cells(path):
            code = TransformerManager().transform_cell(cell.source)
            if hidden := re.search(r'b85decode\("(.*?)"', code):
                code = zlib.decompress(base64.b85decode(hidden[1])).decode()
            table = symtable.symtable(code, path.name, "exec")
            made |= {
                s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()
            }
            assert set(names(table)) <= made, (path.name, cell.id)


PROBE = """
import inspect, sys
from scratchformer_course.teaching.tables import chapters, exercises

def shown(answer):
    try:
        return inspect.getsource(answer)
    except (OSError, TypeError):
        return answer.__doc__ if hasattr(answer, "__name__") else None

assert inspect.getsourcefile(exercises).startswith(sys.argv[1])
for chapter in chapters():
    for each in exercises(chapter):
        answers = [*each.solutions, *(mistake.function for mistake in each.mistakes)]
        assert not any(map(shown, answers)), (each, [*map(shown, answers)])

from scratchformer_course.ch05_averaging.exercises import averaging_weights as check

def stub(T):
    return ...

assert check(stub).state == "not yet" and check.choose(stub) is check.right
assert not check(check.mistakes[0].function)
assert check(check.solutions[1]) and check.choose(check.solutions[1]) is check.solutions[1]
print("all passed")
"""


def test_the_students_tables_check_and_show_no_source(package, tmp_path):
    env = os.environ | {"PYTHONPATH": str(package), "SCRATCHFORMER_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", PROBE, str(package)]
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert ended.stdout.endswith("all passed\n"), ended.stdout[-500:] + ended.stderr[-2000:]


@pytest.fixture(scope="module")
def run_alone(folder, tmp_path_factory):
    """Runs a notebook beside the wheel; its error. Nothing else of the course is there."""
    home = tmp_path_factory.mktemp("student")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "venv"], check=True)
    python = home / "venv" / "bin" / "python"
    version = "python{}.{}".format(*sys.version_info)
    borrowed = home / "venv" / "lib" / version / "site-packages" / "borrowed.pth"
    borrowed.write_text(sysconfig.get_path("purelib"))
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCRATCHFORMER", "PYTHON"))}
    settings = {"BUDGET": "smoke", "LIVE": "stored", "CACHE": str(home / "cache")}
    env = kept | {f"SCRATCHFORMER_{key}": value for key, value in settings.items()}
    env |= {"PIP_NO_INDEX": "1", "HTTPS_PROXY": "http://127.0.0.1:9", "OMP_NUM_THREADS": "1"}
    shell = shutil.copy(SHELL, home)
    for wheel in folder.glob("*.whl"):
        shutil.copy(wheel, home)

    def run_alone(notebook):
        nbformat.write(notebook, home / "chapter.ipynb")
        given = {"input": str(home / "chapter.ipynb"), "stdout": subprocess.PIPE, "text": True}
        ended = subprocess.run([python, shell], cwd=home, env=env, **given)
        return ended.stdout

    return run_alone


@pytest.mark.slow
@pytest.mark.parametrize("stem, is_filled", [("05_averaging", False), ("08_rotary", True)])
def test_it_runs_alone_to_its_end_with_or_without_what_the_student_wrote(
    folder, run_alone, stem, is_filled
):
    """Filled: in every stub a wrong answer, which is refused, then another right one."""
    notebook = nbformat.read(folder / f"{stem}.ipynb", as_version=4)
    if is_filled:
        fill(notebook)
    else:
        (_, name), *_ = stubs(notebook)
        chosen = f"\nassert {name} is checks.{name}.right and 'site-packages' in checks.__file__"
        notebook.cells.append(new_code_cell(chosen))
    assert run_alone(notebook) == "null\n"


def test_a_guess_is_asked_in_words_and_what_answers_it_is_gone():
    guess = '<div class="course-guess" data-question="q" data-ask="a" data-choices="b | c"></div>'
    by_prose = guess.replace("data-ask", 'data-answer-is="prose" data-ask')
    end = '<div class="course-guess-end" data-question="q"></div>'
    printed = [new_output("stream", text="b")]
    told = [
        new_markdown_cell(f"Before.\n\n{guess}"),
        new_code_cell("# @title Set\n\n# here", outputs=printed, metadata={"tags": ["hide-cell"]}),
        new_markdown_cell("Still before."),
        new_code_cell("print(b)", outputs=printed),
        new_markdown_cell(f"It is b.\n\nFor sure.\n\n{end}\n\nAfter."),
        new_markdown_cell(f"{by_prose}\n\nIt is c."),
        new_markdown_cell(f"Why?\n\n{end}\n\nOn.\n\n## How we know\n\n| c |\n\n**Next.** d"),
        new_markdown_cell("It only turns.", metadata={"tags": ["gives-answer"]}),
    ]
    asked = "**Guess.** a: b / c?\n\n**My guess:** …"
    assert [text.replace(classroom.GUESSED, "?") for text in classroom.without_answers(told)] == [
        *(f"Before.\n\n{asked}", "", "Still before.", "", "?\n\nAfter."),
        *(f"{asked}\n\n?", "On.\n\n**Next.** d", ""),
    ]


def test_only_the_chosen_chapters_are_made():
    def numbers(asked):
        return [int(path.name[:2]) for path in classroom.chosen(asked)]

    assert numbers("05-07") == [5, 6, 7] and numbers("6, 17") == numbers("06 17") == [6, 17]
    assert numbers("05-06,06,3") == [3, 5, 6] and len(numbers("")) == len(NOTEBOOKS)


@pytest.mark.parametrize("asked", ["10-05", "24", "5-", "attention", "05;06", "5,", "-1"])
def test_what_is_no_chapter_is_refused_in_one_line(asked, capsys, monkeypatch):
    monkeypatch.setattr(classroom, "classroom", pytest.fail)
    assert classroom.main([asked]) == 2
    said = capsys.readouterr().out
    assert repr(asked) in said and "05-10" in said and said.count("\n") == 1
