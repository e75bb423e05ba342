"""Training in a real tab: it learns, waits, stops and starts again, and what it made can be used.

The page is the one that `race(…).save` writes, opened from disk, with small settings.
"""

import json
import math
import os
import re
import signal
import time

import pytest
import torch
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from matplotlib.image import imread

from book._ext import race_ext
from lab import gradients, tab
from lab.firefox import PROGRAM, Firefox
from scratchformer.cli import read_config
from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer_course.page_model.speedrun import SpeedrunGPT
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer.race import CONFIG, FIXED, TRAINING
from tests.node import COURSE
from tests.site.browsing import opened, reload, rows
from tests.site.figures import fill, press, small, trained
from tests.tab_trainer.test_tab_trainer import SETTINGS

FIGURE = "race"
TRAIN = "Train a GPT in this tab"
OWN, OWN_TEXT = "Teach it your text", "abcd efgh\n" * 1000


def train(page, **settings):
    """Train for a second, and give what the page tells of it."""
    small(page, **settings)
    page.evaluate("course.race.last = null")
    press(page, TRAIN)
    return trained(page)


def status(page):
    return page.locator(".sx-stage [role=status]").first


def test_one_button_trains(page):
    run = train(page, steps=30)
    losses = [loss for _, loss in run["curve"]]
    assert len(losses) == 30 and losses[0] == pytest.approx(page_guess(page), abs=1e-3)
    assert losses[-1] < losses[0] - 1
    assert run["loss"] < losses[0] - 1 and 0 < run["seconds"] < run["all"]
    assert f"{100 * run['right']:.0f} times in 100" in status(page).inner_text()
    assert f"{run['loss']:.3f}" in page.get_by_role("row", name="this tab").inner_text()
    assert len(page.get_by_label("What the model writes").inner_text()) > 150
    assert page.locator(".sx-maps svg rect").count() > 10


def test_the_film_keeps_every_sample_from_the_noise_on_and_keys_step_through_it(page):
    train(page, steps=32)
    steps = page.locator(".sx-strip button")
    assert steps.first.inner_text() == "0" and steps.last.inner_text() == "32"
    assert page.locator(".sx-frames tbody tr").count() == steps.count() == 9
    box = page.get_by_label("What the model writes")
    last = box.inner_text()
    steps.last.focus()
    seen = [last]
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
        seen.append(box.inner_text())
    assert len(set(seen)) == 9 and steps.first.get_attribute("aria-pressed") == "true"
    page.keyboard.press("End")
    assert box.inner_text() == last


def test_who_looks_at_an_older_sample_is_not_taken_away_from_it(page):
    small(page, steps=400)
    press(page, TRAIN)
    page.get_by_role("button", name="Step 50", exact=True).wait_for()
    press(page, "Step 0")
    noise = page.get_by_label("What the model writes").inner_text()
    trained(page)
    assert page.get_by_label("What the model writes").inner_text() == noise


def test_the_score_stands_among_tables_of_counts(page):
    run = train(page, steps=30)
    page.wait_for_function("course.race.counts !== null")
    tables = page.evaluate("course.race.counts")
    shown = rows(page, ".sx-ladder")[1:]
    assert [int(row[1]) for row in shown] == sorted(int(row[1]) for row in shown)
    expected = {f"{one['nats']:.2f}" for one in tables} | {f"{run['loss']:.2f}"}
    assert {row[3] for row in shown} == expected and len(shown) == 7
    own = page.locator(".sx-own-row td").first.inner_text()
    assert int(own) == round(100 * run["right"]) > 100 * tables[0]["right"]


def test_two_runs_stand_side_by_side_with_the_settings_that_differ(page):
    first = train(page)
    assert page.locator(".sx-two-runs").count() == 0
    page.get_by_label(re.compile("^ ?smear")).uncheck()
    second = train(page, steps=24)
    table = {row[0]: row[1:] for row in rows(page, ".sx-two-runs")}
    assert table["Steps"] == ["24", "20"] and table["Smear"] == ["off", "on"]
    assert table["nats a character"] == [f"{run['loss']:.3f}" for run in (second, first)]
    assert "Width" not in table and "Text" not in table
    fill(page, **{OWN: OWN_TEXT})
    train(page, steps=24)
    assert {row[0] for row in rows(page, ".sx-two-runs")} >= {"Text"}


