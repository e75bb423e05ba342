"""The live views in a real browser: they show what a reader chooses, types and presses.

The page is the one that `explore(…).save` writes, opened from disk. What the model gives with any
switch, patch or seed: tests/page_model/test_page_model.py.
"""

import json
from pathlib import Path

import pytest
import torch

from scratchformer.generation import generate
from scratchformer_course.page_model import explore
from tests.site.browsing import focused, number, open_folds, opened, rows
from tests.site.browsing import weights as shades
from tests.site.figures import PROMPT, fill, press, shipped

ROOT = Path(__file__).resolve().parents[2]
MODEL, TOK = shipped()
FIGURE = "explorer"
TABS = ["Attention", "Next token", "Switch off", "Logit lens", "Patch"]
CLEAN, ALTERED = "and what thou offer's", "and what they offer's"


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def test_each_view_shows_what_was_chosen(page):
    """Its numbers agree with each other; those of the model are PyTorch's in Node."""
    press(page, "Block 2, head 3")
    weights = torch.tensor(shades(page, ".sx-grid tbody td")).view(len(PROMPT), -1)
    t, s = 20, 11
    page.locator(f".sx-grid td[data-row='{t}'][data-column='{s}']").hover()
    names, texts = (page.locator(f".sx-steps {part}").all_inner_texts() for part in ("dt", "dd b"))
    steps = dict(zip(names, texts, strict=True))
    assert number(steps["÷ √32"]) == pytest.approx(number(steps["q · k"]) / 32**0.5, abs=6e-4)
    assert steps["mask"] == "open"
    assert number(steps["softmax"]) == pytest.approx(weights[t, s].item(), abs=2e-4)
    assert weights.tril().sum(dim=1).sub(1).abs().max() < 2e-3, "a row is shared out"
    open_folds(page, ".live-figure")
    terms = rows(page, "[aria-label='All weights of the query'] table")[1 : t + 2]
    scores, softmax = (torch.tensor([number(row[i]) for row in terms]) for i in (3, 5))
    assert (scores.softmax(dim=0) - softmax).abs().max() < 1e-3, "queries and keys are the head's"

    tab(page, "Next token")
    open_folds(page, ".live-figure")
    fill(page, **{"Temperature": 0.5, "Top-k": 2})
    shown = sorted((number(row[1]) for row in rows(page, ".sx-next table")[1:]), reverse=True)
    assert sum(shown[:2]) == pytest.approx(100, abs=0.2) and set(shown[2:]) <= {0}
    fill(page, Temperature=0)
    press(page, "Generate")
    page.get_by_role("button", name="Go on").wait_for(timeout=60_000)
    text = page.locator(".sx-scene").text_content()
    assert text.startswith(PROMPT) and text[-1].isspace() and len(text) > len(PROMPT) + 119

    tab(page, "Logit lens")
    cell = page.locator(".sx-lens-grid tbody tr").nth(2).locator("td").last
    label = cell.get_attribute("aria-label")
    assert label.startswith(f"block 2, after “h”: “{cell.inner_text()}” ")
    assert number(label.split("”")[-1]) == pytest.approx(
        100 * shades(page, ".sx-lens-grid tbody tr:nth-child(3) td:last-child")[0], abs=0.06
    )

    tab(page, "Switch off")
    press(page, "Switch off head 4 of block 3")
    was, changed, difference = (number(row[1]) for row in rows(page, ".sx-losses")[-3:])
    assert changed - was == pytest.approx(difference, abs=2e-3) and difference != 0
    page.get_by_text("Both: temperature").wait_for(timeout=60_000)
    before, after = page.locator(".sx-detail .sx-text").all_text_contents()
    assert before.startswith(PROMPT) and after.startswith(PROMPT) and before != after

    page.get_by_label("Prompt").fill("ï" * 300)
    page.locator(".sx-status", has_text="256 tokens, the last of 300").wait_for()


@pytest.fixture
def pair(browser, tmp_path):
    """Two texts, from one of which the stream is carried over into the other."""
    path = tmp_path / "pair.html"
    explore(MODEL, TOK, CLEAN, altered=ALTERED, views=["patch", "switches"]).save(path)
    with opened(browser, path.as_uri()) as page:
        page.locator(".sx-carried").wait_for()
        yield page


