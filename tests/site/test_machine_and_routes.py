"""What stands at the top of a chapter, ticks beside links, and routes."""

import copy
import itertools
import json
import re
import sys
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from tests.site import browsing
from tests.site.browsing import DESK, PHONE, TOO_SMALL, axe_finds, opened, reload

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "book" / "_ext"))
import machine_ext
import welcome_ext

from scratchformer_course.kit.facts import chapters

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = chapters(ROOT)

MACHINE = ".course-machine"


def parsed(site, name):
    return browsing.parsed(site / f"{name}.html")


def checked(page, place):
    """The chapters whose links have a tick in a part of the page."""
    links = page.locator(f"{place} a:has(.course-check)")
    return links.evaluate_all("all => all.map(a => a.href.match(/(\\d\\d)_\\w+\\.html/)[1])")


def routes(site):
    return [
        route["data-route"].split() for route in parsed(site, "book/welcome").select("[data-route]")
    ]


# ---- the line of facts ---


def test_a_chapter_says_what_it_needs_and_how_long_it_takes(site, chapter):
    facts = CHAPTERS[chapter.split("/")[1][:2]]
    (line,) = parsed(site, chapter).select("h1 ~ p.course-facts")
    linked = {link["href"][:2] for link in line.select("a")}
    assert {*facts.needs, *facts.helped_by} <= linked
    numbers = re.findall(r"\d+", line.get_text())[-4:]
    expected = facts.minutes, facts.exercise_minutes, len(facts.exercises), facts.seconds
    assert numbers == [str(number) for number in expected]


def test_minutes_of_reading_are_those_of_what_is_open_on_the_page(site, chapter):
    article = copy.copy(parsed(site, chapter).article)
    folded = "details, .tag_remove-input .cell_input, .course-exercise"
    for part in article.select(f"{folded}, .live-figure, svg, nav, script, style, .headerlink"):
        part.extract()
    code = " ".join(part.extract().get_text() for part in article.select("pre, .output table"))
    words = [len(re.findall(r"\w+(?:['’.,-]\w+)*", text)) for text in (article.get_text(" "), code)]
    minutes = words[0] / 170 + words[1] / 100 + len(article.select(".course-guess")) / 2
    assert CHAPTERS[chapter.split("/")[1][:2]].minutes == pytest.approx(minutes, abs=1)


# ---- the machine --------------------------------------------------------------------------------


def test_the_machine_leads_to_all_chapters_and_says_where_the_reader_is(site, chapter):
    page = parsed(site, chapter)
    (machine,) = page.select(MACHINE)
    links = {link["href"].removesuffix(".html"): link for link in machine.select("a")}
    stems = [known.docname.split("/")[-1] for known in CHAPTERS.values()]
    assert sorted(links) == stems and len(machine.select("a")) == len(stems)
    (current,) = machine.select("[aria-current=page]")
    assert current is links[chapter.split("/")[-1]]
    assert current.find_parent("li")["class"] == ["course-here"]
    assert len(machine.select("svg")) < 11, "not one item for each chapter"
    first = parsed(site, CHAPTERS["00"].docname).select_one(MACHINE)
    assert [t.text for t in machine.select("text")] == [t.text for t in first.select("text")]


def test_a_chapter_in_no_part_of_the_machine_ends_the_build(monkeypatch):
    monkeypatch.delitem(machine_ext.BESIDE, "BERT")
    with pytest.raises(ExtensionError, match="13"):
        machine_ext.machine(CHAPTERS["05"], CHAPTERS)


