"""What stands at the top of a chapter, ticks beside links, and routes."""

import copy
import itertools
import json
import re
import sys
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from tests.site.browsing import DESK, PHONE, TOO_SMALL, axe_finds, opened, parsed, reload

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))
import machine_ext
import welcome_ext

from scratchformer_course.kit.facts import chapters

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = chapters(ROOT)
MACHINE = ".course-machine"


@pytest.fixture
def tree(site, chapter):
    return parsed(site / f"{chapter}.html")


def checked(page, place):
    """The chapters whose links have a tick in a part of the page."""
    links = page.locator(f"{place} a:has(.course-check)")
    return links.evaluate_all("all => all.map(a => a.href.match(/(\\d\\d)_\\w+\\.html/)[1])")


def routes(site):
    found = parsed(site / "book" / "welcome.html").select("[data-route]")
    return [route["data-route"].split() for route in found]


# ---- the line of facts ---


def test_a_chapter_says_what_it_needs_and_how_long_it_takes(tree, chapter):
    facts = CHAPTERS[chapter.split("/")[1][:2]]
    (line,) = tree.select("h1 ~ p.course-facts")
    linked = {link["href"][:2] for link in line.select("a")}
    assert {*facts.needs, *facts.helped_by} <= linked
    numbers = re.findall(r"\d+", line.get_text())[-4:]
    expected = facts.minutes, facts.exercise_minutes, len(facts.exercises), facts.seconds
    assert numbers == [str(number) for number in expected]

    article = copy.copy(tree.article)  # the minutes are those of what is open on the page
    folded = "details, .tag_remove-input .cell_input, .course-exercise"
    for part in article.select(f"{folded}, .live-figure, svg, nav, script, style, .headerlink"):
        part.extract()
    code = " ".join(part.extract().get_text() for part in article.select("pre, .output table"))
    words = [len(re.findall(r"\w+(?:['’.,-]\w+)*", text)) for text in (article.get_text(" "), code)]
    minutes = words[0] / 170 + words[1] / 100 + len(article.select(".course-guess")) / 2
    assert facts.minutes == pytest.approx(minutes, abs=1)


# ---- the machine --------------------------------------------------------------------------------


def test_the_machine_leads_to_all_chapters_and_says_where_the_reader_is(tree, chapter):
    (machine,) = tree.select(MACHINE)
    links = {link["href"].removesuffix(".html"): link for link in machine.select("a")}
    stems = [known.docname.split("/")[-1] for known in CHAPTERS.values()]
    assert sorted(links) == stems and len(machine.select("a")) == len(stems)
    (current,) = machine.select("[aria-current=page]")
    assert current is links[chapter.split("/")[-1]]
    assert current.find_parent("li")["class"] == ["course-here"]


def test_a_chapter_in_no_part_of_the_machine_ends_the_build(monkeypatch):
    monkeypatch.delitem(machine_ext.BESIDE, "BERT")
    with pytest.raises(ExtensionError, match="13"):
        machine_ext.machine(CHAPTERS["05"], CHAPTERS)