def test_the_model_goes_on_from_a_line_and_unknown_characters_are_told(page):
    train(page)
    talk = page.get_by_label("Type a line, and it goes on")
    box = page.get_by_label("What you said, and how it went on")
    for turn, (line, told) in enumerate((("“Anna” 漢", "漢"), ("the", "")), start=1):
        talk.fill(line)
        press(page, "Go on")
        page.wait_for_function(
            f"document.querySelector('[data-turns]')?.dataset.turns === '{turn}'"
        )
        assert told in page.locator(".sx-talk + [role=status]").inner_text()
    assert len(box.inner_text()) > 350 and box.locator("mark").last.inner_text() == "the"
    talk.fill("漢")
    press(page, "Go on")
    assert box.locator("mark").count() == 2, "nothing that it could read"


def test_a_picture_of_the_run_is_given(page, tmp_path):
    train(page)
    with page.expect_download() as download:
        press(page, "Picture of this run")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    picture = imread(path)
    assert picture.shape[:2] == (630, 1200) and picture.std() > 0.1
    assert "times in 100" in page.locator(".sx-picture canvas").get_attribute("aria-label")


def test_a_text_may_come_from_a_file_and_one_that_is_short_is_told_at_once(page, tmp_path):
    small(page)
    field = page.get_by_label("Teach it your text")
    told = page.locator(".sx-own-text [role=status]")
    field.fill("Too short.")
    assert "10" in told.inner_text() and field.get_attribute("aria-invalid") == "true"
    path = tmp_path / "mine.txt"
    path.write_text("one two three four\n" * 300, encoding="utf-8")
    page.get_by_label("A file with your text").set_input_files(path)
    page.wait_for_function("document.querySelector('.sx-own-text textarea').value.length > 5000")
    assert field.get_attribute("aria-invalid") == "false" and "5,700" in told.inner_text()
    train(page)
    prompt = page.get_by_label("What the model writes").locator("mark").inner_text()
    assert prompt and prompt in path.read_text(encoding="utf-8")
    press(page, "Clear")
    assert field.input_value() == "" and page.get_by_role("button", name="Clear").count() == 0


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_what_it_writes_and_the_curve_stand_on_the_first_screen(browser, site, width, height):
    address = (site / "book" / "train_in_this_tab.html").as_uri()
    with opened(browser, address, width=width) as page:
        page.set_viewport_size({"width": width, "height": height})
        page.locator(".live-figure[data-live=yes]").wait_for()
        small(page)
        train(page)
        page.evaluate("scrollTo(0, 0)")
        bottom = "e => e.getBoundingClientRect().bottom"
        sample, curve = (
            page.locator(part).evaluate(bottom) for part in (".sx-film .sx-text", ".sx-plot")
        )
        assert sample <= height
        if width > 1000:
            assert curve <= height
        else:
            assert curve > sample, "one below the other"


def processors(count):
    return f"Object.defineProperty(navigator, 'hardwareConcurrency', {{ get: () => {count} }})"


def test_one_worker_and_two_give_the_same_run(browser, saved):
    runs = []
    for count in (1, 2):
        with opened(browser, saved(FIGURE), script=processors(count)) as page:
            runs.append(train(page, steps=24))
    one, two = runs
    assert [loss for _, loss in one["curve"]] == [loss for _, loss in two["curve"]]
    assert one["loss"] == two["loss"] and not one["together"]
    assert two["usual"]["together"] > 0


SECOND_FAILS = """let count = 0;
const Real = window.Worker;
window.Worker = class extends Real {
  constructor(address) {
    super(count++ ? "data:text/javascript,throw new Error('no')" : address);
  }
};"""