def test_the_index_of_the_search_holds_no_words_of_the_machine(site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(index[index.index("(") + 1 : index.rindex(")")])
    found = index["terms"]["translat"], index["titleterms"]["translat"]  # in headings, too
    pages = [
        index["docnames"][i] for each in found for i in ([each] if isinstance(each, int) else each)
    ]
    assert CHAPTERS["14"].docname in pages
    assert CHAPTERS["00"].docname not in pages


def test_the_machine_is_one_tab_stop_in_which_arrow_keys_move(browser, site):
    with opened(browser, (site / f"{CHAPTERS['07'].docname}.html").as_uri()) as page:

        def focused():
            return page.evaluate(
                f"[...document.querySelectorAll('{MACHINE} a')].indexOf(document.activeElement)"
            )

        links = page.locator(f"{MACHINE} a")
        start = links.evaluate_all("all => all.findIndex(a => a.ariaCurrent)")
        last, caption = links.count() - 1, page.locator(f"{MACHINE} p")
        assert caption.inner_text()
        links.nth(start).focus()
        steps = {"ArrowRight": start + 1, "ArrowLeft": start, "Home": 0, "ArrowUp": 0}
        steps |= {"ArrowDown": 1, "End": last, "Tab": -1, "Shift+Tab": last}
        for key, place in steps.items():
            page.keyboard.press(key)
            assert focused() == place, key
        hint = caption.evaluate("e => getComputedStyle(e, '::after').content")
        assert "arrow" in hint, "whoever comes by keyboard hears of the keys"
        page.keyboard.press("Shift+Tab")
        assert focused() == -1


def test_machine_and_route_fit_and_axe_finds_nothing(browser, site, axe):
    seed = """localStorage.setItem('course-route', '{"name": "A way", "chapters": ["01", "12"]}');
      localStorage.setItem('course-progress', JSON.stringify({course: 'Transformers from Scratch',
        what: 'progress', version: 1, done: ALL}))""".replace("ALL", str(list(CHAPTERS)))
    address = (site / f"{CHAPTERS['12'].docname}.html").as_uri()
    with opened(browser, address, width=DESK, script=seed) as page:
        assert page.locator(MACHINE).bounding_box()["height"] <= 140
        assert sorted(checked(page, MACHINE)) == list(CHAPTERS)
        for mode in ("dark", "light"):
            page.emulate_media(color_scheme=mode)
            for part in (MACHINE, ".prev-next-footer", ".bd-sidebar-primary .bd-links"):
                assert axe_finds(page, axe, part, all_rules=mode == "light") == []
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
        page.get_by_role("button", name="Clear all ticks").click()
        page.get_by_role("button", name="Clear them").click()
        assert page.locator(".course-check").count() == 0


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
    welcome, *pages = [
        (site / f"{name}.html").as_uri()
        for name in ("book/welcome", *(CHAPTERS[n].docname for n in route))
    ]
    with opened(browser, welcome, faults=[]) as page:
        choice = page.locator(".course-route").nth(1)
        name = choice.locator("h3").evaluate("e => e.firstChild.textContent.trim()")

        def is_followed_after_choosing():
            page.goto(welcome)
            follow = choice.get_by_role("button", name="Follow this route")
            if follow.count():
                follow.click()
            assert choice.locator("[role=status]").inner_text()
            page.goto(pages[0])
            return name in page.locator(".prev-next-footer").inner_text()

        # on a busy machine a page may be there before the browser has stored what was chosen
        assert any(is_followed_after_choosing() for _ in range(5))
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
        links = parsed(site, CHAPTERS[route[place]].docname).select(".prev-next-area a")
        assert buttons(page) == [link["href"].split("/")[-1] for link in links] != on_route
        assert page.evaluate("localStorage.getItem('course-route')") is None
        page.goto(welcome)
        page.get_by_role("button", name="Leave this route").wait_for(state="detached")


def test_a_kept_route_that_no_page_wrote_changes_nothing(browser, site):
    with opened(browser, (site / f"{CHAPTERS['07'].docname}.html").as_uri()) as page:
        for kept in ("{", "null", '{"name": "x", "chapters": [9]}'):
            page.evaluate("kept => localStorage.setItem('course-route', kept)", kept)
            reload(page)
            page.locator(MACHINE).wait_for()
            assert page.locator(".course-route-line").inner_text() == ""
            assert [name[:2] for name in buttons(page)] == ["06", "08"]
