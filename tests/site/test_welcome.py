"""The welcome page: what it says is true, its model is PyTorch's, and readers' ticks are kept."""

import json
import re
import statistics
import sys
from pathlib import Path

import pytest
import torch

from scratchformer.models import GPT
from scratchformer.shipped import shipped_record
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.kit import facts
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.fewer_bits import round_model
from tests.quoted_numbers import absent
from tests.site.browsing import (
    DESK,
    NO_STORE,
    number,
    numbers,
    opened,
    parsed,
    reload,
    rows,
)
from tests.site.figures import NAME, fill, press

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import welcome_ext  # noqa: E402  (a Sphinx extension, not part of the package)

CHAPTERS = facts.chapters(ROOT)
SOURCE = (ROOT / "book" / "welcome.md").read_text(encoding="utf-8")
PICTURE = ROOT / "book" / "_pictures" / "welcome.png"
STATUS = "#course-progress [role=status]"


@pytest.fixture(scope="module")
def article(site):
    return parsed(site / "book" / "welcome.html").article


# ---- what it says is true -------------------------------------------------------------------


def measured():
    """The numbers that the measurements hold, as README writes them."""
    race, runs = load_measurements("taken_apart"), load_measurements("forecast")["corpora"]
    losses = shipped_record("tiny-shakespeare")["losses"]
    counts = race["splits"]["validation"]["counts"]
    ratio, apart = race["ratio"]["ratio"], {}
    for name, trained in race["without"].items():
        apart[name] = statistics.mean(run["loss"] for run in trained["runs"])
    hero = apart["our setting"]
    return [
        f"{ratio['value']:.0f}",
        *(f"{end:.0f}" for end in ratio["interval"]),
        f"{apart['AdamW, one rate of 0.004'] - hero:.2f}",
        f"{apart['AdamW, tuned as widely'] - hero:.2f}",
        f"{runs['playhouse']['forecast']['loss']:.3f}",
        f"{statistics.mean(run['losses']['val'] for run in runs['playhouse']['large']):.3f}",
        f"{losses['validation']:.2f}",
        f"{min(counts.values()):.2f}",
    ]


def test_readme_opens_with_the_picture_and_the_figures_of_the_measurements():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"]({PICTURE.relative_to(ROOT).as_posix()})" in readme
    assert not absent(readme, *measured())
    assert PICTURE.stat().st_size < 1_000_000
    record = shipped_record("tiny-shakespeare")
    assert record["seconds"] / 60 == pytest.approx(45, abs=5), "three quarters of an hour"


def test_each_chapter_has_a_card_with_its_facts(article):
    cards = {card["data-chapter"]: card for card in article.select("[data-chapter]")}
    assert set(cards) == set(CHAPTERS)
    for id, chapter in CHAPTERS.items():
        card = cards[id]
        assert card.a["href"] == f"../{chapter.docname}.html"
        shown = re.findall(r"\d+", card.select_one(".course-card-facts").get_text())
        assert shown == [str(chapter.minutes), str(len(chapter.exercises))]
        assert card["data-exercises"].split() == list(chapter.exercises)


def test_routes_and_parts_sum_the_minutes_of_their_chapters_and_name_what_they_need(article):
    routes = article.select(".course-route")
    assert len(routes) > 3 and routes[-1]["data-route"].split() == list(CHAPTERS)
    summed = [(route.h3, route["data-route"].split()) for route in routes]
    summed += zip(article.select(".course-part"), facts.parts(ROOT).values(), strict=True)
    for heading, ids in summed:
        shown = [int(n) for n in re.findall(r"\d+", heading.span.get_text())]
        minutes = sum(CHAPTERS[id].minutes for id in ids)
        assert shown == ([minutes] if minutes < 100 else list(divmod(minutes, 60)))
    for route in routes:
        known = {link.get_text() for link in route.select(".course-granted a")}
        for id in route["data-route"].split():
            assert set(CHAPTERS[id].needs) <= known, (route.h3, id)
            known.add(id)


