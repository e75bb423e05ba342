"""Several live figures in one page: all come to life, and none changes how another one looks."""

import copy
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scratchformer_course.kit.figure.live_figure import PAGE
from scratchformer_course.page_model import explore
from tests.site.browsing import opened
from tests.site.figures import shipped, stored

WAIT = 1.3  # seconds between a figure's still form and its scripts: longer than any try waits


def parts_of(figures):
    """A page with these figures, cut before the scripts of each but the first."""
    first, *rest = (figure.html() for figure in figures)
    head, end = PAGE.format(title="Several", body="BODY").split("BODY")
    parts, part = [], head + first
    for html in rest:
        still, script = html.split("<style>", 1)
        parts.append(part + still)
        part = f"<style>{script}"
    return [*parts, part + end]


@pytest.fixture
def served():
    """Give the parts of a page, and get an address that sends each a while after the last."""
    page = []

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/page.html" else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            for i, part in enumerate(page if self.path == "/page.html" else ()):
                time.sleep(WAIT if i else 0)
                self.wfile.write(part.encode())
                self.wfile.flush()

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def serve(parts):
        page[:] = parts
        return f"http://127.0.0.1:{server.server_port}/page.html"

    yield serve
    server.shutdown()


def states(browser, address, n):
    """Whether each figure came to life, and its text."""
    with opened(browser, address) as page:
        page.wait_for_function("n => document.querySelectorAll('[data-live]').length === n", arg=n)
        figures = page.locator(".live-figure")
        return (
            figures.evaluate_all("all => all.map(one => one.dataset.live)"),
            figures.all_inner_texts(),
        )


def test_figures_wait_for_the_views_and_models_that_are_still_being_read(browser, served):
    """The second lacks its view alone, the third the weights of another model."""
    model, tok = shipped()
    other = copy.deepcopy(model)
    other.ln_f.weight.data[0] += 1.0
    figures = [
        explore(gpt, tok, "ROMEO", views=[view])
        for gpt, view in ((model, "next"), (model, "attention"), (other, "lens"))
    ]
    assert len({figure.descriptions[0]["hash"] for figure in figures}) == 2
    found, _ = states(browser, served(parts_of(figures)), 3)
    assert found == ["yes"] * 3


def test_what_never_comes_is_told_when_the_page_is_read(browser, served):
    parts = parts_of([explore(*shipped(), "ROMEO", views=["next"]) for _ in range(2)])
    parts[0] = 'data-models="x'.join(parts[0].rsplit('data-models="', 1))
    found, texts = states(browser, served(parts), 2)
    assert sorted(found) == ["failed", "yes"]
    why = "could not start: the page does not hold the model's weights"
    assert why in texts[found.index("failed")]


def test_styles_of_one_figure_leave_the_other_alone(browser, tmp_path):
    """The pieces of merges and the bars of costs have one class name, and rules of their own."""
    figures = [stored("01", "merges"), stored("15", "costs"), stored("16", "law")]
    path = tmp_path / "several.html"
    body = "".join(figure.html() for figure in figures)
    path.write_text(PAGE.format(title="Several", body=body), encoding="utf-8")
    with opened(browser, path.as_uri()) as page:
        page.wait_for_function("document.querySelectorAll('[data-live=yes]').length === 3")
        pieces = page.locator("[data-figure=merges] .sx-pieces").first
        cut = pieces.evaluate("e => e.clientHeight < e.querySelector('.sx-piece').offsetHeight")
        bar = page.locator("[data-figure=costs] .sx-pieces").first
        wraps = bar.evaluate("e => getComputedStyle(e).flexWrap")
        assert not cut and wraps == "nowrap" and bar.bounding_box()["height"] == 22
