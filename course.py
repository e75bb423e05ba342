"""The course's commands, with make or without: `python course.py book`, `test`, `lab`.

`python course.py help` lists all of them. The script needs the standard library alone. The first
command that needs more makes an environment in `.venv` (`lab`: in `.venv-lab`) and installs the
pinned requirements into it; later ones install again only when a requirement has changed.
"""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
BOOK_ENVIRONMENT, LAB_ENVIRONMENT = ROOT / ".venv", ROOT / ".venv-lab"
OLDEST, NEWEST = (3, 10), (3, 14)
BUILD = ("build", ".", "--all", "-W", "-n", "--keep-going")  # what jupyter-book is told
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
QUIET_LAB = (  # JupyterLab neither asks for news nor for updates
    '{"@jupyterlab/apputils-extension:notification":'
    ' {"fetchNews": "false", "checkForUpdates": false}}\n'
)
MADE = "_build build node_modules .venv .venv-lab *.egg-info .*_cache .hypothesis"
COMMANDS: dict[str, Callable[..., None]] = {}


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command: its name is the command's, its docstring the line of help."""
    COMMANDS[function.__name__.replace("_", "-")] = function
    return function


# --- programs and environments -------------------------------------------------------------------


def run(*words: str | Path, may_fail: bool = False, **environment: str) -> None:
    """Run a program in the repository's root. SystemExit with its status if it fails."""
    settings = {"OMP_WAIT_POLICY": "passive", **os.environ, **environment}
    status = subprocess.run([str(word) for word in words], cwd=ROOT, env=settings).returncode
    if status and not may_fail:
        raise SystemExit(status)


def python_of(environment: Path) -> Path:
    """The interpreter of an environment, wherever this system keeps it."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_ready(environment: Path, name: str) -> bool:
    """Whether an environment was finished, here, after the last change of what it should hold."""
    ready = environment / "ready"
    files = [ROOT / name, ROOT / "pyproject.toml", *ROOT.glob("constraints/*.txt")]
    return is_finished_at_its_place(environment) and all(
        ready.stat().st_mtime >= file.stat().st_mtime for file in files
    )


def is_finished_at_its_place(environment: Path) -> bool:
    """Whether it was finished and has not been moved: its scripts name where they were made."""
    ready = environment / "ready"
    return ready.is_file() and ready.read_text("utf-8") == str(environment)


def make_environment(environment: Path) -> tuple[str | Path, ...]:
    """Make an environment; the words that install into it at fixed versions.

    SystemExit if this Python is none of those for which versions are fixed, or if the folder is a
    link: what it leads to would be emptied.
    """
    if environment.is_symlink():
        raise SystemExit(f"{environment} is a link: take it away, or make the environment there")
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        raise SystemExit(
            "Python {}.{} found; 3.10 to 3.14 is needed: python3.12 course.py …, "
            "or make PYTHON=python3.12 …".format(*version)
        )
    as_new = [] if is_finished_at_its_place(environment) else ["--clear"]
    run(sys.executable, "-m", "venv", *as_new, environment)
    fixed = "constraints/{}.{}.txt".format(*version)
    return (python_of(environment), *PIP, "-c", fixed)


def book_python() -> Path:
    """The interpreter of `.venv`, in which the pinned requirements are installed."""
    name = "requirements.txt"
    if not is_ready(BOOK_ENVIRONMENT, name):
        run(*make_environment(BOOK_ENVIRONMENT), "-r", name)
        (BOOK_ENVIRONMENT / "ready").write_text(str(BOOK_ENVIRONMENT), "utf-8")
    return python_of(BOOK_ENVIRONMENT)


def lab_python(torch: str) -> Path:
    """The interpreter of `.venv-lab`: JupyterLab, PyTorch and the course's package.

    For Linux, PyTorch has a build without a GPU's libraries, which is some GB smaller. pip does not
    know where PyTorch keeps it, and uv does. `torch` is "cpu", or "auto" for the GPU that uv finds.
    """
    name, python = "requirements-lab.txt", python_of(LAB_ENVIRONMENT)
    if not is_ready(LAB_ENVIRONMENT, name):
        install = make_environment(LAB_ENVIRONMENT)
        run(*install, "uv")
        from_pytorch = ("-m", "uv", "pip", "install", "--quiet", "--python", python)
        build = ("--torch-backend", torch, "torch", *install[-2:])
        run(python, *from_pytorch, *build, may_fail=True, UV_HTTP_RETRIES="0")
        run(*install, "-r", name)  # takes pip's build of PyTorch if there is none yet
        settings = LAB_ENVIRONMENT / "share" / "jupyter" / "lab" / "settings"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "overrides.json").write_text(QUIET_LAB, encoding="utf-8")
        (LAB_ENVIRONMENT / "ready").write_text(str(LAB_ENVIRONMENT), "utf-8")
    return python


def ready_python() -> Path:
    """The interpreter of an environment that is there, which is made if none is."""
    is_lab = not is_ready(BOOK_ENVIRONMENT, "requirements.txt")
    if is_lab and is_ready(LAB_ENVIRONMENT, "requirements-lab.txt"):
        return python_of(LAB_ENVIRONMENT)
    return book_python()


def tool(name: str, *arguments: str | Path) -> None:
    """Run a module of the repository, such as tools.bundle, in the book's environment."""
    run(book_python(), "-m", name, *arguments)


