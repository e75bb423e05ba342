"""What stands around a chapter: facts, the machine, ticks beside links, the side bar, routes."""

import copy
import itertools
import re

import pytest

from scratchformer_course.kit.chapter_facts import chapters
from tests.site.browsing import DESK, PHONE, TOO_SMALL, axe_finds, parsed, reload
from tests.site.conftest import ROOT

CHAPTERS = chapters(ROOT)
MACHINE = ".course-machine"


def checked(page, place):
    """The chapters whose links have a tick in a part of the page."""
    links = page.locator(f"{place} a:has(.course-check)")
    return links.evaluate_all("all => all.map(a => a.href.match(/(\\d\\d)_\\w+\\.html/)[1])")


def routes(site):
    listed = parsed(site / "book" / "welcome.html").select("[data-route]")
    return [route["data-route"].split() for route in listed]


def test_a_chapter_says_what_it_needs_and_takes_and_the_machine_leads_to_all_others(site):
    stems = [chapter.docname.split("/")[1] for chapter in CHAPTERS.values()]
    for chapter, stem in zip(CHAPTERS.values(), stems, strict=True):
        tree = parsed(site / f"{chapter.docname}.html")
        (line,), (machine,) = tree.select("h1 ~ p.course-facts"), tree.select(MACHINE)
        assert {*chapter.needs, *chapter.helped_by} <= {a["href"][:2] for a in line.select("a")}
        expected = [chapter.minutes, chapter.exercise_minutes, len(chapter.exercises)]
        expected = [*expected[: 3 if chapter.exercises else 1], chapter.seconds]
        shown = [int(number) for number in re.findall(r"\d+", line.get_text())]
        assert shown[-len(expected) :] == expected
        links = {link["href"].removesuffix(".html"): link for link in machine.select("a")}
        assert sorted(links) == stems
        assert tree.select_one(f"{MACHINE} .course-here [aria-current=page]") is links[stem]

        article = copy.copy(tree.article)  # the minutes are those of what is open on the page
        folded = "details, .tag_remove-input .cell_input, .course-exercise"
        for part in article.select(f"{folded}, .live-figure, svg, nav, script, style, .headerlink"):
            part.extract()
        blocks = article.select("pre, .output table")
        code = " ".join(part.extract().get_text() for part in blocks)
        prose, code = (
            len(re.findall(r"\w+(?:['’.,-]\w+)*", text)) for text in (article.get_text(" "), code)
        )
        minutes = prose / 170 + code / 100 + len(article.select(".course-guess")) / 2
        assert chapter.minutes == pytest.approx(minutes, abs=1), stem


def test_the_machine_is_one_tab_stop_with_arrow_keys_fits_and_axe_finds_nothing(visit, axe):
    seed = """localStorage.setItem('course-route', '{"name": "A way", "chapters": ["01", "12"]}');
      localStorage.setItem('course-progress', JSON.stringify({course: 'Transformers from Scratch',
        what: 'progress', version: 1, done: ALL}))""".replace("ALL", str(list(CHAPTERS)))
    with visit(CHAPTERS["12"].docname, width=DESK, script=seed) as page:
        assert sorted(checked(page, MACHINE)) == list(CHAPTERS)
        links = page.locator(f"{MACHINE} a")
        start = links.evaluate_all("all => all.findIndex(a => a.ariaCurrent)")
        last = links.count() - 1
        links.nth(start).focus()
        steps = {"ArrowRight": start + 1, "ArrowLeft": start, "Home": 0, "ArrowUp": 0}
        steps |= {"ArrowDown": 1, "End": last, "Tab": -1, "Shift+Tab": last}
        for key, place in steps.items():
            page.keyboard.press(key)
            at = links.evaluate_all("all => all.indexOf(document.activeElement)")
            assert at == place, key
        page.emulate_media(color_scheme="dark")
        parts = f":is({MACHINE}, .prev-next-footer, .bd-sidebar-primary .bd-links)"
        assert axe_finds(page, axe, parts) == []
        page.set_viewport_size({"width": PHONE, "height": 900})
        assert page.evaluate(TOO_SMALL, MACHINE) == []


