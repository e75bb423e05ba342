"""The welcome page: what it says is true, its model is PyTorch's, and readers' ticks are kept."""

import json
import statistics

import pytest
import torch

from scratchformer.shipped import shipped_record
from scratchformer_course.kit import chapter_facts
from scratchformer_course.measurements import load_measurements
from tests.quoted_numbers import absent
from tests.site import browsing
from tests.site.browsing import DESK, number, numbers, opened, parsed, reload, rows, ticked
from tests.site.conftest import ROOT
from tests.site.figures import fill, press, shipped

CHAPTERS = chapter_facts.chapters(ROOT)
PICTURE = "book/_pictures/welcome.png"


# ---- what it says is true -------------------------------------------------------------------


def test_readme_opens_with_the_picture_and_the_figures_of_the_measurements():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"]({PICTURE})" in readme and (ROOT / PICTURE).stat().st_size < 1_000_000
    race, forecast = load_measurements("taken_apart"), load_measurements("forecast")["corpora"]
    record, ratio = shipped_record("tiny-shakespeare"), race["ratio"]["ratio"]
    quoted = [f"{x:.0f}" for x in (ratio["value"], *ratio["interval"])]
    ours, one_rate, tuned = (
        statistics.mean(run["loss"] for run in race["without"][name]["runs"])
        for name in ("our setting", "AdamW, one rate of 0.004", "AdamW, tuned as widely")
    )
    counted = min(race["splits"]["validation"]["counts"].values())
    hundredths = (one_rate - ours, tuned - ours, counted, record["losses"]["validation"])
    quoted += [f"{x:.2f}" for x in hundredths]
    large = statistics.mean(run["losses"]["val"] for run in forecast["playhouse"]["large"])
    quoted += [f"{x:.3f}" for x in (forecast["playhouse"]["forecast"]["loss"], large)]
    assert not absent(readme, *quoted)
    assert record["seconds"] / 60 == pytest.approx(45, abs=5), "three quarters of an hour"


def test_cards_map_routes_and_parts_say_what_chapters_need_and_take(site):
    article = parsed(site / "book" / "welcome.html").article
    cards = {card["data-chapter"]: card for card in article.select("[data-chapter]")}
    boxes = {box["href"][13:15]: box for box in article.select(".course-map a")}
    assert set(cards) == set(boxes) == set(CHAPTERS)
    for name, chapter in CHAPTERS.items():
        card, box = cards[name], boxes[name]
        assert card.a["href"] == f"../{chapter.docname}.html"
        shown = numbers(card.select_one(".course-card-facts").get_text())
        assert shown == [chapter.minutes, len(chapter.exercises)]
        assert card["data-exercises"].split() == list(chapter.exercises)
        assert tuple(box["data-needs"].split()) == chapter.needs
        assert tuple(box["data-helped-by"].split()) == chapter.helped_by
    routes = article.select(".course-route")
    assert routes[-1]["data-route"].split() == list(CHAPTERS)
    assert not routes[0].select(".course-granted"), "the first takes nothing for granted"
    summed = [(route.h3, route["data-route"].split()) for route in routes]
    summed += zip(article.select(".course-part"), chapter_facts.parts(ROOT).values(), strict=True)
    for heading, listed in summed:
        minutes = sum(CHAPTERS[name].minutes for name in listed)
        expected = [minutes] if minutes < 100 else list(divmod(minutes, 60))
        assert numbers(heading.span.get_text()) == expected
    for route in routes:
        known = {link.get_text() for link in route.select(".course-granted a")}
        for name in route["data-route"].split():
            assert set(CHAPTERS[name].needs) <= known, (route.h3, name)
            known.add(name)


# ---- in a browser -------------------------------------------------------------------------------


@pytest.fixture
def page(visit):
    """The welcome page, from disk. Who leaves it stops what it still loads."""
    with visit("book/welcome", width=DESK, faults=[]) as page:
        page.locator(".sx-scene").wait_for()
        yield page


