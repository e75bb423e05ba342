"""The training time machine in a real browser: at each step, what is shown is PyTorch's."""

import itertools
import json
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer.data import load_corpus, train_val_split
from scratchformer.generation import generate
from scratchformer.tokenizers import CharTokenizer
from scratchformer.training import evaluate
from scratchformer_course.ch11_training.live import time_machine
from scratchformer_course.ch11_training.stored_steps import load_checkpoints, training_record
from scratchformer_course.kit.figure import LiveFigure
from tests.site import test_browser
from tests.site.test_browser import AXE, start

ROOT = Path(__file__).resolve().parents[2]
NAME = "tiny-shakespeare"  # whose tokenizer it is
PROMPT = "ROMEO:\nWhat light"
LINE = "Messenger:\nMy lord, the army of great Buckingham is fled."
axe = test_browser.axe  # the fixture


@pytest.fixture(scope="module")
def checkpoints():
    return load_checkpoints()


@pytest.fixture(scope="module")
def tok():
    return CharTokenizer.pretrained(NAME)


@pytest.fixture(scope="module")
def record():
    return training_record()


@pytest.fixture(scope="module")
def address(checkpoints, tok, record, tmp_path_factory):
    path = tmp_path_factory.mktemp("time") / "time.html"
    losses = {int(step): loss for step, loss in record["validation"].items()}
    counted = {f"{n}-grams": record["counted"][n] for n in ("1", "2", "5")}
    time_machine(checkpoints, tok, losses, counted, LINE, PROMPT, temperature=0.0).save(path)
    return path.as_uri()


def opened(browser, address, mode="light", width=1200):
    context, page, faults = start(browser, mode)
    page.set_viewport_size({"width": width, "height": 900})
    page.on(
        "request",
        lambda request: (
            request.url != address
            and not request.url.startswith("data:")
            and faults.append(f"request: {request.url}")
        ),
    )
    page.goto(address)
    page.locator(".sx-grid").first.wait_for()
    return context, page, faults


@pytest.fixture
def page(browser, address):
    context, page, faults = opened(browser, address)
    yield page
    assert faults == []
    context.close()


def choose(page, place):
    page.get_by_label("Steps of training").fill(str(place))


def number(text):
    return float(text.replace("−", "-").replace(",", ""))


def shown_map(page, T):
    cells = page.locator(".sx-grid tbody td").evaluate_all(
        "cells => cells.map(c => Number(c.style.getPropertyValue('--w')))"
    )
    return torch.tensor(cells).view(T, T)


@pytest.mark.parametrize("place", [0, 9, -1])
def test_attention_text_and_losses_on_screen_are_pytorchs(page, checkpoints, tok, record, place):
    step, model = checkpoints[place]
    choose(page, checkpoints.index((step, model)))
    ids = torch.tensor([tok.encode(PROMPT)])
    with torch.no_grad(), recorded_attention(model) as weights:
        model(ids)
    for block, head in ((1, 1), (1, 3), (2, 4)):
        page.get_by_role("button", name=f"Block {block}, head {head}", exact=True).click()
        expected = weights[f"h.{block - 1}.attn"][0, head - 1]
        assert (shown_map(page, ids.shape[1]) - expected).abs().max() < 2e-4
    written = generate(model, ids, 100, temperature=0.0)[0, ids.shape[1] :].tolist()
    assert page.locator(".sx-text mark").text_content() == tok.decode(written)
    line = torch.tensor(tok.encode(LINE))
    with torch.no_grad():
        nats = F.cross_entropy(model(line[None])[0, :-1], line[1:], reduction="none")
    page.get_by_text("Every character as a table").click()
    rows = page.locator(".sx-main details tbody td").all_inner_texts()
    assert [number(text) for text in rows] == pytest.approx(nats.tolist(), abs=1e-3)
    bars = page.locator(".sx-tokens span").evaluate_all(
        "all => all.map(e => Number(e.style.getPropertyValue('--w')))"
    )
    assert bars == pytest.approx([0, *(nats / 6).clamp(max=1).tolist()], abs=1e-3)
    mean = page.get_by_text("It reads: ").inner_text()
    assert number(mean.split()[2]) == pytest.approx(nats.mean().item(), abs=1e-3)
    told = page.locator(".sx-time > .sx-status").inner_text()
    assert f" {record['validation'][str(step)]:.2f} nats" in told
    dot = page.locator(".sx-dot").get_attribute("style")
    x = checkpoints.index((step, model)) / (len(checkpoints) - 1)
    assert float(re.search(r"--x: ([\d.]+)", dot)[1]) == pytest.approx(x, abs=1e-3)


