"""Training in a real tab: it learns, waits, stops and starts again, and what it made can be used.

The page is the one that `race(…).save` writes, opened from disk, with small settings.
"""

import json
import math
import re

import pytest
import torch
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from matplotlib.image import imread

from book._ext import live_ext
from lab import tab
from lab.firefox import PROGRAM, Firefox
from scratchformer.cli import read_config
from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model.speedrun import SpeedrunGPT
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer.race import CONFIG, FIXED, TRAINING
from tests.node import COURSE
from tests.site.browsing import open_folds, opened, rows
from tests.site.figures import fill, press, small, trained
from tests.tab_trainer import gradients

FIGURE = "race"
TRAIN = "Train a GPT in this tab"
ASKED = {"Steps": "20", "Width": "6", "Blocks": "4", "Seed": "0"}
OWN = "Teach it your text"


def train(page, **settings):
    """Train for a second, and give what the page tells of it."""
    small(page, **settings)
    page.evaluate("course.race.last = null")
    press(page, TRAIN)
    return trained(page)


def status(page):
    return page.locator(".sx-stage [role=status]").first


# ---- one run, and all that a reader can do with it ----


def test_a_run_is_told_filmed_ranked_and_kept_and_its_model_talks_and_opens_in_python(
    page, tmp_path
):
    run = train(page, steps=30)
    losses = [loss for _, loss in run["curve"]]
    assert len(losses) == 30 and max(losses[-1], run["loss"]) < losses[0] - 1
    assert f"{100 * run['right']:.0f} times in 100" in status(page).inner_text()
    page.wait_for_function("course.race.counts !== null")
    open_folds(page, ".live-figure")
    numbers = page.locator("tr", has_text="your GPT").last
    assert f"{run['loss']:.3f}" in numbers.inner_text()

    # keys step through the film, from the last sample to the noise
    steps, box = page.locator(".sx-strip button"), page.get_by_label("What the model writes")
    seen = [box.inner_text()]
    steps.last.focus()
    for _ in range(steps.count() - 1):
        page.keyboard.press("ArrowLeft")
        seen.append(box.inner_text())
    assert len(set(seen)) == steps.count() > 7 and len(seen[0]) > 150
    assert steps.first.get_attribute("aria-pressed") == "true"

    # its score stands among those of tables of counts
    counts = page.evaluate("course.race.counts")
    ladder = rows(page, ".sx-ladder")[1:]
    scores = {f"{score:.2f}" for score in (run["loss"], *(one["nats"] for one in counts))}
    assert len(ladder) == 7 and {row[3] for row in ladder} == scores

    page.get_by_label("Type a line, and").fill("“Anna” 漢")
    press(page, "Go on")
    page.locator("[data-turns='1']").wait_for()
    assert len(page.get_by_label("What you said, and").inner_text()) > 150

    page.get_by_role("button", name="Share A picture").click()
    paths = {}
    for button in ("Save image", "Save for Python"):
        with page.expect_download() as download:
            press(page, button)
        paths[button] = tmp_path / download.value.suggested_filename
        download.value.save_as(paths[button])
    picture = imread(paths["Save image"])
    assert picture.shape[:2] == (630, 1200) and picture.std() > 0.1
    model, ids = SpeedrunGPT.from_pretrained(paths["Save for Python"]), list(range(4))
    shown = page.evaluate(
        """async ids => Array.from(course.model.forward(course.model.load(
             (await course.kept.recall()).run.description), ids).logits)""",
        ids,
    )
    with torch.no_grad():
        expected = model(torch.tensor([ids]))[0]
    difference = (torch.tensor(shown).view_as(expected) - expected).abs().max()
    assert difference < 0.02, "the page's copy is rounded to float16"

    # it is kept until it is forgotten, and what is no run is passed over
    page.reload()
    page.get_by_role("button", name="Forget it").wait_for()
    assert page.get_by_label("What the model writes").inner_text() == seen[0]
    assert f"{100 * run['right']:.0f} times in 100" in status(page).inner_text()
    assert page.get_by_label("Steps").input_value() == "30"
    press(page, "Look inside")
    page.get_by_role("tab", name="Logit lens").wait_for()
    assert page.get_by_role("button", name="Close", exact=True).count() == 1
    press(page, "Forget it")
    page.get_by_text("Forgotten").wait_for()
    for stored in (None, {"run": {"weights": 1}}, "["):
        if stored:
            page.evaluate("it => course.kept.keep(it)", stored)
        page.reload()
        page.get_by_role("button", name=TRAIN).wait_for()
        page.wait_for_function("course.kept.recall().then(found => !found)")
        assert page.locator(".sx-next-steps").count() == 0


