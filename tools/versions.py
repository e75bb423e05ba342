"""Which versions to install: all that this environment has, or the lowest that the package allows.

Usage: python tools/versions.py constraints    writes constraints/X.Y.txt for this Python
       python tools/versions.py lowest         prints what `pip install -r` takes

`make` installs with the constraints of its Python where there are some, so that a dependency of a
dependency cannot change under a chapter. Without them pip picks the newest of what is not pinned.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


def requirements() -> list[Requirement]:
    """The pins of requirements.txt, those for other Pythons too; not the package itself."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if re.match(r"\w", line)]


def runtime() -> list[Requirement]:
    """What pyproject.toml says the package needs."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [Requirement(line) for line in settings["project"]["dependencies"]]


def applies(requirement: Requirement, extras: set[str] = frozenset(), python: str = PYTHON) -> bool:
    """Whether its marker holds on `python`, for one of `extras` or for none."""
    marker = requirement.marker
    return marker is None or any(
        marker.evaluate({"python_version": python, "extra": extra}) for extra in {"", *extras}
    )


def installed() -> dict[str, str]:
    """Name -> version of all that requirements.txt brings along, as this environment has it."""
    found: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    queue = [(r.name, r.extras) for r in [*requirements(), *runtime()] if applies(r)]
    while queue:
        name, extras = queue.pop()
        if (key := (canonicalize_name(name), " ".join(sorted(extras)))) in seen:
            continue
        seen.add(key)
        try:
            package = distribution(name)
        except PackageNotFoundError:  # for another system
            continue
        found[key[0]] = Version(package.version).public  # torch's +cpu is the index's, not ours
        needs = [Requirement(line) for line in package.requires or []]
        queue += [(need.name, need.extras) for need in needs if applies(need, extras)]
    return found


def constraints() -> str:
    """A constraints file for this Python."""
    head = f"# What `make` installs on Python {PYTHON}: `make constraints` writes this.\n"
    return head + "".join(f"{name}=={version}\n" for name, version in sorted(installed().items()))


# Not for the lowest versions: what wants newer ones of the same packages. Its tests are skipped.
PEERS = {"datasets", "transformers"}


def lowest() -> str:
    """The package's dependencies at their lower bounds, and what its unit tests need besides."""
    bounds = {canonicalize_name(r.name): r for r in runtime()}
    lines = []
    for name, requirement in bounds.items():
        floor = [s.version for s in requirement.specifier if s.operator == ">="]
        marker = f"; {requirement.marker}" if requirement.marker else ""
        lines.append(f"{name}{f'=={floor[0]}' if floor else ''}{marker}\n")
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    tools = re.findall(r"^([\w-]+)==", text[text.index("# running and testing") :], re.M)
    names = sorted({canonicalize_name(name) for name in tools} - set(bounds) - PEERS)
    return "".join([*lines, *(f"{name}\n" for name in names), "-e .\n"])


def main(arguments: list[str]) -> int:
    if arguments == ["constraints"]:
        path = ROOT / "constraints" / f"{PYTHON}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(constraints(), encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    elif arguments == ["lowest"]:
        print(lowest(), end="")
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
