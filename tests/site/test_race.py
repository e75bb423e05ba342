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

from lab import gradients, tab
from lab.firefox import PROGRAM, Firefox
from scratchformer.data import Playhouse
from scratchformer.data.corpora import Corpus
from scratchformer_course.ch17_speedrun.model import SpeedrunGPT
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.tab_trainer import race
from scratchformer_course.tab_trainer import race as view
from tests.site import test_browser
from tests.site.test_browser import AXE, PHONE, start
from tests.tab_trainer import test_tab_trainer as test_trainer

axe = test_browser.axe  # the fixture
TRAIN = "Train a GPT in this tab"
LONG_TASKS = """window.longest = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
}).observe({ type: "longtask", buffered: true });"""


@pytest.fixture(scope="module")
def figure() -> LiveFigure:
    """The race on a short text of Playhouse, with the curves that stand beside Shakespeare."""
    text = Playhouse().text(40_000)
    real = race(Corpus("tinyshakespeare", text, "directory"))
    return real


@pytest.fixture(scope="module")
def address(figure, tmp_path_factory):
    path = tmp_path_factory.mktemp("race") / "race.html"
    figure.save(path)
    return path.as_uri()


def opened(browser, address, mode="light", width=1200):
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(LONG_TASKS)
    page.goto(address)
    page.get_by_role("button", name=TRAIN).wait_for()
    return context, page, faults


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def small(page, steps=20, context=4, width=5):
    """Settings that train in a second."""
    if not page.get_by_label("Steps").is_visible():
        page.get_by_text("Settings, and a text of your own").click()
    for name, value in (("Steps", steps), ("Context", context), ("Width", width)):
        page.get_by_label(name, exact=True).fill(str(value))


def press(page, name=TRAIN):
    page.get_by_role("button", name=name, exact=True).click()


def trained(page):
    page.wait_for_function("scratchformerRace.last !== null", timeout=120_000)
    return page.evaluate("scratchformerRace.last")


def status(page):
    return page.locator("[role=status]").first


def test_one_button_trains_and_the_page_stays_free(page):
    small(page, steps=30)
    page.evaluate("window.longest = 0")
    press(page)
    run = trained(page)
    losses = [loss for _, loss in run["curve"]]
    assert len(losses) == 30 and losses[0] == pytest.approx(page_guess(page), abs=1e-3)
    assert losses[-1] < losses[0] - 1
    assert run["loss"] < losses[0] - 1 and 0 < run["seconds"] < run["all"]
    assert f"{run['loss']:.3f} nats" in status(page).inner_text()
    assert f"{run['loss']:.3f}" in page.get_by_role("row", name="this tab").inner_text()
    assert len(page.get_by_label("What the model writes").inner_text()) > 150
    assert page.locator(".sx-maps svg rect").count() > 10
    assert page.evaluate("window.longest") < 200, "the work is the worker's"


def processors(count):
    return f"Object.defineProperty(navigator, 'hardwareConcurrency', {{ get: () => {count} }})"


def test_one_worker_and_two_give_the_same_run(browser, address):
    runs = []
    for count in (1, 2):
        context, page, faults = start(browser)
        page.add_init_script(processors(count))
        page.goto(address)
        small(page, steps=24)
        press(page)
        runs.append(trained(page))
        assert faults == []
        told = page.get_by_text("From the press of the button").inner_text()
        assert ("One worker computed it." in told) == (count == 1) and (" ms" in told) == (
            count == 2
        )
        context.close()
    one, two = runs
    assert [loss for _, loss in one["curve"]] == [loss for _, loss in two["curve"]]
    assert one["loss"] == two["loss"] and not one["together"]
    assert two["usual"]["together"] > 0


def test_a_second_worker_that_may_not_start_is_done_without(browser, address):
    context, page, _faults = start(browser)
    second = """let count = 0;
      const Real = window.Worker;
      window.Worker = class extends Real {
        constructor(address) {
          super(count++ ? "data:text/javascript,throw new Error('no')" : address);
        }
      };"""
    page.add_init_script(processors(2) + ";" + second)
    page.goto(address)
    small(page, steps=24)
    press(page)
    assert len(trained(page)["curve"]) == 24
    context.close()