# --- commands ------------------------------------------------------------------------------------


@command
def help() -> None:
    """list these commands"""
    for name, function in COMMANDS.items():
        print(f"  {name:<15} {function.__doc__}")


@command
def install() -> None:
    """make .venv, with the pinned requirements"""
    book_python()


@command
def book() -> None:
    """build the site into _build/html, with Python for its exercises; any warning fails"""
    tool("tools.javascript", "install")
    run(book_python().with_name("jupyter-book"), *BUILD)
    if not (ROOT / "_build" / "html" / "index.html").is_file():
        raise SystemExit("the build left no _build/html/index.html")
    print("Open _build/html/index.html in a browser, or `python course.py serve` to read it there.")


@command
def test() -> None:
    """run everything: lint, unit and equivalence tests, every notebook, the built site"""
    tool("tools.run_tests")


@command
def quick(since: str = "HEAD") -> None:
    """two minutes: lint, the library's tests, what changed SINCE a commit"""
    tool("tools.run_tests", "quick", since)


def _part(name: str, help_line: str) -> None:
    def run_part() -> None:
        tool("tools.run_tests", name)

    run_part.__name__, run_part.__doc__ = name, help_line
    command(run_part)


_part("lint", "style, spelling, types, and the JavaScript where Node.js is at hand")
_part("unit", "the library, the kit, the exercises, the lab's tools")
_part("notebooks", "run every chapter again and compare it with its stored outputs")
_part("lone", "run chapters outside of the repository, as Colab does")
_part("site", "the built pages, as files and in a browser; after `book`")


@command
def lab(*options: str) -> None:
    """start JupyterLab at chapter 01 (--torch auto: with the PyTorch for your GPU)"""
    torch, rest = "cpu", list(options)
    if rest[:1] == ["--torch"]:
        if len(rest) < 2:
            raise SystemExit("lab --torch: expected cpu or auto after it")
        torch, rest = rest[1], rest[2:]
    python = lab_python(torch)
    # JupyterLab shows the stored drawings of notebooks that are trusted
    notebooks = sorted(ROOT.glob("notebooks/*.ipynb"))
    run(python, "-m", "jupyter", "trust", *notebooks, may_fail=True)
    run(python, "-m", "jupyter", "lab", "notebooks/01_bpe.ipynb", *rest)


@command
def execute(*names: str) -> None:
    """run every notebook in place, or those NAMED (01, bpe), and store their outputs"""
    tool("tools.execute", *names)


@command
def measure(name: str, *options: str) -> None:
    """run the script lab/NAME.py, with its OPTIONS, and store what it measures"""
    script = ROOT / "lab" / f"{name}.py"
    if not script.is_file() or "__main__" not in script.read_text("utf-8"):
        raise SystemExit(f"measure {name}: lab/README.md lists what can be measured")
    if name == "ship" and not options:
        raise SystemExit("measure ship: expected a model's name too, such as tiny-shakespeare")
    tool(f"lab.{name}", *options, "--write")