def test_the_map_draws_what_the_chapters_need(article):
    boxes = {box["href"][13:15]: box for box in article.select(".course-map a")}
    assert set(boxes) == set(CHAPTERS)
    for id, chapter in CHAPTERS.items():
        arrows = boxes[id]["data-needs"], boxes[id]["data-helped-by"]
        assert tuple(tuple(each.split()) for each in arrows) == (chapter.needs, chapter.helped_by)
    implied = welcome_ext.implied_arrows(CHAPTERS)
    count = sum(len(c.needs) + len(c.helped_by) for c in CHAPTERS.values()) - len(implied)
    assert len(article.select(".course-map path.course-arrow")) == count


# For each arrow, the boxes other than its own that it touches, and the arrows of other chapters in
# whose line it runs
CROSSED = """() => {
  const boxes = [...document.querySelectorAll('.course-map a')].map(a =>
    [a.href.baseVal.match(/(\\d\\d)_/)[1], a.querySelector('rect').getBoundingClientRect()]);
  const lines = [...document.querySelectorAll('.course-map path[data-from]')].map(path => {
    const turn = path.getScreenCTM(), points = [];
    for (let at = 0; at <= path.getTotalLength(); at += 2)
      points.push(path.getPointAtLength(at).matrixTransform(turn));
    return {...path.dataset, points};
  });
  const near = (p, q) => Math.hypot(p.x - q.x, p.y - q.y) < 1.5;
  return lines.flatMap(({from, to, points}) => [
    ...boxes.filter(([number, box]) => number !== from && number !== to && points.some(({x, y}) =>
      x > box.left && x < box.right && y > box.top && y < box.bottom)),
    ...lines.filter(line => line.from !== from && line.to !== to &&
      points.filter(p => line.points.some(q => near(p, q))).length > 4),
  ].map(fault => [from, to, fault[0] ?? `${fault.from} to ${fault.to}`]));
}"""


