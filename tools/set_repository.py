"""Give the course a new address: `make set-repository URL=https://github.com/owner/name`.

_config.yml (`repository.url`) is its source, and it is copied to where tools need it as plain text:
README, setup cells, links, the citation. The site's own address follows from it, and so do the tags
of its pages, which each build writes. This rewrites every copy in the repository; run twice, it
changes nothing. It does not touch git remotes, nor addresses of other repositories.
"""

import re
import sys
from pathlib import Path

from book._ext.course_ext import NO_ACCOUNT, pages_address

PLACEHOLDER = f"{NO_ACCOUNT}/scratchformer"  # GitHub gives out no name with an underscore
# Folders that hold what was made or made up: builds, environments, the examples of tests
SKIPPED = (
    r"\.(?!ci$|github$).*|_build|build|node_modules|__pycache__|runs|tokens|tests|.*\.egg-info"
)
ADDRESS = re.compile(r"https://github\.com/([A-Za-z0-9](?:-?[A-Za-z0-9])*/\w[\w.-]*?)(?:\.git)?/?")
CONFIG_URL = re.compile(r'(?m)^  url: *"?https://github\.com/([^\s"#]+)')


def current(root: Path) -> str:
    """`owner/name` as _config.yml has it."""
    match = CONFIG_URL.search((root / "_config.yml").read_text(encoding="utf-8"))
    if not match:
        raise ValueError("_config.yml has no `repository:` with a `url: https://github.com/…`")
    return match[1].removesuffix("/").removesuffix(".git")


def places(root: Path) -> list[Path]:
    """The files of the repository; _config.yml is the last, so that an interrupted run knows it."""
    files = [path for path in root.rglob("*") if path.is_file()]
    kept = [
        path
        for path in files
        if not any(re.fullmatch(SKIPPED, name) for name in path.relative_to(root).parts[:-1])
    ]
    return sorted(kept, key=lambda path: (path == root / "_config.yml", path))


def forms(slug: str) -> list[str]:
    """The ways one address is written: repository and Colab links, and the published site."""
    return [f"github.com/{slug}", f"/github/{slug}", pages_address(slug).rstrip("/")]


def set_repository(root: Path, url: str) -> list[Path]:
    """Rewrite every copy under `root`: the files changed. ValueError if `url` is no repository."""
    match, old, changed = ADDRESS.fullmatch(url.strip()), current(root), []
    if not match and url != f"https://github.com/{PLACEHOLDER}":
        raise ValueError(f"expected https://github.com/<owner>/<name>, got {url!r}")
    new = match[1] if match else PLACEHOLDER
    for path in places(root):
        try:
            before = after = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:  # a figure or a cache, not a text
            continue
        for form, then in zip(forms(old), forms(new), strict=True) if old != new else ():
            # not the start of a longer name; an owner's own site is not those below it
            below = r"|/\w" if re.fullmatch(r"https://[^/]+", form) else ""
            after = re.sub(rf"{re.escape(form)}(?![\w-]|\.(?!git\b)\w{below})", then, after)
        if after != before:
            path.write_bytes(after.encode("utf-8"))
            changed.append(path)
    return changed


def main() -> None:
    root = Path(__file__).resolve().parents[1]
    try:
        changed = set_repository(root, " ".join(sys.argv[1:]))
    except ValueError as error:
        sys.exit(f"set-repository: {error}")
    print(*(path.relative_to(root) for path in changed), sep="\n")
    print(f"{current(root)}: {len(changed)} files changed")


if __name__ == "__main__":
    main()