@command
def blank(folder: str = "mine") -> None:
    """write five empty files into FOLDER (mine), to build a model alone"""
    run(ready_python(), "-m", "scratchformer_course", "blank", folder)


@command
def climb(*words: str) -> None:
    """how far your five files reach: FOLDER --rung N --watch --certificate NAME --verify FILE"""
    run(ready_python(), "-m", "scratchformer_course", "climb", *words)


@command
def serve() -> None:
    """build the site and serve it at http://localhost:8000"""
    book()
    tool("http.server", "--bind", "127.0.0.1", "--directory", "_build/html", "8000")


@command
def bundle() -> None:
    """one zip of the site, the notebooks and the package: build/transformers-from-scratch.zip"""
    book()
    tool("tools.bundle")


@command
def classroom(*chapters: str) -> None:
    """the notebooks without answers, for students, of all CHAPTERS or 05-10: build/classroom.zip"""
    tool("tools.classroom", *chapters)


@command
def pdf() -> None:
    """the course as one PDF, printed by Chromium: build/transformers-from-scratch.pdf"""
    book()
    tool("tools.pdf")


@command
def epub() -> None:
    """the course as one EPUB, for readers of books: build/transformers-from-scratch.epub"""
    book()
    tool("tools.epub")


@command
def cards() -> None:
    """an Anki deck of guesses and terms: build/transformers-from-scratch.apkg"""
    book()
    tool("tools.cards")


@command
def downloads() -> None:
    """what is published: the site, and the bundle, the PDF, the EPUB and the cards in it"""
    book()
    for name in ("bundle", "pdf", "epub", "cards", "downloads"):
        tool(f"tools.{name}")


@command
def constraints() -> None:
    """fix what requirements bring along, for each Python: constraints/X.Y.txt (with a network)"""
    environment, files = ROOT / "build" / "uv", ("requirements.txt", "requirements-lab.txt")
    run(sys.executable, "-m", "venv", environment)
    run(python_of(environment), *PIP, "uv")
    lines = {line for name in files for line in (ROOT / name).read_text("utf-8").splitlines()}
    wanted = environment / "wanted.in"
    wanted.write_text("\n".join(sorted(x for x in lines if not x.startswith("-e"))), "utf-8")
    # for Linux, without the libraries of a GPU that torch's wheels there bring along
    options = "--quiet --python-platform linux --no-python-downloads --only-binary :all:"
    plain = "--no-header --no-annotate --output-file"
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        resolved, version = environment / f"{minor}.txt", f"3.{minor}"
        compile_pins = ["-m", "uv", "pip", "compile", str(wanted), "pyproject.toml"]
        fixed = [*options.split(), "--python-version", version, *plain.split()]
        run(python_of(environment), *compile_pins, *fixed, resolved)
        pins = resolved.read_text("utf-8").splitlines()
        kept = [pin for pin in pins if not pin.startswith(("cuda", "nvidia", "triton"))]
        head = f"# What `make` installs on Python {version}: `make constraints` writes this."
        text = "\n".join([head, *kept, ""])
        (ROOT / "constraints" / f"{version}.txt").write_text(text, "utf-8")
    shutil.rmtree(environment)


@command
def set_repository(url: str) -> None:
    """change the repository's address everywhere: URL is https://github.com/NAME/REPO"""
    tool("tools.set_repository", url)


@command
def clean() -> None:
    """remove what the other commands made"""
    caches = ROOT.rglob("__pycache__")
    for path in [*(p for name in MADE.split() for p in ROOT.glob(name)), *caches]:
        shutil.rmtree(path, ignore_errors=True)


def main(words: list[str]) -> int:
    """Run a command; 0 if it passed, 2 if there is no such command."""
    name, *arguments = words or ["help"]
    if name not in COMMANDS:
        print(f"there is no command {name!r}; `python course.py help` lists them")
        return 2
    function = COMMANDS[name]
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError as error:
        print(f"{name}: {error}. It serves to {function.__doc__}")
        return 2
    try:
        function(*arguments)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
