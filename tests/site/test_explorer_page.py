"""The live views in a real browser: their numbers are PyTorch's, and keys, phones and readers do.

The page is the one that `explore(…).save` writes, opened from disk. What the model gives with any
switch, patch or seed: tests/page_model/test_page_model.py.
"""

import json
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer.generation import generate
from scratchformer.tokenizers import ByteBPE
from scratchformer_course.page_model import explore
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from tests.page_model.test_page_model import patched
from tests.site.browsing import LIVE, PHONE, number, opened, rows
from tests.site.figures import PROMPT, fill, press, shipped

ROOT = Path(__file__).resolve().parents[2]
FIGURE = "explorer"
TABS = ["Attention", "Next token", "Switch off", "Logit lens", "Patch"]
CLEAN, ALTERED = "and what thou offer's", "and what they offer's"


@pytest.fixture(scope="module")
def model():
    return shipped()[0]


@pytest.fixture(scope="module")
def tok():
    return shipped()[1]


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def written(token):
    return token.replace(" ", "␣").replace("\n", "⏎")


# ---- numbers ----


def test_attention_and_the_dot_product_behind_a_cell_are_the_models(page, model, tok):
    ids, x, attention = torch.tensor([tok.encode(PROMPT)]), [], model.h[1].attn
    hook = attention.register_forward_pre_hook(lambda _, args: x.append(args[0][0]))
    with torch.no_grad(), recorded_attention(model) as weights:
        model(ids)
        q, k, v = attention.c_attn(x[0]).chunk(3, dim=-1)
    hook.remove()
    press(page, "Block 2, head 3")
    cells = page.locator(".sx-grid tbody td").evaluate_all(
        "cells => cells.map(c => c.classList.contains('sx-closed') ? 0 : "
        "Number(c.style.getPropertyValue('--w')))"
    )
    expected = weights["h.1.attn"][0, 2]  # (T, S)
    assert (torch.tensor(cells).view_as(expected) - expected).abs().max() < 2e-4

    t, s, head = 20, 11, slice(64, 96)
    page.locator(f".sx-grid td[data-row='{t}'][data-column='{s}']").hover()
    score, weight = (q[t, head] @ k[s, head]).item(), expected[t, s].item()
    names, texts = (page.locator(f".sx-steps {part}").all_inner_texts() for part in ("dt", "dd b"))
    steps = dict(zip(names, texts, strict=True))
    assert number(steps["q · k"]) == pytest.approx(score, abs=6e-4)
    assert number(steps["÷ √32"]) == pytest.approx(score / 32**0.5, abs=6e-4)
    assert steps["mask"] == "open" and number(steps["softmax"]) == pytest.approx(weight, abs=6e-5)
    assert number(steps["w × v"]) == pytest.approx(weight * v[s, head].norm().item(), abs=6e-4)
    page.get_by_text("The 32 terms as a table").click()
    table = rows(page, ".sx-detail details table")[1:]
    terms = torch.tensor([[number(text) for text in row[1:]] for row in table])
    q, k, v = q[t, head], k[s, head], v[s, head]
    assert (terms - torch.stack([q, k, q * k, weight * v], dim=1)).abs().max() < 6e-4
    page.locator(".sx-grid td[data-row='3'][data-column='4']").hover()
    assert page.locator(".sx-steps dd b").nth(2).inner_text() == "−∞"


