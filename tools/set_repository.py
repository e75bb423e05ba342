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
CONFIG_URL = re.compile(r'(?m)^  url: *"?(https://github\.com/[^\s"#]+)')
INSTALL_URL = re.compile(r"git\+(https://github\.com/[\w.-]+/[\w.-]+)")


def parse(url):
    """`owner/name` of a GitHub URL. Raises ValueError that says what is expected."""
    found = re.fullmatch(r"https://github\.com/([^/\s]+/[^/\s]+?)(?:\.git)?/?", url.strip())
    slug = found.group(1) if found else ""
    owner, _, name = slug.partition("/")
    good_owner = re.fullmatch(r"[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38}", owner)
    good_name = re.fullmatch(r"[\w.-]{1,100}", name, re.ASCII) and name not in (".", "..")
    good_name = good_name and not name.lower().endswith(".git")  # GitHub gives out no such name
    if slug != PLACEHOLDER and not (good_owner and good_name):
        raise ValueError(f"expected https://github.com/<owner>/<name>, got {url!r}")
    return slug


def current(root):
    """`owner/name` as _config.yml has it."""
    found = CONFIG_URL.search((root / "_config.yml").read_text(encoding="utf-8"))
    if not found:
        raise ValueError("_config.yml has no `repository:` with a `url: https://github.com/…`")
    return parse(found.group(1))


def places(root):
    """The files of the repository; _config.yml is the last, so that an interrupted run knows it."""
    found = []
    for path in sorted(root.rglob("*")):
        folders = path.relative_to(root).parts[:-1]
        if path.is_file() and not any(re.fullmatch(SKIPPED, name) for name in folders):
            found.append(path)
    return sorted(found, key=lambda path: path == root / "_config.yml")


def forms(slug):
    """The ways one address is written: repository and Colab links, and the published site."""
    site = pages_address(slug).rstrip("/")
    return f"github.com/{slug}", f"/github/{slug}", site


def set_repository(root, url):
    """Rewrite every copy under `root`; return the files changed."""
    new, texts = parse(url), {}
    for path in places(root):
        try:
            texts[path] = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:  # a figure or a cache, not a text
            continue
    # also what an address changed by hand, in _config.yml alone, left behind
    old = {current(root), PLACEHOLDER}
    for path, text in texts.items():
        if path.suffix == ".ipynb":
            old |= {parse(url) for url in INSTALL_URL.findall(text)}
    changed = []
    for path, text in texts.items():
        after = text
        for slug in old - {new}:
            for before, then in zip(forms(slug), forms(new), strict=True):
                # not the start of a longer name; an owner's own site is not those below it
                longer = r"[\w-]|\.(?!git\b)\w"
                if re.fullmatch(r"https://[^/]+", before):
                    longer += r"|/\w"
                after = re.sub(rf"{re.escape(before)}(?!{longer})", then, after)
        if after != text:
            path.write_bytes(after.encode("utf-8"))
            changed.append(path)
    return changed


def main():
    root = Path(__file__).resolve().parents[1]
    if len(sys.argv) != 2 or not sys.argv[1].strip():
        sys.exit("usage: python course.py set-repository https://github.com/<owner>/<name>")
    try:
        changed = set_repository(root, sys.argv[1])
    except ValueError as error:
        sys.exit(f"set-repository: {error}")
    for path in changed:
        print(path.relative_to(root))
    print(f"{current(root)}: {len(changed)} files changed")


if __name__ == "__main__":
    main()
