"""How every test of this folder opens a page, and what it may complain about."""

import contextlib
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup

PHONE, DESK, WIDE = 390, 1280, 1200
HEIGHT = 900
LIVE = ".live-figure[data-live=yes]"
ARTICLE = "article.bd-article"  # sidebar and header belong to the theme
LOCAL = ("data:", "blob:")
# A page has thousands of coloured words of code, and axe takes milliseconds for each. Its rules on
# colours depend on the style of a text and of all that it stands in: one text of each look will do.
# Then code loses its colours, which no other rule looks at.
AXE = """async ([selector, allRules]) => {
  const colours = ['color-contrast', 'link-in-text-block'], looks = new Map(), styles = new Map();
  const hasText = element => [...element.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const around = element => {
    if (!element) return '';
    if (!styles.has(element)) {
      const style = getComputedStyle(element);
      styles.set(element, [element.localName, style.color, style.backgroundColor,
        style.backgroundImage, style.opacity, style.filter, style.display, style.visibility,
        style.position, around(element.parentElement)].join('|'));
    }
    return styles.get(element);
  };
  for (const element of document.querySelectorAll(`${selector}, ${selector} *`)) {
    if (!hasText(element)) continue;
    const style = getComputedStyle(element);
    const look = [style.fontSize, style.fontWeight, style.textShadow, style.textDecorationLine];
    const key = [...look, around(element)].join('|');
    if (!looks.has(key)) looks.set(key, element);
  }
  const results = [await axe.run({include: [...looks.values()]},
    {preload: false, runOnly: {type: 'rule', values: colours}, resultTypes: ['violations']})];
  if (allRules) {
    for (const code of document.querySelectorAll(`${selector} .highlight pre`))
      code.textContent = code.textContent;
    results.push(await axe.run(selector, {preload: false, resultTypes: ['violations'],
      rules: Object.fromEntries(colours.map(rule => [rule, {enabled: false}]))}));
  }
  return {
    violations: results.flatMap(result => result.violations),
    passed: results.flatMap(result => result.passes).map(rule => rule.id),
  };
}"""
# What no reader could use: the page wider than the window, letters too small, fields too low.
TOO_SMALL = """selector => {
  const parts = [...document.querySelectorAll(`${selector} *`)].filter(e => e.checkVisibility());
  const has = e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const scale = e => {
    const turn = e instanceof SVGTextElement && e.getScreenCTM();
    return turn ? Math.hypot(turn.a, turn.b) : 1;
  };
  const letters = e => parseFloat(getComputedStyle(e).fontSize) * scale(e);
  const lowest = e => e.matches('button, summary') ? 24 : 16;
  const small = [
    ...parts.filter(e => has(e) && e.getClientRects().length && letters(e) < 12.9),
    ...parts.filter(e => e.matches('button, summary, input')
      && e.getBoundingClientRect().height < lowest(e) - 0.1),
  ].map(e => `too small: ${e.outerHTML.slice(0, 90)}`);
  const width = document.documentElement.scrollWidth;
  return width > innerWidth ? [`${width} px wide`, ...small] : small;
}"""


@contextlib.contextmanager
def opened(
    browser: Any,
    address: str,
    mode: str = "light",
    width: int = WIDE,
    script: str = "",
    javascript: bool = True,
    faults: list[str] | None = None,
    **settings: Any,
) -> Iterator[Any]:
    """A page in a context of its own; at the end it may have complained of nothing.

    It complains of errors, of warnings on the console, and of requests that leave the site or
    fail; a test that wants to see the complaints gives a list for them. `script` runs first.
    `settings` are those of playwright's context, as `has_touch`.
    """
    noted: list[str] = []
    settings |= {"viewport": {"width": width, "height": HEIGHT}, "color_scheme": mode}
    context = browser.new_context(
        reduced_motion="reduce", java_script_enabled=javascript, **settings
    )
    try:
        page = context.new_page()
        if javascript:  # without it, a browser may give up scripts that it has asked for
            listen(page, address, noted if faults is None else faults)
        if script:
            page.add_init_script(script)
        page.goto(address)
        yield page
        assert noted == [], noted
    finally:
        context.close()