def test_a_tick_shows_at_once_in_the_chapter_the_side_bar_the_machine_the_map_and_the_routes(
    visit, site
):
    chapter = CHAPTERS["05"]
    with visit(chapter.docname, faults=[]) as page:
        circle = page.locator(".bd-sidebar-primary li.current .course-circle")
        solved, tick = page.locator(".course-solved"), "I am done with this chapter"
        assert solved.inner_text() == f"0 of {len(chapter.exercises)} exercises"
        page.get_by_label("Written as code (ticks itself): exercise 5.1").check()
        assert solved.inner_text() == f"1 of {len(chapter.exercises)} exercises"
        assert circle.get_attribute("data-level") == "part"
        assert page.locator(".bd-sidebar-primary").get_by_role("link", name="(begun)").count() == 1
        for is_done in (True, False, True):
            page.get_by_label(tick).set_checked(is_done)
            assert circle.get_attribute("data-level") == ("done" if is_done else "part")
            assert checked(page, MACHINE) == ["05"] * is_done
        assert chapter.can.strip(".") in page.locator(".course-end").inner_text()
        page.goto((site / "book" / "welcome.html").as_uri())
        listed = page.locator(".course-route:has(li .course-check)")
        expected = [r for r in routes(site) if "05" in r and r != list(CHAPTERS)]
        assert listed.count() == len(expected) > 0
        assert page.locator(".course-map a[href*='05_'] .course-check").count() == 1


def onward(page):
    return page.locator(".course-continue").evaluate("a => a.href.split('/').pop()")


def after(number):
    """The number of the next chapter."""
    return min(n for n in CHAPTERS if n > number)


def test_continue_leads_along_the_chosen_route_until_it_is_left(visit, site):
    """From disk, as over http: the browser keeps the route."""
    route = routes(site)[1]
    skipped = next(n for n in CHAPTERS if n not in route)
    pages = {n: (site / f"{CHAPTERS[n].docname}.html").as_uri() for n in CHAPTERS}
    # where the next on the route is not the next chapter
    place, following = next((a, b) for a, b in itertools.pairwise(route) if int(b) - int(a) > 1)
    with visit("book/welcome", faults=[]) as page:
        choice = page.locator(".course-route").nth(1)
        name = choice.locator("h3").evaluate("e => e.firstChild.textContent.trim()")
        choice.get_by_role("button", name="Follow this route").click()
        assert choice.locator("[role=status]").inner_text()
        reload(page)  # with what was chosen, though a busy browser may not yet have stored it
        page.goto(pages[route[-1]])
        assert onward(page) == "welcome.html#where-to-start"
        page.goto(pages[place])
        assert onward(page).startswith(f"{following}_")
        assert name in page.locator(".course-end").inner_text()
        page.goto(pages[skipped])  # which is not on the route
        assert onward(page).startswith(f"{after(skipped)}_")
        page.goto(pages[place])
        page.locator(".course-route-line a").click()
        page.get_by_role("button", name="Leave this route").click()
        for kept in (None, "{", '{"name": "x", "chapters": [9]}'):  # which no page wrote
            if kept:
                page.evaluate("kept => localStorage.setItem('course-route', kept)", kept)
            page.goto(pages[place])
            assert onward(page).startswith(f"{after(place)}_")
            assert not page.locator(".course-route-line").is_visible()


def test_the_side_bar_opens_the_part_of_the_page_alone_and_shows_its_entry(visit, site):
    """Also after a page on which it was scrolled elsewhere."""
    with visit("book/welcome", faults=[]) as page:
        bar = page.locator(".bd-sidebar-primary")
        assert bar.locator("details:not([open])").count() == 0
        bar.evaluate("bar => { bar.scrollTop = bar.scrollHeight; }")
        for number in ("06", "24"):
            page.goto((site / f"{CHAPTERS[number].docname}.html").as_uri())
            assert bar.locator("details[open] li.current").count() == 1
            assert bar.locator("details[open]").count() == 1
            page.wait_for_function("document.readyState === 'complete'")
            box = bar.locator("li.current a").bounding_box()
            assert 0 <= box["y"] < 900 - box["height"]