def test_the_page_says_which_counts_the_step_has_passed(page, checkpoints, record):
    for place, (step, _) in enumerate(checkpoints):
        choose(page, place)
        loss = record["validation"][str(step)]
        names = [f"{n}-grams" for n in ("1", "2", "5") if loss < record["counted"][n]]
        told = page.locator(".sx-time > .sx-status").inner_text()
        assert [name for name in ("1-grams", "2-grams", "5-grams") if name in told] == names
        assert told.startswith(f"After {step:,} step")


def test_a_checkpoint_is_unpacked_when_it_is_first_shown(browser, address):
    context, page, _ = start(browser)
    page.add_init_script(
        "window.unpacked = 0; const own = atob; "
        "window.atob = (text) => { window.unpacked++; return own(text); };"
    )
    page.goto(address)
    page.locator(".sx-grid").first.wait_for()
    assert page.evaluate("unpacked") == 1
    for place, number_of in ((3, 2), (4, 3), (3, 3)):
        choose(page, place)
        assert page.evaluate("unpacked") == number_of
    context.close()


def test_keys_alone_move_through_the_run_and_choose_a_head(page, checkpoints):
    def focused():
        return page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.tagName"
        )

    press, last = page.keyboard.press, len(checkpoints) - 1
    press("Tab")
    slider = page.get_by_label("Steps of training")
    assert focused() == "INPUT" and slider.input_value() == "0"
    press("End")
    assert slider.input_value() == str(last)
    press("Home")
    assert slider.get_attribute("aria-valuetext") == "0"
    for _ in range(3):
        press("ArrowRight")
    step = checkpoints[3][0]
    assert slider.get_attribute("aria-valuetext") == f"{step:,}"
    assert f"at step {step:,}" in page.locator(".sx-run").get_attribute("aria-label")
    press("Tab")
    assert focused() == "TEXTAREA"
    for _ in range(4):
        press("Tab")
        if focused().startswith("Block"):
            break
        assert focused() in ("Text of the model", "The loss of each character", "SUMMARY")
    press("Tab") if not focused().startswith("Block") else None
    assert focused() == "Block 1, head 1"
    press("ArrowDown"), press("ArrowRight"), press("Enter")
    assert page.locator("[aria-pressed=true]").get_attribute("aria-label") == "Block 2, head 2"
    assert page.get_by_text("Block 2, head 2", exact=True).count() == 1


def test_what_is_typed_is_read_at_every_step_and_what_cannot_be_is_said(page, checkpoints, tok):
    field, status = page.get_by_label("Prompt"), page.locator(".sx-prompt .sx-status")
    field.fill("To be")
    page.wait_for_function("document.querySelector('.sx-prompt .sx-status').textContent[0] === '5'")
    choose(page, 12)
    model = checkpoints[12][1]
    written = generate(model, torch.tensor([tok.encode("To be")]), 100, temperature=0.0)
    assert page.locator(".sx-text").text_content() == tok.decode(written[0].tolist())
    field.fill("naïve")
    page.wait_for_function(
        "document.querySelector('.sx-prompt .sx-status').textContent.includes('ï')"
    )
    assert "is not one of the 65 characters" in status.inner_text()
    choose(page, 13)
    assert page.locator(".sx-grid tbody tr").count() == 5, "the last good prompt stays"
    assert page.locator(".sx-refused").count() == 1 and page.locator("[inert]").count() == 2
    field.fill("abc " * 60)
    page.wait_for_function(
        "document.querySelector('.sx-prompt .sx-status').textContent.startsWith('The last')"
    )
    assert "last 128 of 240" in status.inner_text()
    assert page.locator(".sx-refused, [inert]").count() == 0
    assert page.locator(".sx-grid tbody tr").count() == 26, "what a phone can show"


@pytest.mark.parametrize(("mode", "width"), [("light", 1200), ("dark", 390)])
def test_it_fits_and_axe_finds_nothing(browser, address, axe, mode, width):
    context, page, faults = opened(browser, address, mode, width)
    page.evaluate(axe)
    for summary in page.locator("summary:visible").all():
        summary.click()
    page.get_by_label("Prompt").fill("What is the matter, then? Speak")
    page.wait_for_timeout(400)
    for place in (0, 15):
        choose(page, place)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        result = page.evaluate(AXE, [".live-figure", True])
        found = [
            f"{fault['id']}: {node['html'][:90]} | {node['failureSummary'][:160]}"
            for fault in result["violations"]
            for node in fault["nodes"][:2]
        ]
        assert found == []
    small = page.locator(".live-figure *").evaluate_all(
        "all => all.filter(e => e.checkVisibility() && [...e.childNodes].some(n => "
        "n.nodeType === 3 && n.data.trim()) && parseFloat(getComputedStyle(e).fontSize) < 13)"
        ".map(e => e.outerHTML.slice(0, 80))"
    )
    targets = page.locator("button:visible, input:visible, summary:visible").evaluate_all(
        "all => all.filter(e => e.getBoundingClientRect().height < 24).map(e => e.outerHTML)"
    )
    assert small == [] and targets == [] and faults == []
    context.close()