def test_the_ways_in_and_the_film_are_seen_at_once_and_the_map_marks_what_a_chapter_needs(page):
    page.locator(".film button").wait_for()
    lowest = "all => Math.max(...all.map(e => e.getBoundingClientRect().bottom))"
    assert page.locator(".course-start a, .film *").evaluate_all(lowest) <= 800
    links = page.locator(".course-start a").evaluate_all("all => all.map(a => a.pathname)")
    expected = ["01_bpe", "train_in_this_tab", "01_bpe", "talk"]
    assert [link.split("/")[-1].removesuffix(".html") for link in links] == expected
    marked = "all => all.map(a => a.href.baseVal.match(/(\\d\\d)_/)[1]).sort()"
    box = page.locator(".course-map a[href*='/05_']")
    for act in (box.hover, box.focus):
        act()
        needed = page.locator(".course-map a.course-before").evaluate_all(marked)
        assert needed == ["00", "01", "02", "04", "05"]
        page.locator("h1").hover()


def test_it_tells_how_a_letter_was_chosen_and_what_it_read_in_place_of_others(page):
    page.locator("summary", has_text="How did it choose?").click()
    letters = page.locator(".sx-reading span")
    letters.first.wait_for()
    count = letters.count()
    page.get_by_role("button", name="Step").click(click_count=2)
    assert letters.count() == count + 2
    fill(page, Prompt="“naïve” — it’s")
    page.locator(".sx-status", has_text="— as -").wait_for()
    text = "'naive' - it's"
    assert "".join(letters.all_text_contents()) == text.replace(" ", "␣")
    gpt, tokenizer = shipped()
    with torch.no_grad():
        p = (gpt(torch.tensor([tokenizer.encode(text)]))[0, -1] / 0.8).softmax(dim=-1)
    best = tokenizer.decode([int(p.argmax())]).replace(" ", "␣").replace("\n", "⏎")
    letter, share, *_ = rows(page, "table.sx-bars")[1]
    # the page's model is rounded to eight bits
    assert letter == best and number(share) == pytest.approx(100 * p.max().item(), abs=2)


def scene(page):
    page.get_by_role("button", name="Go on").wait_for(timeout=60_000)
    return page.locator(".sx-scene").text_content()


def test_who_follows_the_address_of_a_scene_sees_it_and_nothing_slides_while_it_is_written(
    page, browser
):
    before = page.locator(".course-first").bounding_box()["height"]
    fill(page, Prompt="JULIET:\nO R&omeo")
    page.get_by_role("button", name="Generate").click()
    heights = page.evaluate("""() => new Promise(then => {
      const heights = new Set(), box = document.querySelector('.course-first');
      (function look() {
        heights.add(box.offsetHeight);
        if (document.querySelector('.sx-go').textContent === 'Go on') then([...heights]);
        else requestAnimationFrame(look);
      })();
    })""")
    assert len(heights) == 1 and heights[0] == pytest.approx(before, abs=1)
    written = scene(page)
    assert written.startswith("JULIET:\nO R&omeo") and len(written) > 100
    with opened(browser, page.url, width=DESK, faults=[]) as other:
        other.locator(".sx-scene", has_text=written[-20:]).wait_for(timeout=60_000)
        assert scene(other) == written and other.evaluate("scrollY") > 300, "it is seen"
    long = f"{page.url.split('#')[0]}#prompt={'x' * 9000}&temperature=hot"
    with opened(browser, long, width=DESK, faults=[]) as other:
        other.locator(".sx-scene").wait_for()
        assert len(other.get_by_label("Prompt").input_value()) == 300
        assert other.get_by_label("Temperature").input_value() == "0.8"


# ---- readers' ticks -----------------------------------------------------------------------------

FULL = """() => {
  Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };
}"""


def go(page, name):
    page.goto(page.url.rsplit("/", 2)[0] + f"/{name}.html")


def stored(page):
    kept = page.evaluate("localStorage.getItem('course-progress')")
    return json.loads(kept)["done"] if kept else []