def test_a_second_worker_that_may_not_start_is_done_without(browser, saved):
    script = f"{processors(2)};{SECOND_FAILS}"
    with opened(browser, saved(FIGURE), script=script, faults=[]) as page:
        assert len(train(page, steps=24)["curve"]) == 24


def test_it_goes_on_when_the_tab_comes_back(browser, page):
    """A tab that was put to sleep, as a computer puts it: its process stops, and goes on later."""
    small(page, steps=400)
    press(page, TRAIN)
    page.get_by_text(re.compile(r"Step \d+ of 400")).wait_for()
    told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    tabs = [process["id"] for process in told["processInfo"] if process["type"] == "renderer"]
    assert tabs
    for process in tabs:
        os.kill(process, signal.SIGSTOP)
    time.sleep(0.5)
    for process in tabs:
        os.kill(process, signal.SIGCONT)
    run = trained(page)
    assert len(run["curve"]) == 400 and run["loss"] < 3


# what a reader does with a run, for a browser that playwright does not drive
FILM = """[...document.querySelectorAll(".sx-strip button")].map((one) => {
  one.click();
  return document.querySelector(".sx-film .sx-text").textContent;
})"""
TALK = """async () => {
  document.querySelector(".sx-talk input").value = "the";
  document.querySelector(".sx-talk button").click();
  const said = () => document.querySelector("[data-turns]");
  while (!said()) await new Promise((then) => setTimeout(then, 50));
  return said().textContent;
}"""
OWN_RUN = """(async () => {
  const field = document.querySelector(".sx-own-text textarea");
  field.value = "abcd efgh\\n".repeat(1000);
  field.dispatchEvent(new Event("input"));
  document.querySelector(".sx-go").click();
  while (!course.race.counts) await new Promise((then) => setTimeout(then, 50));
  return { tables: course.race.counts,
    prompt: document.querySelector(".sx-film mark").textContent };
})()"""


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: nothing was trained in it")
def test_in_firefox_too_it_trains_and_its_gradients_are_pytorchs(saved):
    with Firefox() as page:
        page.goto(saved(FIGURE))
        run = tab.in_the_tab(page, saved(FIGURE), seed=0, steps=20)
        found = gradients.compare(
            lambda asked: page.evaluate(f"({gradients.COMPUTE})({json.dumps(asked)})"),
            **gradients.IDEAS,
        )
        step_through, told = page.evaluate(FILM), page.evaluate(f"({TALK})()")
        fewer = page.evaluate(OWN_RUN)
    assert len(run["curve"]) == 20 and run["loss"] < run["curve"][0][1] - 1
    assert 0 < run["right"] < 1
    assert len(step_through) == len(set(step_through)) == 8, "each frame has a text of its own"
    assert told.startswith("the") and len(told) > 150
    assert set(fewer["prompt"]) <= set(OWN_TEXT) and len(fewer["tables"]) == 6
    for name, (difference, largest) in found["weights"].items():
        assert difference < 1e-4 and largest > 1e-3, name


def page_guess(page):
    return page.evaluate(
        "JSON.parse(document.querySelector('.live-figure').dataset.settings).guess"
    )


def test_in_chromium_too_the_gradients_of_every_weight_are_pytorchs(page):
    for ideas in SETTINGS[:2]:
        found = gradients.compare(lambda asked: page.evaluate(gradients.COMPUTE, asked), **ideas)
        for name, (difference, largest) in found["weights"].items():
            assert difference < 1e-4 and largest > 1e-3, name


def test_the_same_seed_gives_the_same_loss_and_another_another(page):
    losses = []
    for seed in (3, 3, 4):
        small(page)
        page.get_by_label("Seed").first.fill(str(seed))
        losses.append(train(page)["loss"])
    assert losses[0] == losses[1] != losses[2]


def test_it_waits_goes_on_and_starts_again(page):
    small(page, steps=400)
    press(page, TRAIN)
    page.get_by_text(re.compile(r"Step \d+ of 400")).wait_for()
    press(page, "Pause")
    page.get_by_role("button", name="Resume", exact=True).wait_for()
    press(page, "Resume")
    before = page.evaluate("document.querySelector('progress').value")
    page.wait_for_function(f"document.querySelector('progress').value > {before}")
    press(page, "Stop")
    page.wait_for_function("document.querySelector('progress').value === 0")
    assert len(train(page)["curve"]) == 20