def test_the_index_of_the_search_holds_no_words_of_the_machine(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    pages = [index["docnames"][i] for i in index["terms"]["translat"]]
    assert pages and CHAPTERS["00"].docname not in pages


def test_the_machine_is_one_tab_stop_with_arrow_keys_fits_and_axe_finds_nothing(browser, site, axe):
    seed = """localStorage.setItem('course-route', '{"name": "A way", "chapters": ["01", "12"]}');
      localStorage.setItem('course-progress', JSON.stringify({course: 'Transformers from Scratch',
        what: 'progress', version: 1, done: ALL}))""".replace("ALL", str(list(CHAPTERS)))
    address = (site / f"{CHAPTERS['12'].docname}.html").as_uri()
    with opened(browser, address, width=DESK, script=seed) as page:
        assert page.locator(MACHINE).bounding_box()["height"] <= 140
        assert sorted(checked(page, MACHINE)) == list(CHAPTERS)
        links = page.locator(f"{MACHINE} a")
        start = links.evaluate_all("all => all.findIndex(a => a.ariaCurrent)")
        last = links.count() - 1
        links.nth(start).focus()
        steps = {"ArrowRight": start + 1, "ArrowLeft": start, "Home": 0, "ArrowUp": 0}
        steps |= {"ArrowDown": 1, "End": last, "Tab": -1, "Shift+Tab": last}
        for key, place in steps.items():
            page.keyboard.press(key)
            focused = links.evaluate_all("all => all.indexOf(document.activeElement)")
            assert focused == place, key
        page.emulate_media(color_scheme="dark")
        parts = f":is({MACHINE}, .prev-next-footer, .bd-sidebar-primary .bd-links)"
        assert axe_finds(page, axe, parts) == []
        page.set_viewport_size({"width": PHONE, "height": 900})
        assert page.locator(MACHINE).bounding_box()["height"] <= 360
        assert page.evaluate(TOO_SMALL, MACHINE) == []


# ---- ticks --------------------------------------------------------------------------------------


def test_a_ticked_chapter_has_a_mark_beside_its_links_at_once(browser, site):
    address = (site / f"{CHAPTERS['05'].docname}.html").as_uri()
    with opened(browser, address, faults=[]) as page:
        tick = page.get_by_label("I am done with this chapter")
        for act, expected in ((tick.check, ["05"]), (tick.uncheck, []), (tick.check, ["05"])):
            act()
            assert checked(page, ".bd-sidebar-primary") == checked(page, MACHINE) == expected
        page.goto((site / "book" / "welcome.html").as_uri())
        listed = page.locator(".course-route:has(li .course-check)")
        expected = [r for r in routes(site) if "05" in r and r != list(CHAPTERS)]
        assert listed.count() == len(expected) > 0
        assert page.locator(".course-map a[href*='05_'] .course-check").count() == 1


# ---- routes -------------------------------------------------------------------------------------


def test_the_first_route_takes_nothing_for_granted(site):
    assert welcome_ext.taken_for_granted(routes(site)[0], CHAPTERS) == []


def buttons(page):
    links = page.locator(".prev-next-area a")
    return links.evaluate_all("all => all.map(a => a.href.split('/').pop())")


def test_previous_and_next_lead_along_the_chosen_route_until_it_is_left(browser, site):
    """From disk, as over http: the browser keeps the route."""
    route = routes(site)[1]
    skipped = next(n for n in CHAPTERS if n not in route)
    files = [site / f"{CHAPTERS[n].docname}.html" for n in route]
    pages = [file.as_uri() for file in files]
    with opened(browser, (site / "book" / "welcome.html").as_uri(), faults=[]) as page:
        choice = page.locator(".course-route").nth(1)
        name = choice.locator("h3").evaluate("e => e.firstChild.textContent.trim()")
        choice.get_by_role("button", name="Follow this route").click()
        assert choice.locator("[role=status]").inner_text()
        reload(page)  # with what was chosen, though a busy browser may not yet have stored it
        for i in (0, len(pages) - 1):
            page.goto(pages[i])
            assert name in page.locator(".prev-next-footer").inner_text()
            start = "welcome.html#where-to-start"
            ends = [start, *(address.split("/")[-1] for address in pages), start]
            assert buttons(page) == [ends[i], ends[i + 2]]
        page.goto((site / f"{CHAPTERS[skipped].docname}.html").as_uri())
        assert not any(end.startswith("welcome") for end in buttons(page))
        assert page.locator(".course-route-line a").get_attribute("href") == pages[0]
        # where the next on the route is not the next chapter
        place = next(i for i, (a, b) in enumerate(itertools.pairwise(route)) if int(b) - int(a) > 1)
        page.goto(pages[place])
        on_route = buttons(page)
        page.get_by_role("button", name="Leave the route").click()
        links = parsed(files[place]).select(".prev-next-area a")
        without = [link["href"].split("/")[-1] for link in links]
        assert buttons(page) == without != on_route
        assert page.evaluate("localStorage.getItem('course-route')") is None
        for kept in ("{", '{"name": "x", "chapters": [9]}'):  # which no page wrote
            page.evaluate("kept => localStorage.setItem('course-route', kept)", kept)
            reload(page)
            page.locator(MACHINE).wait_for()
            assert page.locator(".course-route-line").inner_text() == ""
            assert buttons(page) == without