def test_runs_with_other_ideas_and_texts_stand_beside_those_before(page, tmp_path):
    first = train(page)
    legend, field = page.locator(".sx-legend"), page.get_by_label(OWN)
    written = page.locator(".sx-own-text [role=status]")
    page.get_by_label(re.compile("^ ?smear")).uncheck()
    second = train(page, steps=24)
    table = {row[0]: row[1:] for row in rows(page, ".sx-two-runs")}
    assert table["Steps"] == ["24", "20"] and table["Smear"] == ["off", "on"]
    assert table["loss"] == [f"{run['loss']:.3f}" for run in (second, first)]
    assert "Width" not in table and "Text" not in table
    assert "your run before" in legend.inner_text() and "nanoGPT" in legend.inner_text()

    field.fill("Too short.")
    assert "10" in written.inner_text() and field.get_attribute("aria-invalid") == "true"
    press(page, TRAIN)
    status(page).filter(has_text="10 ").wait_for()
    field.fill("Still too short.")
    assert status(page).inner_text() == "", "it was of the text before"
    path = tmp_path / "mine.txt"
    path.write_text("Zwölf Boxkämpfer, oh 🙂\n" * 300, encoding="utf-8")
    page.get_by_label("A file with your text").set_input_files(path)
    written.filter(has_text="6,900").wait_for()
    run = train(page, steps=40)
    characters = len(set(path.read_text(encoding="utf-8")))
    assert run["curve"][0][1] == pytest.approx(math.log(characters), abs=1e-3) and run["loss"] < 2
    assert "your run before" not in legend.inner_text()
    assert "nanoGPT" not in page.locator(".live-figure").inner_text(), "it has no rival"


def test_a_browser_that_keeps_nothing_trains_and_says_so(browser, saved):
    script = "Object.defineProperty(window, 'indexedDB', {get() { throw new Error('blocked'); }})"
    with opened(browser, saved(FIGURE), script=script) as page:
        train(page)
        page.get_by_text("This browser keeps nothing here").wait_for()
        assert page.get_by_role("button", name="Forget it").count() == 0


def test_the_address_sets_what_it_may_and_nothing_slides_while_the_tab_trains(browser, site):
    address = (site / "book" / "train_in_this_tab.html").as_uri()
    asked = "#steps=20&width=abc&layers=99&seed=-5&muon=0&other=<b>"
    with opened(browser, address + asked, faults=[]) as page:
        page.locator(".live-figure[data-live=yes]").wait_for()
        open_folds(page, ".live-figure")
        read = {name: page.get_by_label(name, exact=True).input_value() for name in ASKED}
        assert read == ASKED
        assert not page.get_by_label("Muon for").is_checked()
        fill(page, Blocks=1, Width=5, Context=4)
        page.locator("details").evaluate_all("all => all.forEach(e => { e.open = false; })")
        tops = page.evaluate_handle("""() => {
          const tops = new Set();
          (function look() {
            tops.add(document.querySelector('.live-figure .sx-scene').offsetTop);
            requestAnimationFrame(look);
          })();
          return tops;
        }""")
        press(page, TRAIN)
        trained(page)
        page.get_by_role("button", name="Forget it").wait_for()
        assert page.url.endswith("#width=5&context=4&steps=20&muon=0")
        assert tops.evaluate("tops => tops.size") == 1
        first = page.locator(".sx-next-steps a")
        first.click()
        page.wait_for_url("**/notebooks/01_bpe.html")


def test_a_score_is_set_beside_that_of_the_run_which_opens_the_course():
    text = Playhouse().text(4000)
    last = f"{100 * load_measurements('film')['frames'][-1]['right']:.0f}"
    told = {
        name: race(Corpus(name, text, "directory")).settings["ease"]
        for name in ("playhouse", "tinyshakespeare", "another")
    }
    assert f"{last} times" in told["playhouse"] and f"{last} after" in told["tinyshakespeare"]
    assert told["another"] is None


def test_a_run_waits_goes_on_and_stops(page):
    small(page, steps=400)
    press(page, TRAIN)
    page.get_by_text(re.compile(r"Step \d+ of 400")).wait_for()
    width = page.get_by_label("Width", exact=True)
    assert width.is_disabled()
    press(page, "Pause")
    page.get_by_role("button", name="Resume", exact=True).wait_for()
    press(page, "Resume")
    before = page.evaluate("document.querySelector('progress').value")
    page.wait_for_function(f"document.querySelector('progress').value > {before}")
    press(page, "Stop")
    page.wait_for_function("document.querySelector('progress').value === 0")
    assert width.is_enabled()