def test_it_goes_on_when_the_tab_comes_back(browser, page):
    """A tab that was put to sleep, as a computer puts it: its process stops, and goes on later."""
    small(page, steps=400)
    press(page)
    page.get_by_text(re.compile(r"Step \d+ of 400")).wait_for()
    told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    tabs = [process["id"] for process in told["processInfo"] if process["type"] == "renderer"]
    assert tabs
    try:
        for process in tabs:
            os.kill(process, signal.SIGSTOP)
        time.sleep(1.5)
    finally:
        for process in tabs:
            os.kill(process, signal.SIGCONT)
    run = trained(page)
    assert len(run["curve"]) == 400 and run["loss"] < 3
    assert run["all"] > 1.5, "it slept while it trained"


@pytest.mark.skipif(PROGRAM is None, reason="there is no Firefox on the PATH")
def test_in_firefox_too_it_trains_and_its_gradients_are_pytorchs(address):
    with Firefox() as page:
        page.goto(address)
        run = tab.in_the_tab(page, address, seed=0, steps=20)
        found = gradients.compare(
            lambda asked: page.evaluate(f"({gradients.COMPUTE})({json.dumps(asked)})"),
            **gradients.IDEAS,
        )
    assert len(run["curve"]) == 20 and run["loss"] < run["curve"][0][1] - 1
    assert found["kind"] == "simd"
    for name, (difference, largest) in found["weights"].items():
        assert difference < 1e-4 and largest > 1e-3, name


def page_guess(page):
    return page.evaluate(
        "JSON.parse(document.querySelector('.live-figure').dataset.settings).guess"
    )


def test_in_chromium_too_the_gradients_of_every_weight_are_pytorchs(page):
    for ideas in test_trainer.SETTINGS[:2]:
        found = gradients.compare(lambda asked: page.evaluate(gradients.COMPUTE, asked), **ideas)
        for name, (difference, largest) in found["weights"].items():
            assert difference < 1e-4 and largest > 1e-3, name


def test_the_same_seed_gives_the_same_loss_and_another_another(page):
    losses = []
    for seed in (3, 3, 4):
        small(page)
        page.get_by_label("Seed").first.fill(str(seed))
        press(page)
        losses.append(trained(page)["loss"])
    assert losses[0] == losses[1] != losses[2]


def test_it_waits_goes_on_and_starts_again(page):
    small(page, steps=400)
    press(page)
    page.get_by_text(re.compile(r"Step \d+ of 400")).wait_for()
    press(page, "Pause")
    page.wait_for_timeout(600)
    before = page.evaluate("document.querySelector('progress').value")
    page.wait_for_timeout(600)
    assert page.evaluate("document.querySelector('progress').value") == before > 0
    press(page, "Resume")
    page.wait_for_function(f"document.querySelector('progress').value > {before}")
    press(page, "Stop")
    assert status(page).inner_text() == "Stopped."
    page.wait_for_timeout(400)
    assert page.evaluate("document.querySelector('progress').value") == 0
    small(page)
    press(page)
    assert len(trained(page)["curve"]) == 20


def test_rates_that_are_too_high_are_told(page):
    small(page, steps=60)
    page.get_by_label("Rates").fill("5")
    for name in ("Muon for the matrices", "rotary positions"):
        page.get_by_label(name).uncheck()
    press(page)
    page.get_by_text("Choose lower rates").wait_for(timeout=60_000)
    assert "A blind guess among" in status(page).inner_text()
    assert page.get_by_role("button", name=TRAIN).is_enabled()


def test_a_run_that_diverges_stays_in_sight(page):
    small(page, steps=60)
    page.get_by_label("Rates").fill("5")
    press(page)
    page.get_by_text("Choose lower rates").wait_for(timeout=60_000)
    ticks = [float(t) for t in page.locator(".sx-plot text").all_text_contents() if t.isdecimal()]
    worst = page.locator(".sx-point").evaluate("point => Number(point.getAttribute('cy'))")
    assert max(ticks) > page_guess(page) + 1 and worst > 22, "the axis has grown with the loss"


def test_a_refused_text_leaves_the_model_before_and_a_run_leaves_its_curve(page):
    small(page)
    press(page)
    trained(page)
    field = page.get_by_label("Text", exact=True)
    field.fill("Too short.")
    press(page)
    page.get_by_text("The text has 10 characters").wait_for()
    assert page.get_by_role("button", name="Look inside").is_visible()
    field.fill("")
    assert page.locator(".sx-before").count() == 1, "an empty line before any other run"
    press(page)
    page.get_by_text("your run before").wait_for()
    trained(page)
    before = page.locator("path.sx-before").get_attribute("d")
    assert before and before.count("L") == 19
    field.fill("abcd efgh\n" * 1000)
    press(page)
    trained(page)
    assert page.get_by_text("your run before").count() == 0, "another text has other losses"