def test_what_is_carried_over_is_told_as_a_share_of_what_both_texts_expect(pair):
    for block, place in ((1, 13), (3, 21)):
        cell = pair.locator(f"td[aria-label^='block {block}, place {place},']")
        cell.hover()
        full, none, patched = (number(row[2]) for row in rows(pair, ".sx-patch .sx-losses")[-3:])
        share = 0.0 if cell.inner_text() == "·" else number(cell.inner_text())
        assert share == pytest.approx(100 * (patched - none) / (full - none), abs=1.5)
    chances = [row[1] for row in rows(pair, ".sx-patch .sx-losses")[1:3]]
    tab(pair, "Switch off")  # what both texts expect, while nothing is off
    shown = [row[-1].split(", ")[0] for row in rows(pair, ".sx-answers table")[-2:]]
    assert shown == chances


def test_texts_that_cannot_be_compared_are_told(pair):
    field, status = pair.get_by_label("Altered text"), pair.locator(".sx-patch .sx-status").first
    field.fill(ALTERED[:-1])
    status.filter(has_text="20 tokens. The prompt has 21.").wait_for()
    assert pair.locator(".sx-patch [inert]").count() == 1, "the last map keeps its room"
    press(pair, "Copy the prompt here")
    status.filter(has_text="It is the same as the prompt").wait_for()
    tab(pair, "Switch off")
    assert not pair.locator(".sx-answers").is_visible(), "one text asks no question"


def test_a_view_may_begin_with_what_greedy_decoding_writes(browser, tmp_path):
    path, ids = tmp_path / "greedy.html", torch.tensor([TOK.encode("The king ")])
    said = TOK.decode(generate(MODEL, ids, 40, temperature=0.0)[0].tolist())
    live = explore(MODEL, TOK, "The king ", views=["next"], greedy=40)
    assert said in live.html(), "without JavaScript, too"
    live.save(path)
    with opened(browser, path.as_uri()) as page:
        page.get_by_role("button", name="Go on").wait_for()
        scene = page.locator(".sx-scene")
        assert scene.text_content() == said
        assert page.get_by_label("Temperature").input_value() == "1"
        press(page, "Step")
        assert len(scene.text_content()) == len(said) + 1
        press(page, "Start again")
        assert scene.text_content() == "The king "


# ---- keys, frames, other models ----

# keys, and how the name of what then has the focus begins
WALK = [
    ("Tab Tab", "Attention"),
    ("Tab", "Block 1, head 1"),
    ("ArrowDown ArrowRight Enter", "Block 2, head 2"),
    ("Tab Tab Tab Home", "“h” at “R”"),
    ("ArrowUp ArrowRight", "“g” at “O”"),
    ("Attention", "Attention"),
    *(("ArrowRight", name) for name in TABS[1:]),
    ("ArrowLeft Tab", "block 4, after “h”"),
    ("ArrowDown ArrowLeft", "block 3, after “g”"),
    ("Switch off", "Switch off"),
    ("Tab", "Switch off block 1"),
    ("ArrowRight ArrowDown Space", "Switch off head 1 of block 2"),
]


def test_arrow_keys_move_in_every_grid(page):
    for keys, name in WALK:
        if keys in TABS:
            tab(page, keys)
        else:
            for key in keys.split():
                page.keyboard.press(key)
        assert focused(page).startswith(name)
    assert page.locator(".sx-toggles [aria-pressed=true]").count() == 1


def test_it_works_in_a_sandboxed_frame_without_origin(browser, saved, tmp_path):
    """As in Colab and VS Code: a frame that may run scripts and nothing else."""
    text = Path(saved(FIGURE).removeprefix("file://")).read_text(encoding="utf-8")
    (tmp_path / "frame.html").write_text(
        "<!doctype html><title>x</title><iframe sandbox='allow-scripts' width=1000 height=800>"
        "</iframe><script>document.querySelector('iframe').srcdoc = "
        f"{json.dumps(text).replace('</', '<' + chr(92) + '/')}</script>"
    )
    with opened(browser, (tmp_path / "frame.html").as_uri()) as page:
        page.frame_locator("iframe").locator(".sx-grid").first.wait_for()
