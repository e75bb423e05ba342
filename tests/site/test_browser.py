"""The pages in a real browser: offline, quiet, readable on a phone, accessible."""

from pathlib import Path

import pytest

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
# The article only: sidebar and header belong to the theme.
ARTICLE = "article.bd-article"


def start(browser, size=DESK, mode="light"):
    """A fresh page and the list of what it complains about or asks of other servers."""
    context = browser.new_context(viewport=size, reduced_motion="reduce")
    context.add_init_script(f"localStorage.setItem('mode', '{mode}')")
    context.add_init_script(f"localStorage.setItem('theme', '{mode}')")
    page, faults = context.new_page(), []
    page.on("pageerror", lambda error: faults.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: (
            message.type in ("error", "warning")
            and faults.append(f"console {message.type}: {message.text}")
        ),
    )
    page.on("requestfailed", lambda request: faults.append(f"failed: {request.url}"))
    return context, page, faults


def visit(page, faults, base, name):
    """Open the page and wait for scripts and formulas; requests that leave the site are faults."""

    def note(request):
        if not request.url.startswith((base, "data:", "blob:")):
            faults.append(f"request: {request.url}")

    page.on("request", note)
    page.goto(f"{base}{name}.html", wait_until="load")
    page.evaluate("() => window.MathJax?.startup?.promise")
    page.wait_for_timeout(200)


@pytest.fixture(scope="session")
def axe() -> str:
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed")
    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_page_is_quiet_offline_and_fits_a_phone(page_name, scheme, site, server, browser):
    base = server if scheme == "http" else f"{site.as_uri()}/"
    context, page, faults = start(browser, PHONE)
    visit(page, faults, base, page_name)
    assert faults == []

    formulas = page.locator(f"{ARTICLE} .math").count()
    drawn = page.locator(f"{ARTICLE} .math mjx-container svg").count()
    assert drawn >= formulas, f"{formulas} formulas, {drawn} drawn"
    assert page.locator(f"{ARTICLE} mjx-merror, {ARTICLE} [data-mjx-error]").count() == 0
    missing = "images => images.filter(i => !i.complete || !i.naturalWidth).map(i => i.src)"
    assert page.locator(f"{ARTICLE} img").evaluate_all(missing) == []

    width, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width <= room, f"the page is {width} px wide on a phone of {room}"
    # a box may scroll inside itself; what sticks out of all boxes is cut off
    cut = page.evaluate(
        """selector => [...document.querySelectorAll(`${selector} *`)].filter(e => {
          const box = e.getBoundingClientRect();
          if (!box.width || box.right <= innerWidth + 1) return false;
          if (e.closest('mjx-assistive-mml')) return false;
          for (let up = e.parentElement; up; up = up.parentElement)
            if (['auto', 'scroll'].includes(getComputedStyle(up).overflowX)) return false;
          return true;
        }).map(e => e.outerHTML.slice(0, 80))""",
        ARTICLE,
    )
    assert cut == []
    context.close()


def test_worked_solutions_are_folded_and_open_on_a_click(chapter, server, browser):
    context, page, faults = start(browser)
    visit(page, faults, server, chapter)
    folds = page.locator("div.cell.tag_hide-cell details")
    assert folds.count() > 0, "no folded solution"
    for i in range(folds.count()):
        code = folds.nth(i).locator(".highlight pre").first
        assert "solution" in folds.nth(i).locator("summary").inner_text()
        assert not code.is_visible()
        folds.nth(i).locator("summary").click()
        code.wait_for(state="visible", timeout=2000)
    assert faults == []
    context.close()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_axe_finds_nothing_in_the_article(page_name, mode, server, browser, axe):
    context, page, faults = start(browser, DESK, mode)
    visit(page, faults, server, page_name)
    assert page.locator("html").get_attribute("data-theme") == mode
    # folded content is checked too
    page.locator(f"{ARTICLE} details").evaluate_all("folds => folds.forEach(f => f.open = true)")
    page.evaluate(axe)
    result = page.evaluate("selector => axe.run(selector)", ARTICLE)
    found = [
        f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
        for fault in result["violations"]
        for node in fault["nodes"][:3]
    ]
    assert found == []
    assert len(result["passes"]) > 5  # axe did look at something
    context.close()


def test_search_finds_a_page(server, browser):
    context, page, faults = start(browser)
    visit(page, faults, server, "book/glossary")
    page.goto(f"{server}search.html?q=perplexity")
    page.locator("#search-results li a").first.wait_for(timeout=5000)
    assert faults == []
    context.close()


def test_these_checks_would_notice(tmp_path, browser, axe):
    """A planted page: an error, a request to elsewhere, a wide box, an image without alt text."""
    wide = (
        '<div style="width: 800px">wide</div><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    )
    (tmp_path / "bad.html").write_text(
        f'<html lang="en"><title>x</title><article class="bd-article">{wide}</article>'
        '<script src="http://127.0.0.1:9/x.js"></script><script>undefinedFunction()</script></html>'
    )
    context, page, faults = start(browser, PHONE)
    visit(page, faults, f"{tmp_path.as_uri()}/", "bad")
    assert any(fault.startswith("request: http://127.0.0.1:9/") for fault in faults)
    assert any("undefinedFunction" in fault for fault in faults)
    assert page.evaluate("document.documentElement.scrollWidth > 390")
    page.evaluate(axe)
    result = page.evaluate("selector => axe.run(selector)", ARTICLE)
    assert "image-alt" in [fault["id"] for fault in result["violations"]]
    context.close()
