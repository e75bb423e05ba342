"""The built site and a browser, or a skip that says how to have them.

SITE_DIR names another folder of built pages. Chromium is looked for on the PATH.
"""

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest
import yaml
from side_by_side import file_of, together

ROOT = Path(__file__).resolve().parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# one process of the browser, and none of its own calls home
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def toc_pages() -> list[str]:
    """The pages of _toc.yml, without their endings, the root first."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"]] + [page["file"] for part in toc["parts"] for page in part["chapters"]]


def pytest_generate_tests(metafunc):
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", toc_pages(), scope="module")
    if "chapter" in metafunc.fixturenames:
        names = [name for name in toc_pages() if name.startswith("notebooks/")]
        metafunc.parametrize("chapter", names, scope="module")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A visit of a page is one process's; so are the files that look at the pages as files."""

    def group(nodeid):
        name = file_of(nodeid)
        if name == "test_browser.py" and "[" in nodeid:
            return nodeid[nodeid.index("[") :]
        return nodeid if name == "test_build.py" else name

    return together(config, log, group)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    folder = Path(os.environ.get("SITE_DIR") or ROOT / "_build" / "html").resolve()
    if not (folder / "index.html").is_file():
        pytest.skip(f"no built site at {folder}: run `make book` first")
    return folder


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="session")
def server(site) -> str:
    """The site over http on this machine: the base address, with a slash at its end."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/"
        httpd.shutdown()


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no browser on the PATH: install Chromium to check the pages in it")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()