def test_without_javascript_the_curve_and_the_texts_stay(browser, address, checkpoints, record):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(address)
    assert page.locator(".live-figure svg[role=img]").is_visible()
    rows = page.locator(".live-figure tbody tr")
    assert rows.count() == 6
    for row in (rows.first, rows.last):
        step, loss, text = row.locator("td").all_inner_texts()
        expected = record["validation"][step.replace(",", "")]
        assert number(loss) == pytest.approx(expected, abs=6e-4) and len(text) == 22
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


def overlap(a, b):
    """Whether two boxes share more than a pixel."""
    return all(
        min(a[x] + a[n], b[x] + b[n]) - max(a[x], b[x]) > 1
        for x, n in (("x", "width"), ("y", "height"))
    )


def test_the_chapters_stored_figure_shows_what_python_computes(browser, checkpoints, tok, tmp_path):
    notebook = nbformat.read(ROOT / "notebooks" / "11_training.ipynb", as_version=4)
    stored = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if 'data-figure="time_machine"' in output.get("data", {}).get("text/html", "")
    ]
    (html,) = stored
    settings = json.loads(unescape(re.search(r'data-settings="([^"]*)"', html)[1]))
    losses = dict(zip(settings["steps"], settings["losses"], strict=True))
    figure = time_machine(
        checkpoints, tok, losses, dict(settings["counted"]), settings["line"], settings["prompt"]
    )
    assert isinstance(figure, LiveFigure) and figure.settings == settings
    hashes = [description["hash"] for description in figure.descriptions]
    assert re.search(r'data-models="(.*?)"', html)[1].split() == hashes
    corpus = load_corpus("tinyshakespeare")
    if corpus.is_real:
        _, scored = train_val_split(torch.tensor(tok.encode(corpus.text)), 0.9)
        assert settings["line"] in tok.decode(scored.tolist())
        for step, model in (checkpoints[5], checkpoints[-1]):
            loss = evaluate(model, scored[:20_001], model.context_length)
            assert losses[step] == pytest.approx(loss, abs=1e-3)
    figure.save(tmp_path / "stored.html")
    context, page, faults = opened(browser, (tmp_path / "stored.html").as_uri())
    assert [name for name, _ in settings["counted"]] == [f"{n}-grams" for n in range(1, 6)]
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = [one.bounding_box() for one in page.locator(".sx-counted-name").all()]
        assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2)), width
    choose(page, len(checkpoints) - 1)
    told = page.locator(".sx-time > .sx-status").inner_text()
    assert "better than counted 1-grams, 2-grams, 3-grams and 4-grams." in told
    line = torch.tensor(tok.encode(settings["line"]))
    for place in (2, 14):
        choose(page, place)
        with torch.no_grad():
            nats = F.cross_entropy(checkpoints[place][1](line[None])[0, :-1], line[1:])
        mean = page.get_by_text("It reads: ").inner_text()
        assert number(mean.split()[2]) == pytest.approx(nats.item(), abs=1e-3)
    assert faults == []
    context.close()


def test_a_page_of_the_site_holds_all_checkpoints_in_one_script(browser, checkpoints, tmp_path):
    source, out, extension = tmp_path / "source", tmp_path / "out", ROOT / "book" / "_ext"
    (source / "notebooks").mkdir(parents=True)
    shutil.copy(ROOT / "notebooks" / "11_training.ipynb", source / "notebooks")
    (source / "conf.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(extension)!r}]\n"
        "extensions = ['myst_parser', 'live_ext']\nmyst_enable_extensions = ['colon_fence']\n"
    )
    (source / "index.md").write_text("# Time\n\n:::{live} 11_training time_machine\n:::\n")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(source), str(out)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    html = (out / "index.html").read_text(encoding="utf-8")
    (script,) = set(re.findall(r"_static/live/model-[0-9a-f]{16}\.js", html))
    assert (out / script).stat().st_size < 5_000_000
    context, page, faults = start(browser)
    page.goto((out / "index.html").as_uri())
    page.locator(".sx-grid").first.wait_for()
    choose(page, len(checkpoints) - 1)
    assert page.locator(".sx-time > .sx-status").inner_text().startswith("After 5,000 steps: ")
    known = page.evaluate("Object.keys(scratchformerDescriptions).length")
    assert known == len(checkpoints) and faults == []
    context.close()