def test_next_tokens_switches_and_lens_on_screen_are_the_models(page, model, tok):
    ids, stream = tok.encode(PROMPT), []
    hooks = [block.register_forward_hook(lambda _, a, x: stream.append(x)) for block in model.h]
    with torch.no_grad():
        logits = model(torch.tensor([ids]))[0]
        lens = [model.lm_head(model.ln_f(x))[0, -1].softmax(dim=-1) for x in stream]
    for hook in hooks:
        hook.remove()

    tab(page, "Next token")

    def likeliest(p, n):
        """The n likeliest tokens, with their chances in percent, beside those on screen."""
        shown = {row[0]: number(row[1]) for row in rows(page, ".sx-next table")[1:]}
        for share, i in zip(*map(torch.Tensor.tolist, p.topk(n)), strict=True):
            assert shown[written(tok.decode([i]))] == pytest.approx(100 * share, abs=0.06)

    p = logits[-1].softmax(dim=0)
    likeliest(p, 3)
    fill(page, **{"Top-p": 0.7})
    falling = p.sort(descending=True).values
    kept = int((falling.cumsum(dim=0) - falling < 0.7).sum())
    assert page.locator(".sx-next tbody tr:not(.sx-dropped)").count() == kept
    fill(page, **{"Top-p": 1, "Temperature": 0.5, "Top-k": 2})
    p = (logits[-1] / 0.5).softmax(dim=0)
    likeliest(p * (p >= p.topk(2).values[-1]) / p.topk(2).values.sum(), 2)
    assert page.locator(".sx-next tbody tr.sx-dropped").count() == 10
    text, drawn = page.locator(".sx-next .sx-text mark"), []
    fill(page, Temperature=1, **{"Top-k": 20})
    for _ in range(2):
        press(page, *["Step"] * 4)
        drawn.append(text.text_content())
        press(page, "Start again")
    assert drawn[0] == drawn[1] and len(drawn[0]) == 4
    fill(page, Temperature=0)
    page.get_by_role("button", name="Generate").click()
    page.get_by_role("button", name="Generate").wait_for(timeout=60_000)
    greedy = generate(model, torch.tensor([ids]), 120, temperature=0.0)[0, len(ids) :].tolist()
    assert text.text_content() == tok.decode(greedy)

    tab(page, "Logit lens")
    lines = page.locator(".sx-lens-grid tbody tr")
    assert lines.count() == 5
    for block, p in enumerate(lens, 1):
        label = lines.nth(4 - block).locator("td").last.get_attribute("aria-label")
        best = written(tok.decode([int(p.argmax())]))
        assert label.startswith(f"block {block}, after “h”: “{best}” ")
        assert number(label.split("”")[-1]) == pytest.approx(100 * p.max().item(), abs=0.06)

    tab(page, "Switch off")
    press(page, "Switch off block 3")
    hook = model.h[2].register_forward_hook(lambda _, args, output: args[0])
    with torch.no_grad():
        changed = model(torch.tensor([ids]))[0]
    hook.remove()
    was, now = (F.cross_entropy(z[:-1], torch.tensor(ids[1:])).item() for z in (logits, changed))

    def losses():
        return [number(row[1]) for row in rows(page, ".sx-losses")[-3:]]

    assert losses() == pytest.approx([was, now, now - was], abs=2e-3) and now > was
    press(page, "All on again")
    assert losses()[2] == 0
    for name in ("positions", "the division by √D", "the causal mask"):
        page.get_by_label(name).check()
        assert abs(losses()[2]) > 0.05, name
        page.get_by_label(name).uncheck()


def test_what_is_typed_is_read_and_what_is_changed_is_said(page):
    field = page.get_by_label("Prompt")
    status = page.locator(".sx-status").first
    letters = page.locator(".sx-grid thead th")
    for typed, read, said in (
        ("To be", "To␣be", r"^5 tokens\.$"),
        ("naïve", "naive", r"ï as i"),
        ("", "⏎", r"^Nothing"),
        ("To", "To", r"^2 tokens\.$"),
    ):
        field.fill(typed)
        status.filter(has_text=re.compile(said)).wait_for()
        assert letters.all_inner_texts() == list(read)
    field.fill("a" * 300)
    status.filter(has_text="256 tokens, the last of 300").wait_for()


# ---- patching ----


@pytest.fixture
def pair(browser, model, tok, tmp_path):
    path = tmp_path / "pair.html"
    explore(model, tok, CLEAN, altered=ALTERED, views=["patch", "switches"]).save(path)
    with opened(browser, path.as_uri()) as page:
        computed(page)
        yield page