def test_a_text_of_the_readers_own_is_learned_and_a_short_one_refused(page):
    small(page)
    field = page.get_by_label("Text", exact=True)
    field.fill("Too short.")
    press(page)
    page.get_by_text("The text has 10 characters; these settings need at least").wait_for()
    field.fill("Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. 🙂\n" * 200)
    press(page)
    run = trained(page)
    assert run["loss"] < 1.5 and "nanoGPT" not in page.locator("table").last.inner_text()
    assert "Your text" in status(page).inner_text()


def test_a_text_of_the_readers_own_has_no_rival_and_no_floor(browser, address, tmp_path):
    race(Corpus("playhouse", Playhouse().text(30_000), "embedded")).save(tmp_path / "race.html")
    for at, line in ((address, "nanoGPT"), ((tmp_path / "race.html").as_uri(), "entropy")):
        context, page, faults = opened(browser, at)
        assert line in page.locator(".sx-legend").inner_text()
        small(page)
        page.get_by_label("Text", exact=True).fill("abcd efgh\n" * 1000)
        press(page)
        run = trained(page)
        assert page.locator(".sx-legend").inner_text() == "this tab"
        assert run["curve"][0][1] == pytest.approx(math.log(10), abs=1e-3) and faults == []
        press(page)  # the settings wait while a run goes on
        page.get_by_role("button", name="Stop", exact=True).wait_for()
        assert page.get_by_label("Width", exact=True).is_disabled()
        press(page, "Stop")
        assert page.get_by_label("Width", exact=True).is_enabled()
        context.close()


def test_too_many_different_characters_are_told(page):
    small(page, width=7)
    page.get_by_label("Text", exact=True).fill("".join(map(chr, range(0x4E00, 0x4E00 + 3000))) * 3)
    press(page)
    page.get_by_text("has 3,000 different characters; at this width at most 2,048").wait_for()


BEGUN = """worker.say({ is: "begun", run: RUN, characters: ["a", "b"],
  config: { vocab_size: 2, context_length: 9, n_heads: 1, n_layers: 1 },
  first: Int32Array.of(0, 1) })"""
FAKE = """window.Worker = class {
  constructor() { window.worker ??= this; this.got = []; }
  postMessage(message) { this.got.push(message); }
  say(message) { this.onmessage({ data: message }); }
}"""


def test_messages_of_a_stopped_run_are_not_those_of_the_next(browser, address):
    context, page, faults = start(browser)
    page.add_init_script(FAKE)
    page.goto(address)
    for _ in range(2):
        press(page)
        page.get_by_role("button", name="Stop", exact=True).click()
    press(page)
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    assert page.evaluate("worker.got.filter(m => m.do === 'start').map(m => m.run)") == [1, 2, 3]
    page.evaluate(BEGUN.replace("RUN", "3"))
    page.evaluate("worker.say({ is: 'step', run: 2, step: 3, loss: 2, seconds: 9 })")
    page.evaluate("worker.say({ is: 'done', run: 1, loss: 1, seconds: 9, weights: [] })")
    assert page.get_by_text("Step 3").count() == 0
    page.evaluate("worker.say({ is: 'step', run: 3, step: 3, loss: 2, seconds: 500 })")
    page.evaluate("worker.say({ is: 'step', run: 3, step: 4, loss: 2, seconds: 600 })")
    assert "1000 s" in page.locator(".sx-plot").text_content(), "the axis grows with the run"
    page.evaluate("worker.say({ is: 'done', run: 3, loss: NaN, seconds: 9, weights: [] })")
    assert "a loss that is no number" in status(page).inner_text() and faults == []
    context.close()


def test_a_worker_that_may_not_start_leaves_the_work_to_the_page(browser, address):
    context, page, faults = start(browser)
    page.add_init_script(
        FAKE.replace("this.got = [];", "this.got = []; setTimeout(() => this.onerror({}), 50);")
    )
    page.goto(address)
    small(page)
    press(page)
    assert len(trained(page)["curve"]) == 20 and faults == []
    context.close()


