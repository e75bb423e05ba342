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
import navigation_ext
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
    monkeypatch.delitem(navigation_ext.BESIDE, "BERT")
    with pytest.raises(ExtensionError, match="13"):
        navigation_ext.navigation(CHAPTERS["05"], CHAPTERS)


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
        assert page.locator(MACHINE).bounding_box()["height"] <= 210
        assert page.evaluate(TOO_SMALL, MACHINE) == []


# ---- ticks --------------------------------------------------------------------------------------


def test_a_ticked_chapter_has_a_mark_beside_its_links_at_once(browser, site):
    address = (site / f"{CHAPTERS['05'].docname}.html").as_uri()
    with opened(browser, address, faults=[]) as page:
        tick = page.get_by_label("I am done with this chapter")
        for act, expected in ((tick.check, ["05"]), (tick.uncheck, []), (tick.check, ["05"])):
            act()
            full = page.locator(".bd-sidebar-primary a:has([data-level=done])").all_inner_texts()
            assert [text[:2] for text in full] == checked(page, MACHINE) == expected
        page.goto((site / "book" / "welcome.html").as_uri())
        listed = page.locator(".course-route:has(li .course-check)")
        expected = [r for r in routes(site) if "05" in r and r != list(CHAPTERS)]
        assert listed.count() == len(expected) > 0
        assert page.locator(".course-map a[href*='05_'] .course-check").count() == 1


# ---- routes -------------------------------------------------------------------------------------


def test_the_first_route_takes_nothing_for_granted(site):
    assert welcome_ext.taken_for_granted(routes(site)[0], CHAPTERS) == []


def onward(page):
    return page.locator(".course-continue").evaluate("a => a.href.split('/').pop()")


def test_continue_leads_along_the_chosen_route_until_it_is_left(browser, site):
    """From disk, as over http: the browser keeps the route."""
    route = routes(site)[1]
    skipped = next(n for n in CHAPTERS if n not in route)
    pages = [(site / f"{CHAPTERS[n].docname}.html").as_uri() for n in route]
    with opened(browser, (site / "book" / "welcome.html").as_uri(), faults=[]) as page:
        choice = page.locator(".course-route").nth(1)
        name = choice.locator("h3").evaluate("e => e.firstChild.textContent.trim()")
        choice.get_by_role("button", name="Follow this route").click()
        assert choice.locator("[role=status]").inner_text()
        reload(page)  # with what was chosen, though a busy browser may not yet have stored it
        ends = [*(address.split("/")[-1] for address in pages), "welcome.html#where-to-start"]
        for i in (0, len(pages) - 1):
            page.goto(pages[i])
            assert name in page.locator(".course-end").inner_text()
            assert onward(page) == ends[i + 1]
        # where the next on the route is not the next chapter
        place = next(i for i, (a, b) in enumerate(itertools.pairwise(route)) if int(b) - int(a) > 1)
        page.goto(pages[place])
        assert onward(page) == ends[place + 1]
        without = f"{int(route[place]) + 1:02}_"  # as in a chapter that is not on the route
        page.goto((site / f"{CHAPTERS[skipped].docname}.html").as_uri())
        assert onward(page).startswith(f"{int(skipped) + 1:02}_")
        page.goto(pages[place])
        page.locator(".course-route-line a").click()
        page.get_by_role("button", name="Leave this route").click()
        for kept in (None, "{", '{"name": "x", "chapters": [9]}'):  # which no page wrote
            if kept:
                page.evaluate("kept => localStorage.setItem('course-route', kept)", kept)
            page.goto(pages[place])
            assert onward(page).startswith(without)
            assert not page.locator(".course-route-line").is_visible()


# ---- where the reader is ------------------------------------------------------------------------


def test_the_side_bar_opens_the_part_of_the_page_alone_and_shows_its_entry(browser, site):
    """Also after a page on which it was scrolled elsewhere."""
    with opened(browser, (site / "book" / "welcome.html").as_uri(), faults=[]) as page:
        bar = page.locator(".bd-sidebar-primary")
        assert bar.locator("details:not([open])").count() == 0
        bar.evaluate("bar => { bar.scrollTop = bar.scrollHeight; }")
        for number in ("06", "22"):
            page.goto((site / f"{CHAPTERS[number].docname}.html").as_uri())
            assert bar.locator("details[open] li.current").count() == 1
            assert bar.locator("details[open]").count() == 1
            page.wait_for_function("document.readyState === 'complete'")
            box = bar.locator("li.current a").bounding_box()
            assert 0 <= box["y"] < 900 - box["height"]


def test_a_chapter_counts_its_exercises_and_its_circle_fills(browser, site):
    with opened(browser, (site / f"{CHAPTERS['05'].docname}.html").as_uri(), faults=[]) as page:
        circle = page.locator(".bd-sidebar-primary li.current .course-circle")
        solved = page.locator(".course-solved")
        count = len(CHAPTERS["05"].exercises)
        assert solved.inner_text() == f"0 of {count} exercises"
        page.get_by_label("Written as code (ticks itself): exercise 5.1").check()
        assert solved.inner_text() == f"1 of {count} exercises"
        assert circle.get_attribute("data-level") == "part"
        assert page.locator(".bd-sidebar-primary").get_by_role("link", name="(begun)").count() == 1
        page.get_by_label("I am done with this chapter").check()
        assert circle.get_attribute("data-level") == "done"


def test_the_card_at_a_chapters_end_says_what_the_reader_can_do_now():
    chapter = CHAPTERS["23"]._replace(can="find a bug & laugh.")
    card = navigation_ext.end_card(chapter, CHAPTERS, {"link": "after.html", "title": "After"})
    assert "You can now find a bug &amp; laugh." in card and 'href="after.html"' in card