def test_no_arrow_of_the_map_crosses_a_box_or_runs_along_one_of_another_chapter(page):
    for width in (390, 768, 1200, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(CROSSED) == [], width


def test_the_map_marks_what_a_chapter_needs_and_what_that_needs(page):
    marked = """all => all.map(a => a.href.baseVal.match(/(\\d\\d)_/)[1]).sort()"""
    box = page.locator(".course-map a[href*='/05_']")
    for act in (box.hover, box.focus):
        act()
        found = page.locator(".course-map a.course-before").evaluate_all(marked)
        assert found == ["00", "01", "02", "03", "04", "05"]
        assert page.locator(".course-map path.course-before").count() == 6
        page.locator("h1").hover()


# ---- in a browser -------------------------------------------------------------------------------


@pytest.fixture
def page(browser, site):
    """The welcome page, from disk. Who leaves it stops what it still loads."""
    address = (site / "book" / "welcome.html").as_uri()
    with opened(browser, address, width=DESK, faults=[]) as page:
        page.locator(".sx-scene").wait_for()
        yield page


def test_the_ways_in_and_the_film_are_seen_at_once(page):
    page.locator(".film button").wait_for()
    lowest = "all => Math.max(...all.map(e => e.getBoundingClientRect().bottom))"
    assert page.locator(".course-start a, .film *").evaluate_all(lowest) <= 800
    links = page.locator(".course-start a").evaluate_all("all => all.map(a => a.pathname)")
    first = f"/{CHAPTERS['01'].docname}.html"
    expected = [first, "/book/train_in_this_tab.html", first]
    assert [link[-len(end) :] for link, end in zip(links, expected, strict=True)] == expected


def test_the_bars_are_pytorchs_and_what_was_changed_is_said(page):
    page.locator("summary", has_text="How did it choose?").click()
    letters = page.locator(".sx-reading span")
    letters.first.wait_for()
    count = letters.count()
    page.get_by_role("button", name="Step").click(click_count=2)
    assert letters.count() == count + 2
    fill(page, Prompt="“naïve” — it’s")
    page.locator(".sx-status", has_text="— as -").wait_for()
    read = "'naive' - it's"
    assert "".join(letters.all_text_contents()) == read.replace(" ", "␣")
    gpt, tokenizer = round_model(GPT.pretrained(NAME)).eval(), CharTokenizer.pretrained(NAME)
    with torch.no_grad():
        logits = gpt(torch.tensor([tokenizer.encode(read)]))[0, -1]
    values, best = (logits / 0.8).softmax(dim=-1).topk(3)
    for row, i, p in zip(rows(page, "table.sx-bars")[1:4], best, values.tolist(), strict=True):
        assert row[0] == tokenizer.decode([int(i)]).replace(" ", "␣").replace("\n", "⏎")
        assert number(row[1]) == pytest.approx(100 * p, abs=0.06)


def scene(page):
    page.get_by_role("button", name="Go on").wait_for(timeout=60_000)
    return page.locator(".sx-scene").text_content()


def test_who_follows_the_address_of_a_scene_sees_it_and_nothing_slides_while_it_is_written(
    page, browser, site
):
    box = page.locator(".course-first")
    before = box.bounding_box()["height"]
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
        assert scene(other) == written
        assert other.evaluate("scrollY") > 300, "it is seen"
    long = f"{page.url.split('#')[0]}#prompt={'x' * 9000}&temperature=hot"
    with opened(browser, long, width=DESK, faults=[]) as other:
        other.locator(".sx-scene").wait_for()
        assert len(other.get_by_label("Prompt").input_value()) == 300
        assert other.get_by_label("Temperature").input_value() == "0.8"


# ---- readers' ticks -----------------------------------------------------------------------------


def go(page, name):
    page.goto(page.url.rsplit("/", 2)[0] + f"/{name}.html")


def ticked(page):
    return page.evaluate(
        "[...document.querySelectorAll('[data-tick]:checked')].map(b => b.dataset.tick)"
    )


def summary(page):
    return page.locator("#course-progress p").first.inner_text()


def seed_ticks(page, ids):
    page.evaluate("x => localStorage.setItem('course-progress', course.progress.toFile(x))", ids)
    reload(page)


def stored(page):
    kept = page.evaluate("localStorage.getItem('course-progress')")
    return json.loads(kept)["done"] if kept else []


def choose_file(page, folder, ids):
    file = folder / "ticks.json"
    file.write_text(page.evaluate("ids => course.progress.toFile(ids)", ids), encoding="utf-8")
    page.get_by_label("File of ticks").set_input_files(file)


def test_ticks_survive_a_reload_and_the_welcome_page_leads_on(page):
    go(page, CHAPTERS["04"].docname)
    ids = page.locator("[data-tick]").evaluate_all("boxes => boxes.map(b => b.dataset.tick)")
    both = [x for id in CHAPTERS["04"].exercises for x in (f"{id} worked out", id)]
    assert ids == [*both, "04"]
    page.get_by_label("Written as code (ticks itself): exercise 4.2").check()
    page.get_by_label("Worked out (ticks itself): exercise 4.3").check()
    page.get_by_label("I am done with this chapter").press("Space")
    reload(page)
    assert ticked(page) == ["4.2", "4.3 worked out", "04"]
    page.get_by_label("Written as code (ticks itself): exercise 4.2").uncheck()
    reload(page)
    assert ticked(page) == ["4.3 worked out", "04"]
    go(page, "book/welcome")
    exercises = sum(len(c.exercises) for c in CHAPTERS.values())
    assert numbers(summary(page)) == [1, len(CHAPTERS), exercises, 1, 0]
    card = page.locator('[data-chapter="04"] .course-ticked').inner_text()
    assert numbers(card) == [1]
    start = page.locator(".course-start a").first
    assert start.inner_text().startswith("Continue: 05 · ")
    start.click()
    page.wait_for_url("**/notebooks/05_averaging.html")


def test_the_first_button_leads_to_the_heading_that_was_read_last_until_continue_ends_the_chapter(
    page,
):
    start = page.locator(".course-start a").first
    go(page, CHAPTERS["06"].docname)
    heading = page.locator("article h2").nth(3)
    heading.evaluate("e => e.scrollIntoView()")
    page.wait_for_function("localStorage.getItem('course-place') !== null")
    id = heading.evaluate("e => e.parentElement.id")
    go(page, "book/welcome")
    assert start.inner_text().startswith("Continue: 06 · ")
    start.click()
    page.wait_for_url(f"**/{CHAPTERS['06'].docname}.html#{id}")
    page.locator(".course-continue").click()
    page.wait_for_url(f"**/{CHAPTERS['07'].docname}.html")
    go(page, "book/welcome")
    assert stored(page) == ["06"] and start.inner_text().startswith("Continue: 07 · ")
    page.once("dialog", lambda question: question.accept())
    press(page, "Clear all ticks")
    assert start.inner_text() == "Start chapter 01"


def test_export_clear_and_import_restore_the_ticks_that_the_course_has(page, tmp_path):
    ids = ["01", "02", "1.1"]
    seed_ticks(page, ids)
    with page.expect_download() as waiting:
        press(page, "Export to a file")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    page.once("dialog", lambda question: question.dismiss())
    press(page, "Clear all ticks")
    assert stored(page) == ids
    page.on("dialog", lambda question: question.accept())
    press(page, "Clear all ticks")
    assert stored(page) == [] and "0 of" in summary(page)
    page.get_by_label("File of ticks").set_input_files(file)
    page.wait_for_function("localStorage.getItem('course-progress') !== null")
    assert stored(page) == ids and page.locator(STATUS).inner_text().startswith("3 ")
    press(page, "Clear all ticks")
    choose_file(page, tmp_path, ["01", "99", "9.99", "77.77"])
    page.wait_for_function("localStorage.getItem('course-progress') !== null")
    assert numbers(page.locator(STATUS).inner_text()) == [1, 3] and stored(page) == ["01"]


def test_an_import_adds_to_the_ticks_and_a_broken_file_or_full_store_changes_nothing(
    page, tmp_path
):
    seed_ticks(page, ["01", "02"])
    choose_file(page, tmp_path, ["02", "03"])
    page.locator(STATUS, has_text="2 ticks were read").wait_for()
    assert stored(page) == ["01", "02", "03"]
    broken = tmp_path / "broken.json"
    broken.write_text("{", encoding="utf-8")
    page.get_by_label("File of ticks").set_input_files(broken)
    page.locator(STATUS, has_text="not a file of this course").wait_for()
    page.evaluate("""() => {
      Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };
    }""")
    choose_file(page, tmp_path, ["05"])
    page.locator(STATUS, has_text="Nothing was changed. This browser did not keep").wait_for()
    assert stored(page) == ["01", "02", "03"]


def test_a_browser_without_a_store_is_told_so(browser, site):
    address = (site / f"{CHAPTERS['05'].docname}.html").as_uri()
    with opened(browser, address, script=NO_STORE, faults=[]) as page:
        page.get_by_text("ticks cannot be kept here").wait_for()
        assert page.locator("[data-tick]").count() == 0


def test_a_tab_shows_what_another_tab_ticked(browser, server):
    with opened(browser, f"{server}book/welcome.html") as page:
        other = page.context.new_page()
        other.goto(f"{server}{CHAPTERS['05'].docname}.html")
        other.get_by_label("Written as code (ticks itself): exercise 5.1").check()
        page.locator('[data-chapter="05"] .course-ticked', has_text="1 written").wait_for()
