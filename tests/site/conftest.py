"""The built site and a browser, or a line that says how to have them.

SITE_DIR names another folder of built pages. Chromium is looked for on the PATH.
"""

import contextlib
import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest
import yaml

from tests.site.browsing import LIVE, opened

ROOT = Path(__file__).resolve().parents[2]
# the shell, which draws no window, takes half of the processor's time
BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
# one process of the browser, and none of its own calls home
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",  # letters as wide in the shell as in a window
]


def toc_pages() -> list[str]:
    """The pages of _toc.yml, without their endings, the root first."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"]] + [page["file"] for part in toc["parts"] for page in part["chapters"]]


def pytest_generate_tests(metafunc):
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", toc_pages())
    if "chapter" in metafunc.fixturenames:
        names = [name for name in toc_pages() if name.startswith("notebooks/")]
        metafunc.parametrize("chapter", names)


SITE = Path(os.environ.get("SITE_DIR") or ROOT / "_build" / "html").resolve()
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def site() -> Path:
    """The folder of the built site."""
    if not (SITE / "index.html").is_file():
        pytest.skip(f"no built site at {SITE}: run `make book` first")
    return SITE


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(handler):
    """A server on this machine: its base address, with a slash at its end."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_port}/"
        httpd.shutdown()


@pytest.fixture(scope="session")
def server(site) -> str:
    """The site over http."""
    with serving(functools.partial(Quiet, directory=str(site))) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on the PATH: no page was looked at in a browser")
    sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: no browser ran")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, site):
    """A function: a page of the site, by its name, from disk; settings are those of `opened`."""

    def visited(name: str, ending: str = "", **settings):
        return opened(browser, f"{(site / name).as_uri()}.html{ending}", **settings)

    return visited


@pytest.fixture(scope="session")
def axe() -> str:
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    (script,) = Path(package.__file__).parent.rglob("axe.min.js")
    return script.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A function: the address of a page of its own with a figure, which is saved once."""
    from tests.site.figures import FIGURES

    folder = tmp_path_factory.mktemp("figures")

    def address(name: str) -> str:
        path = folder / f"{name}.html"
        if not path.is_file():
            FIGURES[name].make().save(path)
        return path.as_uri()

    return address


@pytest.fixture
def page(browser, saved, request):
    """The figure that the test, or its file by FIGURE, is about, alive."""
    name = getattr(request, "param", None) or request.module.FIGURE
    with opened(browser, saved(name)) as page:
        page.locator(LIVE).wait_for()
        yield page