def test_what_is_kept_and_is_no_model_is_passed_over(page):
    for kept in ('{"weights": 1}', "[", "null", '{"loss": null}'):
        page.evaluate("kept => localStorage.setItem('scratchformer-trained', kept)", kept)
        page.reload()
        page.get_by_role("button", name=TRAIN).wait_for()
        assert page.get_by_text("the model that you trained last").count() == 0


@pytest.mark.parametrize("idea", ["rotary", "a vector", "smear", "Muon"])
def test_each_idea_can_be_switched_off_and_the_model_looked_into(page, idea):
    small(page)
    page.get_by_label(re.compile(f"^ ?{idea}")).uncheck()
    press(page)
    trained(page)
    press(page, "Look inside")
    page.get_by_role("tab", name="Attention").wait_for()
    assert page.locator(".sx-grid").count() >= 1


def test_python_opens_the_saved_file_and_agrees_with_the_page(page, tmp_path):
    small(page)
    press(page)
    trained(page)
    with page.expect_download() as download:
        press(page, "Save for Python")
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    model = SpeedrunGPT.from_pretrained(path)
    description = json.loads(page.evaluate("localStorage.getItem('scratchformer-trained')"))
    ids = list(range(12))
    shown = page.evaluate(
        """([description, ids]) => Array.from(
             scratchformerModel.forward(scratchformerModel.load(description), ids).logits)""",
        [description, ids],
    )
    with torch.no_grad():
        expected = model(torch.tensor([ids]))[0]
    difference = (torch.tensor(shown).view_as(expected) - expected).abs().max()
    assert difference < 0.02, "the page's copy is rounded to float16"


def test_the_last_model_is_kept_until_it_is_forgotten(page):
    small(page)
    press(page)
    loss = trained(page)["loss"]
    page.reload()
    page.get_by_text(f"the model that you trained last: loss {loss:.3f}").wait_for()
    press(page, "Look inside")
    page.get_by_role("tab", name="Logit lens").wait_for()
    press(page, "Forget it")
    page.reload()
    page.get_by_role("button", name=TRAIN).wait_for()
    assert page.get_by_text("the model that you trained last").count() == 0


def test_without_workers_the_page_does_the_work(browser, address):
    context, page, faults = start(browser)
    page.add_init_script("delete window.Worker")
    page.goto(address)
    small(page)
    press(page)
    assert len(trained(page)["curve"]) == 20 and faults == []
    context.close()


def test_without_webassembly_it_still_learns(browser, address):
    context, page, faults = start(browser)
    page.add_init_script("delete window.Worker; delete window.WebAssembly")
    page.goto(address)
    small(page)
    press(page)
    run = trained(page)
    assert run["kind"] == "plain" and run["loss"] < 3 and faults == []
    context.close()


def test_on_playhouse_the_floor_is_a_line(browser, tmp_path):
    race(Corpus("playhouse", Playhouse().text(30_000), "embedded")).save(tmp_path / "race.html")
    context, page, faults = opened(browser, (tmp_path / "race.html").as_uri())
    floor = f"{Playhouse().entropy_per_char():.2f}"
    assert floor in page.locator(".sx-legend").inner_text()
    assert "nanoGPT" not in page.locator(".sx-legend").inner_text()
    assert faults == []
    context.close()


def test_without_javascript_the_stored_runs_stay(browser, address, figure):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("svg[role=img] polyline").count() > 2
    for curve in figure.settings["curves"]:
        assert f"{curve['seconds'][-1]:.1f} s" in page.locator("table").inner_text()
    context.close()


def test_all_of_it_works_with_keys(page):
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text(re.compile(r"Step \d+ of")).wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Pause"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Resume"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert status(page).inner_text() == "Stopped."


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", PHONE["width"])])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    small(page)
    press(page)
    trained(page)
    press(page, "Look inside")
    for summary in page.locator("summary:visible").all():
        summary.click()
    page.evaluate(axe)
    result = page.evaluate(AXE, [".live-figure", True])
    found = [
        f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
        for fault in result["violations"]
        for node in fault["nodes"][:2]
    ]
    assert found == [] and faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_the_setting_is_that_of_the_stored_recipe():
    from pathlib import Path

    from scratchformer.cli import read_config

    config = read_config(Path(__file__).resolve().parents[2] / "lab/configs/record-every-seed.toml")
    for name, value in {**view.CONFIG, **view.FIXED}.items():
        assert config["model"].get(name, value) == value, name
    for name, value in view.TRAINING.items():
        if name != "steps":
            assert config["training"][name] == (tuple(value) if name == "betas" else value), name
