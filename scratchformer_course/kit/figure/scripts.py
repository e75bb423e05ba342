"""The scripts and styles of a live figure: what its own script says that it needs.

A script is a figure's own if it sets `course.figures.NAME`: there a figure is registered, and
nowhere else. Lines such as `// Needs: page_model/model.js plot.js` at its head name the scripts
that are loaded before it, by their place in the course's folder or beside it; a style of the same
name comes along. A notebook puts them into its output when it shows a figure, the site beside the
pages that hold one. Stored outputs name the figure alone, so a script can be renamed without
executing a chapter.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[2]
# what every figure needs, in the course's folder; the site has the loader on every page
LOADER, SCRIPT = "kit/figure/loader.js", "kit/figure/live_figure.js"
STYLE = "kit/figure/live_figure.css"
REGISTERS = re.compile(r"\bcourse\.figures\.(\w+) = ")
NEEDS = re.compile(r"^// Needs: (.+)$", re.MULTILINE)


def read(name: str) -> str:
    """A script or a style of the package."""
    return (PACKAGE / name).read_text(encoding="utf-8")


@cache
def registered() -> dict[str, str]:
    """The name of each figure, and the script that registers it."""
    names = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.js"))
    return {figure: name for name in names for figure in REGISTERS.findall(read(name))}


@cache
def loaded_for(script: str) -> tuple[str, ...]:
    """What is loaded for a script, in this order, and last the script itself."""
    path = PACKAGE / script
    needed = " ".join(NEEDS.findall(read(script))).split()
    places = [
        name if "/" in name else f"{Path(script).parent.as_posix()}/{name}" for name in needed
    ]
    before = [file for place in places for file in loaded_for(place)]
    style = [path.with_suffix(".css").relative_to(PACKAGE).as_posix()]
    return (*dict.fromkeys(before), *(style if path.with_suffix(".css").is_file() else ()), script)


def files_of(name: str, settings: Mapping[str, Any]) -> list[str]:
    """What the figure `name` needs besides `SCRIPT` and `STYLE`, in the order of loading.

    The explorer's settings name its views. Raises ValueError for a name that no script registers.
    """
    scripts = registered()
    if name not in scripts:
        raise ValueError(f"the live figure {name!r} has no scripts, expected one of {[*scripts]}")
    views = settings.get("views", ()) if name == "explorer" else ()
    return [*loaded_for(scripts[name]), *(f"page_model/views/{view}.js" for view in views)]
