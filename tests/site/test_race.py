"""Training in a real tab: it learns, waits, stops and starts again, and what it made can be used.

The page is the one that `race(…).save` writes, opened from disk, with small settings. Gradients,
sessions and files: tests/tab_trainer/.
"""

import math
import re
from types import SimpleNamespace

import pytest
from matplotlib.image import imread

from book._ext import live_ext
from lab import tab
from lab.firefox import PROGRAM, Firefox
from scratchformer.data.corpora import Corpus
from scratchformer_course.page_model.speedrun import SpeedrunGPT
from tests.site.browsing import DESK, LIVE, open_folds, opened, rows
from tests.site.figures import fill, press, small, trained

FIGURE = "race"
TRAIN = "Train a GPT in this tab"
ASKED = {"Steps": "20", "Width": "6", "Blocks": "4", "Seed": "0"}


def train(page, **settings):
    """Train for a second, and give what the page tells of it."""
    small(page, **settings)
    page.evaluate("course.race.last = null")
    press(page, TRAIN)
    return trained(page)


def status(page):
    return page.locator(".sx-stage [role=status]").first


def test_a_run_is_told_filmed_ranked_and_kept_and_its_model_talks_and_opens_in_python(
    page, tmp_path
):
    run = train(page, steps=30)
    losses = [loss for _, loss in run["curve"]]
    assert len(losses) == 30 and max(losses[-1], run["loss"]) < losses[0] - 1
    right = f"{100 * run['right']:.0f} times in 100"
    assert right in status(page).inner_text()
    # keys step through the film, from the last sample to the noise
    steps, box = page.locator(".sx-strip button"), page.get_by_label("What the model writes")
    texts = [box.inner_text()]
    steps.last.focus()
    for _ in range(steps.count() - 1):
        page.keyboard.press("ArrowLeft")
        texts.append(box.inner_text())
    assert len(set(texts)) == steps.count() > 7 and len(texts[0]) > 150
    # its score stands among those of tables of counts
    page.wait_for_function("course.race.counts !== null")
    open_folds(page, ".live-figure")
    counts = page.evaluate("course.race.counts.map(count => count.nats)")
    scores = {f"{score:.2f}" for score in (run["loss"], *counts)}
    assert {row[3] for row in rows(page, ".sx-ladder")[1:]} == scores
    page.get_by_label("Type a line, and").fill("“Anna” 漢")
    press(page, "Go on")
    page.locator("[data-turns='1']").wait_for()
    page.get_by_role("button", name="Share A picture").click()
    for button, opens in (("Save image", imread), ("Save for Python", SpeedrunGPT.from_pretrained)):
        with page.expect_download() as download:
            press(page, button)
        path = tmp_path / download.value.suggested_filename
        download.value.save_as(path)
        assert opens(path) is not None

    page.reload()  # it is kept until it is forgotten
    press(page, "Look inside")
    page.get_by_role("tab", name="Logit lens").wait_for()
    assert page.get_by_label("What the model writes").inner_text() == texts[0]
    assert right in status(page).inner_text()
    press(page, "Forget it")
    page.get_by_text("Forgotten").wait_for()
    page.reload()
    page.wait_for_function("course.browserStore.read().then(run => !run)")
    assert page.locator(".sx-next-steps").count() == 0


def test_runs_with_other_ideas_and_texts_stand_beside_those_before(page, tmp_path):
    first = train(page)
    page.get_by_label(re.compile("^ ?smear")).uncheck()
    second = train(page, steps=24)
    table = {row[0]: row[1:] for row in rows(page, ".sx-two-runs")}
    assert table["Steps"] == ["24", "20"] and table["Smear"] == ["off", "on"]
    assert table["loss"] == [f"{run['loss']:.3f}" for run in (second, first)]
    field, path = page.get_by_label("Teach it your text"), tmp_path / "mine.txt"
    field.fill("Too short.")
    assert field.get_attribute("aria-invalid") == "true"
    path.write_text("Zwölf Boxkämpfer, oh 🙂\n" * 300, encoding="utf-8")
    page.get_by_label("A file with your text").set_input_files(path)
    page.locator(".sx-own-text [role=status]", has_text="6,900").wait_for()
    run = train(page, steps=40)
    characters = len(set(path.read_text(encoding="utf-8")))
    assert run["curve"][0][1] == pytest.approx(math.log(characters), abs=1e-3) and run["loss"] < 2
    assert "nanoGPT" not in page.locator(".live-figure").inner_text(), "it has no rival"


def test_the_address_sets_what_it_may_and_the_picture_stays_while_the_tab_trains(visit):
    asked = "#steps=20&width=abc&layers=99&seed=-5&muon=0&other=<b>"
    with visit("book/train_in_this_tab", asked, faults=[]) as page:
        page.locator(LIVE).wait_for()
        open_folds(page, ".live-figure")
        assert {x: page.get_by_label(x, exact=True).input_value() for x in ASKED} == ASKED
        assert not page.get_by_label("Muon for").is_checked()
        fill(page, Blocks=1, Width=5, Context=4)
        top = page.locator(".live-figure .sx-scene").evaluate_handle("""scene => {
          const tops = new Set([scene.offsetTop]), figure = scene.closest('.live-figure');
          new ResizeObserver(() => tops.add(scene.offsetTop)).observe(figure);
          return tops;
        }""")
        press(page, TRAIN)
        trained(page)
        page.get_by_role("button", name="Forget it").wait_for()
        assert page.url.endswith("#width=5&context=4&steps=20&muon=0")
        assert top.evaluate("tops => tops.size") == 1
        page.locator(".sx-next-steps a").first.click()
        page.wait_for_url("**/notebooks/01_bpe.html")


