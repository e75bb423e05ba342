"""The pages in a real browser: offline, quiet, readable on a phone, accessible.

Each page is opened twice, and all checks of a page share these two visits: over http in dark mode,
from disk in light mode. A visit begins on a phone and goes on at a desk.
"""

import io
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.image import imread

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
# The article only: sidebar and header belong to the theme.
ARTICLE = "article.bd-article"
# A page has thousands of coloured words of code, and axe takes milliseconds for each. Its rules on
# colours depend on the style of a text and of all that it stands in: one text of each look will do.
AXE = """async ([selector, allRules]) => {
  const colours = ['color-contrast', 'link-in-text-block'], looks = new Map();
  const hasText = element => [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  for (const element of document.querySelectorAll(`${selector}, ${selector} *`)) {
    if (!hasText(element)) continue;
    const own = getComputedStyle(element);
    const look = [own.fontSize, own.fontWeight, own.textShadow, own.textDecorationLine];
    for (let up = element; up; up = up.parentElement) {
      const style = getComputedStyle(up);
      look.push(up.localName, style.color, style.backgroundColor, style.backgroundImage,
        style.opacity, style.filter, style.display, style.visibility, style.position);
    }
    const key = look.join('|');
    if (!looks.has(key)) looks.set(key, element);
  }
  const results = [await axe.run({include: [...looks.values()]},
    {runOnly: {type: 'rule', values: colours}, resultTypes: ['violations']})];
  if (allRules) results.push(await axe.run(selector,
    {rules: Object.fromEntries(colours.map(rule => [rule, {enabled: false}])),
     resultTypes: ['violations']}));
  return {
    violations: results.flatMap(result => result.violations),
    passed: results.flatMap(result => result.passes).map(rule => rule.id),
  };
}"""


class Visit(NamedTuple):
    """An open page, the faults it has shown so far, and the mode it is in."""

    page: object
    faults: list[str]
    mode: str


def start(browser, mode="light"):
    """A fresh page and the list of what it complains about or asks of other servers."""
    context = browser.new_context(viewport=PHONE, reduced_motion="reduce", color_scheme=mode)
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


# the system's setting picks the mode, as for a reader who never touched the switch
@pytest.fixture(scope="module", params=["http-dark", "file-light"])
def visited(request, page_name, site, server, browser) -> Visit:
    """The page `page_name`, opened once for all tests that follow, in the order of this file."""
    scheme, mode = request.param.split("-")
    context, page, faults = start(browser, mode)
    visit(page, faults, server if scheme == "http" else f"{site.as_uri()}/", page_name)
    yield Visit(page, faults, mode)
    context.close()


def test_page_is_quiet_offline_and_fits_a_phone(visited):
    page = visited.page
    page.set_viewport_size(PHONE)
    assert visited.faults == []

    formulas = page.locator(f"{ARTICLE} .math").count()
    drawn = page.locator(f"{ARTICLE} .math mjx-container mjx-math").count()
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


def test_folds_say_what_is_in_them_and_open_on_a_click(visited, page_name):
    page = visited.page
    page.set_viewport_size(DESK)
    folds = page.locator("div.cell details.hide")
    if page_name.startswith("notebooks/"):
        assert folds.count() > 0, "nothing is folded"
    for i in range(folds.count()):
        code = folds.nth(i).locator(".highlight pre").first
        said = folds.nth(i).locator("summary").inner_text()
        titled = "code cell" not in said  # the theme's own words
        assert said.startswith("Show ") and titled
        assert not code.is_visible()
        folds.nth(i).locator("summary").click()
        code.wait_for(state="visible", timeout=2000)
    assert visited.faults == []


def test_no_line_of_code_is_cut_off_at_1200_px(visited):
    """The folds are open still. A source line that is too long for its box would need scrolling."""
    page = visited.page
    page.set_viewport_size({"width": 1200, "height": 900})
    page.locator(f"{ARTICLE} details").evaluate_all("folds => folds.forEach(f => f.open = true)")
    cut = page.locator(f"{ARTICLE} .cell_input pre").evaluate_all(
        """boxes => boxes.filter(b => b.scrollWidth > b.clientWidth)
          .map(b => b.textContent.split('\\n').reduce((a, b) => a.length > b.length ? a : b))"""
    )
    assert [line for line in cut if "%pip" not in line] == []