def test_rates_that_are_too_high_are_told_and_the_run_stays_in_sight(page):
    small(page, steps=60)
    fill(page, Rates=5)
    press(page, TRAIN)
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.includes('lower rates')"
    )
    ticks = [float(t) for t in page.locator(".sx-plot text").all_text_contents() if t.isdecimal()]
    worst = page.locator(".sx-point").evaluate("point => Number(point.getAttribute('cy'))")
    assert max(ticks) > page_guess(page) + 1 and worst > 22, "the axis has grown with the loss"
    assert page.get_by_role("button", name=TRAIN).is_enabled()


def test_a_refused_text_leaves_the_model_before_and_a_run_leaves_its_curve(page):
    train(page)
    field = page.get_by_label(OWN)
    field.fill("Too short.")
    press(page, TRAIN)
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('10 ')")
    assert page.get_by_role("button", name="Look inside").is_visible()
    field.fill("")
    assert page.locator(".sx-before").count() == 1, "an empty line before any other run"
    train(page)
    before = page.locator("path.sx-before").get_attribute("d")
    assert before and before.count("L") == 19
    assert "your run before" in page.locator(".sx-legend").inner_text()
    field.fill(OWN_TEXT)
    train(page)
    legend = page.locator(".sx-legend").inner_text()
    assert "your run before" not in legend, "another text has other losses"


def test_a_text_of_the_readers_own_is_learned(page):
    small(page)
    text = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 🙂\n" * 200
    fill(page, **{OWN: text})
    run = train(page)
    assert run["loss"] < 1.5 and "nanoGPT" not in page.locator(".live-figure").inner_text()
    fill(page, **{"Width": 7, OWN: "".join(map(chr, range(0x4E00, 0x4E00 + 3000))) * 3})
    press(page, TRAIN)
    page.wait_for_function("document.querySelector('[role=status]').textContent.includes('3,000')")


def test_a_text_of_the_readers_own_has_no_rival_and_no_floor(browser, saved, tmp_path):
    race(Corpus("playhouse", Playhouse().text(30_000), "embedded")).save(tmp_path / "race.html")
    floor = f"{Playhouse().entropy_per_char():.2f}"
    own = (tmp_path / "race.html").as_uri()
    for address, line, other in ((saved(FIGURE), "nanoGPT", floor), (own, floor, "nanoGPT")):
        with opened(browser, address) as page:
            legend = page.locator(".sx-legend")
            assert line in legend.inner_text() and other not in legend.inner_text()
            small(page)
            fill(page, **{OWN: OWN_TEXT})
            run = train(page)
            assert line not in legend.inner_text()
            assert run["curve"][0][1] == pytest.approx(math.log(10), abs=1e-3)


def test_the_settings_wait_while_a_run_goes_on(page):
    small(page, steps=400)
    press(page, TRAIN)
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    assert page.get_by_label("Width", exact=True).is_disabled()
    press(page, "Stop")
    assert page.get_by_label("Width", exact=True).is_enabled()


BEGUN = """worker.say({ is: "begun", run: RUN, characters: ["a", "b"],
  config: { vocab_size: 2, context_length: 9, n_heads: 1, n_layers: 1 },
  first: Int32Array.of(0, 1) })"""
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
        page.evaluate(BEGUN.replace("RUN", "3"))
        page.evaluate("worker.say({ is: 'step', run: 2, step: 3, loss: 2, seconds: 9 })")
        page.evaluate("worker.say({ is: 'done', run: 1, loss: 1, seconds: 9, weights: [] })")
        assert page.get_by_text("Step 3").count() == 0
        page.evaluate("worker.say({ is: 'step', run: 3, step: 3, loss: 2, seconds: 500 })")
        page.evaluate("worker.say({ is: 'step', run: 3, step: 4, loss: 2, seconds: 600 })")
        assert "1000 s" in page.locator(".sx-plot").text_content(), "the axis grows with the run"
        page.evaluate("worker.say({ is: 'done', run: 3, loss: NaN, seconds: 9, weights: [] })")
        assert "no number" in status(page).inner_text()


