"""`make bundle`: one zip with the site, the notebooks and the package, for use without a network.

Usage: python -m tools.bundle [FILE.zip]

The site must have been built. The zip is written to build/ unless a file is named.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_build" / "html"
NAME = "transformers-from-scratch"
FILE = ROOT / "build" / f"{NAME}.zip"
START = """Transformers from Scratch

Read: open site/index.html in a browser. No network is needed.

Run: the notebooks need Python 3.10 to 3.14, PyTorch and the package beside this file.
    python -m venv .venv
    .venv/bin/python -m pip install {wheel} jupyterlab
    .venv/bin/jupyter lab notebooks
The second line needs a network, or a folder with the wheels (pip install --no-index --find-links).
"""


def build_wheel(folder: Path) -> Path:
    """Build the package's wheel from a copy of its source."""
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-CONTENT"):
        shutil.copy(ROOT / name, source)
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("scratchformer", "scratchformer_course"):
        shutil.copytree(ROOT / name, source / name, ignore=ignore)
    quiet = ["--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def bundle(target: Path) -> Path:
    """Write the zip. FileNotFoundError if the site has not been built."""
    if not (SITE / "index.html").exists():
        raise FileNotFoundError(f"{SITE / 'index.html'} is missing: run `make book` first")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / NAME
        (folder / "notebooks").mkdir(parents=True)
        for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
            shutil.copy(path, folder / "notebooks")
        # without the real model: a page from disk could not fetch it
        shutil.copytree(SITE, folder / "site", ignore=shutil.ignore_patterns("*.gguf"))
        wheel = Path(shutil.copy(build_wheel(Path(temporary)), folder))
        (folder / "START_HERE.txt").write_text(START.format(wheel=wheel.name), encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        archive = shutil.make_archive(f"{temporary}/made", "zip", temporary, NAME)
        return Path(shutil.move(archive, target))


if __name__ == "__main__":
    path = bundle(Path(sys.argv[1]) if sys.argv[1:] else FILE)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