def listen(page: Any, address: str, faults: list[str]) -> None:
    """Note what the page complains of. Its site is its server, or the folder above its own."""
    ours = "/".join(address.split("/")[:3])
    ours = ours if address.startswith("http") else address.rsplit("/", 2)[0]

    def note(kind: str, text: object, is_fault: bool = True) -> None:
        if is_fault:
            faults.append(f"{kind}: {text}")

    page.on("request", lambda x: note("request", x.url, not x.url.startswith((ours, *LOCAL))))
    # given up, as when the reader goes on, is no failure
    page.on("requestfailed", lambda x: note("failed", x.url, x.failure != "net::ERR_ABORTED"))
    page.on("response", lambda x: note("missing", x.url, x.status >= 400))
    page.on("pageerror", lambda error: note("page error", error))
    page.on("console", lambda x: note("console", x.text, x.type in ("error", "warning")))


def axe_finds(page: Any, axe: str, selector: str, all_rules: bool = True) -> list[str]:
    """What axe complains of in a part of the page."""
    if not page.evaluate("window.axe !== undefined"):
        page.evaluate(axe)
    result = page.evaluate(AXE, [selector, all_rules])
    assert "color-contrast" in result["passed"], "axe saw no text"
    return [
        f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
        for fault in result["violations"]
        for node in fault["nodes"][:3]
    ]


@functools.cache
def parsed(path: Path) -> BeautifulSoup:
    """A built page as a tree that all tests share: none may change it. Its code is plain text."""
    html = path.read_text(encoding="utf-8")
    plain = re.sub(r'<span class="\w{1,3}">([^<]*)</span>', r"\1", html)
    return BeautifulSoup(plain, "html.parser")


# as in a browser that keeps nothing
NO_STORE = "Object.defineProperty(window, 'localStorage', {get() { throw new Error('blocked'); }})"
STORED = "JSON.stringify(Object.entries(localStorage).sort())"


def reload(page: Any) -> None:
    """Open the page anew; if a busy browser had not yet stored all, store it and open it again."""
    stored = page.evaluate(STORED)
    page.reload()
    for _ in range(4):
        if page.evaluate(STORED) == stored:
            return
        page.evaluate("all => JSON.parse(all).map(pair => localStorage.setItem(...pair))", stored)
        page.reload()


def number(text: str) -> float:
    """A number as pages write it."""
    return float(text.replace("−", "-").replace("∞", "inf").replace(",", "").strip("%< "))


def numbers(text: str) -> list[float]:
    """All numbers of a text, without their signs."""
    return [number(digits) for digits in re.findall(r"\d[\d,]*\.?\d*", text)]


def weights(page: Any, selector: str) -> list[float]:
    """The numbers from 0 to 1 that elements show as heights or shades."""
    return page.locator(selector).evaluate_all(
        "all => all.map(e => Number(e.style.getPropertyValue('--w')))"
    )


def ends(page: Any, selector: str) -> list[list[float]]:
    """The ends of drawn lines: x1, y1, x2, y2 of each."""
    return page.locator(selector).evaluate_all(
        "all => all.map(l => ['x1', 'y1', 'x2', 'y2'].map(n => Number(l.getAttribute(n))))"
    )


def tables(page: Any, selector: str) -> list[list[list[str]]]:
    """The cells of each row of each table, as texts, its header's first."""
    return page.locator(selector).evaluate_all(
        """tables => tables.map(table =>
          [...table.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""
    )


def rows(page: Any, selector: str = "table") -> list[list[str]]:
    """The rows of the only table."""
    (table,) = tables(page, selector)
    return table


def focused(page: Any) -> str:
    """The name, or else the text, of what has the focus."""
    return page.evaluate("""() => document.activeElement.getAttribute('aria-label')
      ?? document.activeElement.textContent""")


def ticked(page: Any) -> list[str]:
    """The ticks that are set on the page."""
    return page.evaluate(
        "[...document.querySelectorAll('[data-tick]:checked')].map(box => box.dataset.tick)"
    )


def open_folds(page: Any, selector: str) -> None:
    """Open every fold that a reader can reach, and those inside them."""
    page.evaluate(
        """selector => {
          const closed = () => [...document.querySelectorAll(`${selector} details:not([open])`)]
            .filter(fold => fold.checkVisibility());
          while (closed().length) for (const fold of closed()) fold.open = true;
        }""",
        selector,
    )