def test_an_accident_is_one_press_and_the_model_of_before_comes_back(page):
    train(page)
    press(page, "Train much too fast")
    assert page.evaluate("document.activeElement.textContent") == "Pause"
    words = status(page)
    words.filter(has_text="The steps are too long").wait_for(timeout=60_000)
    assert words.inner_text().endswith("Your earlier model is kept, below the settings.")
    assert page.get_by_label("Rates").evaluate("e => e.value") == "5"
    assert page.get_by_label("Steps", exact=True).evaluate("e => e.value") == "76"
    press(page, "Go on")
    page.locator("[data-turns='1']").wait_for()
    assert page.get_by_role("button", name="Copy this talk").is_enabled()


# ---- workers ----


def test_a_seed_gives_the_same_run_again_and_another_gives_another(page):
    first, again = train(page), train(page)
    page.get_by_label("Seed").first.fill("4")
    other = train(page)
    losses = [[loss for _, loss in run["curve"]] for run in (first, again, other)]
    assert losses[0] == losses[1] and losses[1][-1] != losses[2][-1]


FAKE = """window.Worker = class {
  constructor() { window.worker ??= this; this.got = []; }
  postMessage(message) { this.got.push(message); }
  say(message) { this.onmessage({ data: message }); }
}"""


def test_messages_of_a_stopped_run_are_not_those_of_the_next(browser, saved):
    with opened(browser, saved(FIGURE), script=FAKE) as page:
        for _ in range(2):
            press(page, TRAIN, "Stop")
        press(page, TRAIN)
        page.get_by_role("button", name="Stop", exact=True).wait_for()
        runs = page.evaluate("worker.got.filter(m => m.do === 'start').map(m => m.run)")
        assert runs == [1, 2, 3]
        page.evaluate("""worker.say({ is: "begun", run: 3, characters: ["a", "b"],
          config: { vocab_size: 2, context_length: 9, n_heads: 1, n_layers: 1 },
          first: Int32Array.of(0, 1) })""")
        page.evaluate("worker.say({ is: 'step', run: 2, step: 3, loss: 2, seconds: 9 })")
        page.evaluate("worker.say({ is: 'done', run: 1, loss: 1, seconds: 9, weights: [] })")
        assert page.get_by_text("Step 3").count() == 0
        page.evaluate("worker.say({ is: 'done', run: 3, loss: NaN, seconds: 9, weights: [] })")
        assert "no number" in status(page).inner_text()
        assert page.get_by_role("button", name=TRAIN).is_enabled()


WITHOUT = {
    "a worker that may not start": FAKE.replace(
        "this.got = [];", "this.got = []; setTimeout(() => this.onerror({}), 50);"
    ),
    "workers and WebAssembly": "delete window.Worker; delete window.WebAssembly",
}


@pytest.mark.parametrize("without", WITHOUT)
def test_the_page_does_the_work_without(browser, saved, without):
    with opened(browser, saved(FIGURE), script=WITHOUT[without]) as page:
        run = train(page)
        assert len(run["curve"]) == 20 and run["loss"] < 3.5
        assert (run["kind"] == "plain") == ("WebAssembly" in without)


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: nothing was trained in it")
def test_in_firefox_too_it_trains_and_its_gradients_are_pytorchs(saved):
    with Firefox() as page:
        page.goto(saved(FIGURE))
        run = tab.in_the_tab(page, saved(FIGURE), seed=0, steps=20)
        found = gradients.compare(
            lambda asked: page.evaluate(f"({gradients.COMPUTE})({json.dumps(asked)})"),
            **gradients.IDEAS,
        )
    assert len(run["curve"]) == 20 and run["loss"] < run["curve"][0][1] - 1
    for name, (difference, largest) in found["weights"].items():
        assert difference < 1e-4 and largest > 1e-3, name


# ---- what the page is built from ----


def test_the_setting_is_that_of_the_stored_recipe():
    config = read_config(COURSE.parent / "lab" / "configs" / "record-every-seed.toml")
    for name, value in {**CONFIG, **FIXED}.items():
        assert config["model"].get(name, value) == value, name
    for name, value in TRAINING.items():
        if name != "steps":
            assert config["training"][name] == (tuple(value) if name == "betas" else value), name


@pytest.mark.parametrize(
    ("name", "kind"), [("tinyshakespeare", "shakespeare"), ("playhouse", "other")]
)
def test_prose_about_a_text_stands_only_where_the_site_is_built_with_it(monkeypatch, name, kind):
    corpus = Corpus(name, "", "embedded")
    monkeypatch.setattr("scratchformer.data.load_corpus", lambda _: corpus)
    directives.register_directive("race-if", live_ext.IfDirective)
    kinds = ("shakespeare", "other")
    text = "".join(f".. race-if:: {each}\n\n   About {each}.\n\n" for each in kinds)
    assert publish_doctree(text).astext() == f"About {kind}."