def test_axe_finds_nothing_in_the_article(visited, axe):
    """All rules in light mode; in dark mode those that depend on colours."""
    page = visited.page
    page.set_viewport_size(DESK)
    assert page.locator("html").get_attribute("data-theme") == visited.mode
    # folded content is checked too
    page.locator(f"{ARTICLE} details").evaluate_all("folds => folds.forEach(f => f.open = true)")
    page.wait_for_timeout(200)  # until what now scrolls has its tab stop
    page.evaluate(axe)
    result = page.evaluate(AXE, [ARTICLE, visited.mode == "light"])
    found = [
        f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
        for fault in result["violations"]
        for node in fault["nodes"][:3]
    ]
    assert found == []
    # axe did look at something
    assert "color-contrast" in result["passed"]
    assert len(result["passed"]) > (0 if visited.mode == "dark" else 5)


def test_no_ink_of_a_formula_is_cut_off(server, browser):
    """Boxes of formulas scroll, so they hide what reaches beyond them, as italic letters do."""
    context, page, faults = start(browser)
    page.set_viewport_size(DESK)
    visit(page, faults, server, "notebooks/06_self_attention")
    formulas = page.locator(f"{ARTICLE} p .math mjx-container, {ARTICLE} div.math mjx-container")

    def pictures() -> list[np.ndarray]:
        taken = []
        for i in range(formulas.count()):
            formulas.nth(i).scroll_into_view_if_needed()
            box = formulas.nth(i).bounding_box()
            around = {"x": box["x"] - 3, "y": box["y"] - 5}
            size = {"width": box["width"] + 6, "height": box["height"] + 10}
            taken.append(imread(io.BytesIO(page.screenshot(clip=around | size))))  # from 0 to 1
        return taken

    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
    page.evaluate("() => document.fonts.ready.then(() => 0)")
    shown = pictures()
    page.add_style_tag(content=".math, .math mjx-container { overflow: visible !important; }")
    differences = [abs(a - b).max() for a, b in zip(shown, pictures(), strict=True)]
    assert len(differences) > 10 and max(differences) < 0.15
    context.close()


def test_search_finds_a_page(server, browser):
    context, page, faults = start(browser)
    visit(page, faults, server, "book/glossary")
    page.goto(f"{server}search.html?q=perplexity")
    page.locator("#search-results li a").first.wait_for(timeout=5000)
    assert faults == []
    context.close()


def test_these_checks_would_notice(tmp_path, browser, axe):
    """A planted page: an error, a request to elsewhere, a wide box, and two faults for axe."""
    wide = (
        '<div style="width: 800px">wide</div><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    )
    words = "<span>dark</span> " * 20 + '<span style="color: #999">pale</span> <span>dark</span>'
    (tmp_path / "bad.html").write_text(
        f'<html lang="en"><title>x</title><article class="bd-article">{wide}{words}</article>'
        '<script src="http://127.0.0.1:9/x.js"></script><script>undefinedFunction()</script></html>'
    )
    context, page, faults = start(browser)
    visit(page, faults, f"{tmp_path.as_uri()}/", "bad")
    assert any(fault.startswith("request: http://127.0.0.1:9/") for fault in faults)
    assert any("undefinedFunction" in fault for fault in faults)
    assert page.evaluate("document.documentElement.scrollWidth > 390")
    page.evaluate(axe)
    for all_rules, expected in (
        (True, {"image-alt", "color-contrast"}),
        (False, {"color-contrast"}),
    ):
        result = page.evaluate(AXE, [ARTICLE, all_rules])
        assert expected <= {fault["id"] for fault in result["violations"]}
    pale = next(f for f in result["violations"] if f["id"] == "color-contrast")
    assert ["pale" in node["html"] for node in pale["nodes"]] == [True]
    context.close()