WITHOUT = {
    "a worker that may not start": FAKE.replace(
        "this.got = [];", "this.got = []; setTimeout(() => this.onerror({}), 50);"
    ),
    "workers": "delete window.Worker",
    "workers and WebAssembly": "delete window.Worker; delete window.WebAssembly",
}


@pytest.mark.parametrize("without", WITHOUT)
def test_the_page_does_the_work_without(browser, saved, without):
    with opened(browser, saved(FIGURE), script=WITHOUT[without]) as page:
        run = train(page)
        assert len(run["curve"]) == 20 and run["loss"] < 3.5
        assert (run["kind"] == "plain") == ("WebAssembly" in without)


def test_what_is_kept_and_is_no_model_is_passed_over(page):
    for kept in ('{"weights": 1}', "[", "null", '{"loss": null}'):
        page.evaluate("kept => localStorage.setItem('scratchformer-trained', kept)", kept)
        reload(page)
        page.get_by_role("button", name=TRAIN).wait_for()
        assert page.get_by_text("the model that you trained last").count() == 0


@pytest.mark.parametrize("idea", ["rotary", "a vector", "smear", "Muon"])
def test_each_idea_can_be_switched_off_and_the_model_looked_into(page, idea):
    small(page)
    page.get_by_label(re.compile(f"^ ?{idea}")).uncheck()
    train(page)
    press(page, "Look inside")
    page.get_by_role("tab", name="Attention").wait_for()
    assert page.locator(".sx-grid").count() >= 1


def test_python_opens_the_saved_file_and_agrees_with_the_page(page, tmp_path):
    train(page)
    with page.expect_download() as download:
        press(page, "Save for Python")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    model = SpeedrunGPT.from_pretrained(path)
    description = json.loads(page.evaluate("localStorage.getItem('scratchformer-trained')"))
    ids = list(range(12))
    shown = page.evaluate(
        """([description, ids]) => Array.from(
             course.model.forward(course.model.load(description), ids).logits)""",
        [description, ids],
    )
    with torch.no_grad():
        expected = model(torch.tensor([ids]))[0]
    difference = (torch.tensor(shown).view_as(expected) - expected).abs().max()
    assert difference < 0.02, "the page's copy is rounded to float16"


def test_the_last_model_is_kept_until_it_is_forgotten(page):
    loss = train(page)["loss"]
    reload(page)
    page.get_by_text(f"the model that you trained last: loss {loss:.3f}").wait_for()
    press(page, "Look inside")
    page.get_by_role("tab", name="Logit lens").wait_for()
    press(page, "Forget it")
    reload(page)
    page.get_by_role("button", name=TRAIN).wait_for()
    assert page.get_by_text("the model that you trained last").count() == 0


def test_the_setting_is_that_of_the_stored_recipe():
    config = read_config(COURSE.parent / "lab" / "configs" / "record-every-seed.toml")
    for name, value in {**CONFIG, **FIXED}.items():
        assert config["model"].get(name, value) == value, name
    for name, value in TRAINING.items():
        if name != "steps":
            assert config["training"][name] == (tuple(value) if name == "betas" else value), name


@pytest.mark.parametrize("name", ["tinyshakespeare", "playhouse"])
def test_prose_about_a_text_stands_only_where_the_site_is_built_with_it(monkeypatch, name):
    corpus = Corpus(name, "", "embedded")
    monkeypatch.setattr("scratchformer.data.load_corpus", lambda _: corpus)
    directives.register_directive("race-if", race_ext.IfDirective)
    kinds = ("shakespeare", "other")
    text = "".join(f".. race-if:: {one}\n\n   About {one}.\n\n" for one in kinds)
    told = publish_doctree(text).astext()
    assert told == f"About {'shakespeare' if name == 'tinyshakespeare' else 'other'}."
