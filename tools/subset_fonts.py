"""The site's two typefaces, cut down to the characters of the book -> book/_assets/fonts.

Usage: python -m tools.subset_fonts     (needs npm, and `pip install brotli`)

Text is Source Serif 4, code is Iosevka, whose letters are half as wide as high: a line of 78 fits
the column at 15 px. Both come from npm under the SIL Open Font License, which stands beside them.
It asks for other names of what is changed, so these are called Course Text and Course Code. What a
font lacks, such as Chinese and emoji, is left to the reader's system.
"""

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[1]
FONTS = ROOT / "book" / "_assets" / "fonts"
SERIF = (
    "source-serif@4.5.1",
    "sha512-NUAh5IzF7KiUu2gTpqE+ed9MNbMe4st7LIIXZ0OHHSPc6gg86H67j04M8sIhU2qqFd26btXaFQ2ge5u/p72j0Q==",
)
NARROW = (
    "@fontsource/iosevka@5.3.0",
    "sha512-RcG0v/65e4PTuThR/d7n9jj6PLlex7YUGaLa4ZpL+NnqArWQmD8Z+6gYBTxPMVWxYMRcEw6OF4rdt8XisnC5zA==",
)
# name here: (package and its hash, path in it, family)
FILES = {
    "text-regular": (SERIF, "WOFF2/TTF/SourceSerif4-Regular.ttf.woff2", "Course Text"),
    "text-italic": (SERIF, "WOFF2/TTF/SourceSerif4-It.ttf.woff2", "Course Text"),
    "text-bold": (SERIF, "WOFF2/TTF/SourceSerif4-Semibold.ttf.woff2", "Course Text"),
    "code-regular": (NARROW, "files/iosevka-latin-400-normal.woff2", "Course Code"),
}
LICENCES = {"LICENSE-text.md": (SERIF, "LICENSE.md"), "LICENSE-code.txt": (NARROW, "LICENSE")}
# letters of names in Europe; dashes and quotes, which the build puts in place of ' and "
ALWAYS = [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x2013, 0x201F), 0x2026]
SOURCES = ("book/*.md", "book/*.bib", "notebooks/*.ipynb", "scratchformer_course/**/*.py")
FEATURES = {  # no ligatures in code: a reader types != and sees !=
    "Course Text": ["kern", "liga", "tnum", "mark", "ccmp"],
    "Course Code": ["ccmp"],
}


def characters() -> set[int]:
    """Those that the book's sources hold, and the Latin ones."""
    paths = [path for pattern in SOURCES for path in ROOT.glob(pattern)]
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return {*ALWAYS, *(ord(character) for text in texts for character in set(text))}


def unpacked(package: str, digest: str, folder: Path) -> Path:
    """The package, from npm's registry; SystemExit if it is not the one that was looked at."""
    command = ["npm", "pack", "--json", package]
    (packed,) = json.loads(subprocess.run(command, cwd=folder, check=True, stdout=-1).stdout)
    if packed["integrity"] != digest:
        raise SystemExit(f"{package} is {packed['integrity']}, expected {digest}")
    with tarfile.open(folder / packed["filename"]) as archive:
        archive.extractall(folder / packed["filename"].removesuffix(".tgz"), filter="data")
    return folder / packed["filename"].removesuffix(".tgz") / "package"


def cut(source: Path, target: Path, family: str, kept: set[int]) -> None:
    """Write the font as WOFF2 with the `kept` characters, without hints, under another name."""
    options = subset.Options(
        flavor="woff2",
        layout_features=FEATURES[family],
        hinting=False,
        name_IDs=[0, 1, 2, 13, 14],
    )
    font: TTFont = subset.load_font(source, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=kept)
    subsetter.subset(font)
    for record in font["name"].names:
        if record.nameID == 1:
            record.string = family
    subset.save_font(font, target, options)


def main() -> None:
    kept = characters()
    FONTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        packages = {p: unpacked(*p, Path(folder)) for p in (SERIF, NARROW)}
        for name, (package, path, family) in FILES.items():
            cut(packages[package] / path, FONTS / f"{name}.woff2", family, kept)
        for name, (package, path) in LICENCES.items():
            (FONTS / name).write_bytes((packages[package] / path).read_bytes())
    for font in sorted(FONTS.glob("*.woff2")):
        print(f"{font.name}: {font.stat().st_size / 1e3:.1f} kB")


if __name__ == "__main__":
    main()