def test_ticks_survive_a_reload_and_the_welcome_page_leads_on(page):
    start = page.locator(".course-start a").first
    go(page, CHAPTERS["04"].docname)
    page.get_by_label("Written as code (ticks itself): exercise 4.2").check()
    page.get_by_label("Worked out (ticks itself): exercise 4.3").check()
    page.get_by_label("I am done with this chapter").press("Space")
    reload(page)
    assert ticked(page) == ["4.2", "4.3 worked out", "04"]
    page.get_by_label("Written as code (ticks itself): exercise 4.2").uncheck()
    reload(page)
    assert ticked(page) == ["4.3 worked out", "04"]
    go(page, "book/welcome")
    exercises = sum(len(chapter.exercises) for chapter in CHAPTERS.values())
    summary = page.locator("#course-progress p").first.inner_text()
    assert numbers(summary) == [1, len(CHAPTERS), exercises, 1, 0]
    assert numbers(page.locator('[data-chapter="04"] .course-ticked').inner_text()) == [1]
    assert start.inner_text().startswith("Continue: 05 · ")

    go(page, CHAPTERS["06"].docname)  # the heading that was read last
    heading = page.locator("article h2").nth(3)
    heading.evaluate("e => e.scrollIntoView()")
    page.wait_for_function("localStorage.getItem('course-place')?.includes('06')")
    place = heading.evaluate("e => e.parentElement.id")
    go(page, "book/welcome")
    start.click()
    page.wait_for_url(f"**/{CHAPTERS['06'].docname}.html#{place}")
    page.locator(".course-continue").click()  # which ends the chapter
    page.wait_for_url(f"**/{CHAPTERS['07'].docname}.html")
    go(page, "book/welcome")
    assert "06" in stored(page) and start.inner_text().startswith("Continue: 07 · ")
    page.once("dialog", lambda question: question.accept())
    press(page, "Clear all ticks")
    assert start.inner_text() == "Start chapter 01"


def test_export_clear_and_import_restore_the_ticks_and_a_broken_file_or_full_store_changes_none(
    page, tmp_path
):
    page.evaluate("x => localStorage.setItem('course-progress', course.progress.toFile(x))", ["01"])
    reload(page)
    with page.expect_download() as waiting:
        press(page, "Export to a file")
    exported = tmp_path / "exported.json"
    waiting.value.save_as(exported)
    for answer, left in (("dismiss", ["01"]), ("accept", [])):
        page.once("dialog", lambda question, answer=answer: getattr(question, answer)())
        press(page, "Clear all ticks")
        assert stored(page) == left

    def read(text, words):
        path = tmp_path / "ticks.json"
        path.write_text(text, encoding="utf-8")
        page.get_by_label("File of ticks").set_input_files(path)
        page.locator("#course-progress [role=status]", has_text=words).wait_for()

    to_file = "ids => course.progress.toFile(ids)"
    # of what this edition has
    read(page.evaluate(to_file, ["02", "2.1", "99", "77.77"]), "2 ticks were read")
    read(exported.read_text(encoding="utf-8"), "1 tick was read")
    assert stored(page) == ["01", "02", "2.1"], "they are added"
    read("{", "not a file of this course")
    page.evaluate(FULL)
    read(page.evaluate(to_file, ["05"]), "Nothing was changed. This browser did not keep")
    assert stored(page) == ["01", "02", "2.1"]


def test_a_tick_leaves_what_a_newer_edition_keeps_and_says_beside_it_if_it_cannot_be_kept(
    visit,
):
    newer = {"course": "Transformers from Scratch", "what": "progress", "version": 2, "more": [1]}
    keep = "kept => localStorage.setItem('course-progress', JSON.stringify(kept))"
    content = "JSON.parse(localStorage.getItem('course-progress'))"
    with visit(CHAPTERS["05"].docname) as page:
        box = page.get_by_label("Worked out (ticks itself): exercise 5.1")
        page.evaluate(keep, newer | {"done": ["99", "5.1 read"]})
        box.check()
        assert page.evaluate(content) == newer | {"done": ["5.1 read", "5.1 worked out", "99"]}
        unreadable = newer | {"done": {"05": "yes"}}
        page.evaluate(keep, unreadable)
        box.click()
        page.locator(".course-ticks [role=status]", has_text="newer edition").wait_for()
        assert page.evaluate(content) == unreadable and box.is_checked()
        page.evaluate("localStorage.clear()")
        page.evaluate(FULL)
        box.click()
        page.locator(".course-ticks [role=status]", has_text="full or blocked").wait_for()
        assert box.is_checked()


def test_a_browser_without_a_store_is_told_so(visit):
    with visit(CHAPTERS["05"].docname, script=browsing.NO_STORE, faults=[]) as page:
        page.get_by_text("ticks cannot be kept here").wait_for()
        assert page.locator("[data-tick]").count() == 0


def test_a_tab_shows_what_another_tab_ticked(browser, server):
    with opened(browser, f"{server}book/welcome.html") as page:
        other = page.context.new_page()
        other.goto(f"{server}{CHAPTERS['05'].docname}.html")
        other.get_by_label("Written as code (ticks itself): exercise 5.1").check()
        page.locator('[data-chapter="05"] .course-ticked', has_text="1 written").wait_for()