def computed(page):
    page.locator(".sx-status", has_text="Computed").wait_for()
    page.locator(".sx-carried").wait_for()


def cell(page, block, place):
    return page.locator(f"td[aria-label^='block {block}, place {place},']")


def test_shares_and_answers_on_screen_are_pytorchs(pair, model, tok):
    clean, altered = (tok.encode(text) for text in (CLEAN, ALTERED))
    one, two = tok.encode("t ")

    def end(ids):
        with torch.no_grad():
            return model(torch.tensor([ids]))[0, -1]

    def odds(logits):
        return (logits[one] - logits[two]).item()

    full, none = odds(end(clean)), odds(end(altered))
    for block, place in ((1, 13), (3, 21), (3, 15)):
        expected = odds(patched(model, clean, altered, f"h.{block - 1}", place - 1))
        cell(pair, block, place).hover()
        shown = [number(row[2]) for row in rows(pair, ".sx-patch .sx-losses")[-3:]]
        assert shown == pytest.approx([full, none, expected], abs=6e-3)
        share = 100 * (expected - none) / (full - none)
        said = re.search(r"restores (\S+) %", cell(pair, block, place).get_attribute("aria-label"))
        assert number(said[1]) == pytest.approx(share, abs=0.51)
        text = cell(pair, block, place).inner_text()
        assert (number(text) if text != "·" else 0) == number(said[1])
    heads = pair.locator(".sx-carried tbody tr")
    assert heads.count() == 16
    with torch.no_grad(), recorded_attention(model) as weights:
        model(torch.tensor([clean]))
    for n in (0, 8, 15):
        block, head = divmod(n, 4)
        cut = slice(32 * head, 32 * head + 32)
        carried = odds(patched(model, clean, altered, f"h.{block}.attn.heads", 20, cut))
        on = 100 * weights[f"h.{block}.attn"][0, head, -1, 11:13].sum().item()
        shown = heads.nth(n).locator("td").all_inner_texts()
        restored = 100 * (carried - none) / (full - none)
        assert [number(shown[0]), number(shown[2])] == pytest.approx([restored, on], abs=0.51)

    tab(pair, "Switch off")
    press(pair, "Switch off head 4 of block 4")

    def cut_off(_, args):
        return (F.pad(args[0][..., :96], (0, 32)),)

    before = [end(ids) for ids in (clean, altered)]
    hook = model.h[3].attn.c_proj.register_forward_pre_hook(cut_off)
    after = [end(ids) for ids in (clean, altered)]
    hook.remove()
    answers = [row[-2:] for row in rows(pair, ".sx-answers table")[-2:]]
    for texts, logits in zip(answers, zip(before, after, strict=True), strict=True):
        for text, z in zip(texts, logits, strict=True):
            chance = 100 * z.softmax(dim=0)[one].item()
            shown = [number(part) for part in text.split(", ")]
            assert shown == [pytest.approx(chance, abs=0.06), pytest.approx(odds(z), abs=6e-3)]
    tab(pair, "Patch")
    press(pair, "Copy the prompt here")
    tab(pair, "Switch off")
    assert not pair.locator(".sx-answers").is_visible(), "one text asks no question"