NO_CLIPBOARD = """Object.defineProperty(navigator, 'clipboard', {
  value: {writeText: text => { window.copied = text; }}})"""


def test_a_link_with_the_text_only_if_agreed_trains_the_same_model_before_another_reader(
    browser, server
):
    text = "Zwölf Boxkämpfer, oh 🙂: die Anna & der Ulf.\n" * 40
    address = f"{server}book/train_in_this_tab.html"
    with opened(browser, address, script=NO_CLIPBOARD, width=DESK) as page:
        page.locator(LIVE).wait_for()
        page.get_by_text("A text of yours needs 642 characters or more.").wait_for()
        page.get_by_label("Teach it your text").fill(text)
        open_folds(page, ".live-figure")
        page.get_by_label("Seed").first.fill("7")
        first = train(page)
        page.get_by_role("button", name="Share A picture").click()
        press(page, "Copy a link to this run")
        assert page.evaluate("copied").split("#")[1] == "seed=7&width=5&context=4&steps=20"
        agreed = page.get_by_label("Put my text into the link")
        assert not agreed.is_checked(), "it is the reader's to say"
        agreed.check()
        page.get_by_text("Whoever opens it can read the text").wait_for()
        page.get_by_role("button", name=re.compile("Copied|Copy a link")).last.click()
        page.wait_for_function("copied.includes('&text=')")
        link = page.evaluate("copied")
        assert len(link) < len(text) / 4 and "&text=" not in page.url
    with opened(browser, link, width=DESK) as page:
        status(page).filter(has_text="Seed 7").wait_for()
        assert "the text that you see here" in status(page).inner_text()
        assert page.get_by_label("Teach it your text").input_value() == text
        press(page, TRAIN)
        again = trained(page)
    losses = [[loss for _, loss in run["curve"]] for run in (first, again)]
    assert losses[0] == losses[1] and first["loss"] == again["loss"]
    place = link.index("&text=") + 30
    wrong = "B" if link[place] == "A" else "A"
    for bad in (link[:-9], link[:place] + wrong + link[place + 1 :], f"{link}{'A' * 40_000}"):
        with opened(browser, bad, width=DESK) as page:
            status(page).filter(has_text="is damaged or too long").wait_for()
            assert page.get_by_label("Teach it your text").input_value() == ""


def test_a_run_waits_goes_on_and_stops_and_after_an_accident_the_model_of_before_comes_back(page):
    small(page, steps=400)
    press(page, TRAIN)
    page.get_by_text(re.compile(r"Step \d+ of 400")).wait_for()
    assert page.get_by_label("Width", exact=True).is_disabled()
    press(page, "Pause", "Resume")
    before = page.evaluate("document.querySelector('progress').value")
    page.wait_for_function(f"document.querySelector('progress').value > {before}")
    press(page, "Stop")
    page.wait_for_function("document.querySelector('progress').value === 0")
    train(page)
    press(page, "Train much too fast")
    assert page.evaluate("document.activeElement.textContent") == "Pause"
    status(page).filter(has_text="The steps are too long").wait_for(timeout=60_000)
    assert status(page).inner_text().endswith("Your earlier model is kept, below the settings.")
    press(page, "Go on")
    page.locator("[data-turns='1']").wait_for()


def test_a_seed_gives_the_same_run_again_and_another_gives_another(page):
    first, again = train(page), train(page)
    page.get_by_label("Seed").first.fill("4")
    other = train(page)
    losses = [[loss for _, loss in run["curve"]] for run in (first, again, other)]
    assert losses[0] == losses[1] and losses[1][-1] != losses[2][-1]


WITHOUT = {
    "a worker that may not start": """window.Worker = class {
      constructor() { setTimeout(() => this.onerror({}), 50); }
      postMessage() {}
    }""",
    "workers and WebAssembly": "delete window.Worker; delete window.WebAssembly",
    "a store": "Object.defineProperty(window, 'indexedDB', {get() { throw new Error('no'); }})",
}


@pytest.mark.parametrize("without", WITHOUT)
def test_the_page_does_the_work_without(browser, saved, without):
    with opened(browser, saved(FIGURE), script=WITHOUT[without]) as page:
        run = train(page)
        assert len(run["curve"]) == 20 and run["loss"] < 3.5
        assert (run["kind"] == "plain") == ("WebAssembly" in without)
        if without == "a store":
            page.get_by_text("This browser keeps nothing here").wait_for()


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: nothing was trained in it")
def test_in_firefox_too_it_trains(saved):
    with Firefox() as page:
        run = tab.in_the_tab(page, saved(FIGURE), seed=0, steps=20)
    assert len(run["curve"]) == 20 and run["loss"] < run["curve"][0][1] - 1


def test_prose_about_a_text_stands_only_where_the_site_is_built_with_it(monkeypatch):
    for name, tags in (("tinyshakespeare", {"shakespeare"}), ("playhouse", set())):
        corpus = Corpus(name, "", "embedded")
        monkeypatch.setattr("scratchformer.data.load_corpus", lambda _, corpus=corpus: corpus)
        app = SimpleNamespace(tags=set())
        live_ext.tag_text(app, None)
        assert app.tags == tags