def test_keys_read_the_map_and_other_questions_and_texts_are_answered_or_refused(pair):
    field = pair.get_by_label("Altered text")
    assert field.input_value() == ALTERED
    field.focus()
    for key in ("Tab", "Tab", "Tab", "Tab"):  # the button and the two choices
        pair.keyboard.press(key)
    label = "document.activeElement.getAttribute('aria-label')"
    assert re.match(r"embedding, place 12, “o”: restores \d+ %", pair.evaluate(label))
    for key in ("ArrowUp", "ArrowRight"):
        pair.keyboard.press(key)
    assert pair.evaluate(label).startswith("block 1, place 13, “u”")
    titles = pair.locator(".sx-patch .sx-detail .sx-title")
    assert titles.first.inner_text().startswith("After block 1, place 13, “u”: restores")
    assert titles.last.inner_text() == "The heads at place 21, “s”"
    for keys, title in (
        (["Enter"], "The heads at place 13, “u”"),
        (["End", "ArrowUp", "Space"], "The heads at place 21, “s”"),
    ):
        for key in keys:
            pair.keyboard.press(key)
        titles.last.get_by_text(title).wait_for()

    before = cell(pair, 3, 21).inner_text()
    pair.get_by_label("against").select_option("any other")
    assert cell(pair, 4, 21).inner_text() == "100"
    assert cell(pair, 3, 21).inner_text() != before
    pair.get_by_label("against").select_option("“t”")  # against itself: nothing to restore
    assert cell(pair, 4, 21).inner_text() == ""
    assert "no difference" in cell(pair, 4, 21).get_attribute("aria-label")

    grid, status = pair.locator(".sx-patch-grid"), pair.locator(".sx-patch .sx-status").first
    field.fill(ALTERED[:-1])
    status.filter(has_text="20 tokens. The prompt has 21.").wait_for()
    assert not grid.is_visible()
    press(pair, "Copy the prompt here")
    status.filter(has_text="It is the same as the prompt").wait_for()
    assert field.input_value() == CLEAN and not grid.is_visible()
    field.fill("and when thou offer's")
    computed(pair)
    assert grid.locator("tbody tr").first.locator("td").count() == 15
    pair.get_by_label("Prompt").fill("And when thou offer's")
    pair.get_by_text("The texts differ from their first place on.").wait_for()


# ---- keys, frames, other models ----

FOCUSED = """document.activeElement.getAttribute('aria-label')
  ?? document.activeElement.textContent"""
# keys, and how the name of what then has the focus begins
WALK = [
    ("Tab Tab", "Attention"),
    ("Tab", "Block 1, head 1"),
    ("ArrowDown ArrowRight Enter", "Block 2, head 2"),
    ("Tab Tab Tab Home", "“h” at “R”"),
    ("ArrowUp ArrowRight", "“g” at “O”"),
    ("Arcs", "Arcs"),
    ("Enter Tab", "Query “g”, token 24"),
    ("ArrowLeft ArrowUp", "Query “u”, token 23"),
    ("Attention", "Attention"),
    *(("ArrowRight", name) for name in TABS[1:]),
    ("ArrowLeft Tab", "block 4, after “h”"),
    ("ArrowDown ArrowLeft", "block 3, after “g”"),
    ("Switch off", "Switch off"),
    ("Tab", "Switch off block 1"),
    ("ArrowRight ArrowDown Space", "Switch off head 1 of block 2"),
]


def test_arrow_keys_move_in_every_grid(page):
    titles = {"Block 2, head 2": "Block 2, head 2", "“g” at “O”": "“g” looks at “O”"}
    titles["Query “u”, token 23"] = "“u” looks at “M”"
    for keys, name in WALK:
        if keys == "Arcs":
            page.get_by_role("button", name=keys).focus()
        elif keys in TABS:
            page.get_by_role("tab", name=keys).click()
        else:
            for key in keys.split():
                page.keyboard.press(key)
        assert page.evaluate(FOCUSED).startswith(name)
        assert page.locator("[role=tabpanel]:visible").count() == 1
        if name in titles:
            assert titles[name] in page.locator(".sx-attention .sx-title").all_inner_texts()
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


def test_other_models_and_long_tokens_are_shown_too(browser, tmp_path):
    tok = ByteBPE.train((ROOT / "README.md").read_text(encoding="utf-8"), 400)
    torch.manual_seed(0)
    config = SpeedrunConfig(tok.vocab_size, 32, 24, 6, 2, positions="rotary", smear=1)
    path = tmp_path / "own.html"
    explore(SpeedrunGPT(config), tok, "The course, in naïve words").save(path)
    with opened(browser, path.as_uri(), width=PHONE) as page:
        page.locator(LIVE).wait_for()
        assert page.get_by_role("button", name="Block 2, head 6", exact=True).count() == 1
        for name in TABS:
            tab(page, name)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE, name
