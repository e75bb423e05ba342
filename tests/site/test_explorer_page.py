"""The live views in a real browser: their numbers are PyTorch's, and keys, phones and readers do.

The page is the one that `explore(…).save` writes, opened from disk.
"""

import json
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer.generation import generate
from scratchformer.models import GPT
from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer_course.page_model import explore
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from tests.site.browsing import PHONE, number, opened
from tests.site.figures import NAME, PROMPT, fill, press

ROOT = Path(__file__).resolve().parents[2]
FIGURE = "explorer"
TABS = ["Attention", "Next token", "Switch off", "Logit lens", "Patch"]
CLEAN, ALTERED = "and what thou offer's", "and what they offer's"


@pytest.fixture(scope="module")
def model():
    return GPT.pretrained(NAME)


@pytest.fixture(scope="module")
def tok():
    return CharTokenizer.pretrained(NAME)


@pytest.fixture(scope="module")
def ids(tok):
    return tok.encode(PROMPT)


@pytest.fixture(scope="module")
def logits(model, ids):
    with torch.no_grad():
        return model(torch.tensor([ids]))[0]


def numbers_of(row):
    return [number(text) for text in row.locator("td").all_inner_texts()]


def tab(page, name):
    page.get_by_role("tab", name=name).click()


# ---- numbers ----


def test_the_attention_on_screen_is_the_models(page, model, ids):
    with torch.no_grad(), recorded_attention(model) as weights:
        model(torch.tensor([ids]))
    for block, head in ((1, 1), (3, 2), (4, 4)):
        page.get_by_role("button", name=f"Block {block}, head {head}", exact=True).click()
        expected = weights[f"h.{block - 1}.attn"][0, head - 1]  # (T, S)
        cells = page.locator(".sx-grid tbody td").evaluate_all(
            "cells => cells.map(c => c.classList.contains('sx-closed') ? 0 : "
            "Number(c.style.getPropertyValue('--w')))"
        )
        shown = torch.tensor(cells).view_as(expected)
        assert (shown - expected).abs().max() < 2e-4


def test_the_dot_product_behind_a_cell_is_the_models(page, model, ids):
    x = []
    attention = model.h[1].attn
    hook = attention.register_forward_pre_hook(lambda _, args: x.append(args[0][0]))
    with torch.no_grad():
        model(torch.tensor([ids]))
        q, k, v = attention.c_attn(x[0]).chunk(3, dim=-1)
    hook.remove()
    page.get_by_role("button", name="Block 2, head 3", exact=True).click()
    t, s, head = 20, 11, slice(64, 96)
    page.locator(f".sx-grid td[data-row='{t}'][data-column='{s}']").hover()
    scores = (q[t, head] @ k[: t + 1, head].T).tolist()
    weight = torch.tensor(scores).div(32**0.5).softmax(dim=0)[s].item()
    steps = dict(
        zip(
            page.locator(".sx-steps dt").all_inner_texts(),
            page.locator(".sx-steps dd b").all_inner_texts(),
            strict=True,
        )
    )
    assert number(steps["q · k"]) == pytest.approx(scores[s], abs=6e-4)
    assert number(steps["÷ √32"]) == pytest.approx(scores[s] / 32**0.5, abs=6e-4)
    assert steps["mask"] == "open" and number(steps["softmax"]) == pytest.approx(weight, abs=6e-5)
    assert number(steps["w × v"]) == pytest.approx(weight * v[s, head].norm().item(), abs=6e-4)
    page.get_by_text("The 32 terms as a table").click()
    rows = page.locator(".sx-detail details tbody tr")
    assert rows.count() == 32
    terms = torch.tensor([numbers_of(rows.nth(d)) for d in (0, 9, 31)])
    places = torch.tensor([64, 73, 95])
    expected = torch.stack(
        [q[t, places], k[s, places], q[t, places] * k[s, places], weight * v[s, places]], dim=1
    )
    assert (terms - expected).abs().max() < 6e-4
    page.locator(".sx-grid td[data-row='3'][data-column='4']").hover()
    assert page.locator(".sx-steps dd b").nth(2).inner_text() == "−∞"


def test_the_next_token_on_screen_is_the_models(page, tok, logits):
    tab(page, "Next token")

    def shown():
        rows = page.locator(".sx-next tbody tr")
        return {
            rows.nth(i).locator("th").inner_text(): number(
                rows.nth(i).locator("td").first.inner_text()
            )
            for i in range(rows.count())
        }

    def expected(p):
        names = {" ": "␣", "\n": "⏎"}
        top = p.topk(3)
        letters = [tok.decode([i]) for i in top.indices.tolist()]
        return {names.get(c, c): 100 * x for c, x in zip(letters, top.values.tolist(), strict=True)}

    for name, value in expected(logits[-1].softmax(dim=0)).items():
        assert shown()[name] == pytest.approx(value, abs=0.06)
    fill(page, Temperature=0.5)
    page.get_by_label("Top-k").fill("2")
    p = (logits[-1] / 0.5).softmax(dim=0)
    kept = torch.zeros_like(p)
    kept[p.topk(2).indices] = p.topk(2).values / p.topk(2).values.sum()
    for name, value in list(expected(kept).items())[:2]:
        assert shown()[name] == pytest.approx(value, abs=0.06)
    assert page.locator(".sx-next tbody tr.sx-dropped").count() == 10


@pytest.mark.parametrize("prompt", ["The king ", "The kin"])
def test_top_p_keeps_what_python_keeps(page, model, tok, prompt):
    tab(page, "Next token")
    page.get_by_label("Prompt").fill(prompt)
    page.wait_for_function(f"document.querySelector('.sx-status').textContent[0] == {len(prompt)}")
    page.get_by_label("Top-p").fill("0.7")
    with torch.no_grad():
        p = model(torch.tensor([tok.encode(prompt)]))[0, -1].softmax(dim=0)
    falling = p.sort(descending=True).values
    kept = int((falling.cumsum(dim=0) - falling < 0.7).sum())
    assert page.locator(".sx-next tbody tr:not(.sx-dropped)").count() == kept


def test_steps_repeat_with_the_seed_and_greedy_text_is_pytorchs(page, model, tok, ids):
    tab(page, "Next token")
    text = page.locator(".sx-next .sx-text mark")
    drawn = []
    for _ in range(2):
        for _ in range(4):
            press(page, "Step")
        drawn.append(text.text_content())
        press(page, "Start again")
    assert drawn[0] == drawn[1] and len(drawn[0]) == 4
    page.get_by_label("Temperature").fill("0")
    page.get_by_role("button", name="Generate").click()
    page.get_by_role("button", name="Generate").wait_for(timeout=60_000)
    greedy = generate(model, torch.tensor([ids]), 120, temperature=0.0)[0, len(ids) :].tolist()
    assert text.text_content() == tok.decode(greedy)


def test_the_losses_of_a_changed_model_are_pytorchs(page, model, ids, logits):
    tab(page, "Switch off")
    page.get_by_role("button", name="Switch off head 2 of block 1").click()
    page.get_by_role("button", name="Switch off block 3", exact=True).click()

    def without_head(_, args):
        heads = args[0].clone()
        heads[..., 32:64] = 0
        return (heads,)

    hooks = [
        model.h[0].attn.c_proj.register_forward_pre_hook(without_head),
        model.h[2].register_forward_hook(lambda _, args, output: args[0]),
    ]
    with torch.no_grad():
        changed = model(torch.tensor([ids]))[0]
    for hook in hooks:
        hook.remove()
    targets = torch.tensor(ids[1:])
    was, now = (F.cross_entropy(z[:-1], targets).item() for z in (logits, changed))
    rows = page.locator(".sx-losses tbody tr")
    shown = [numbers_of(rows.nth(i))[0] for i in range(3)]
    assert shown == pytest.approx([was, now, now - was], abs=2e-3) and now > was
    page.get_by_role("button", name="All on again").click()
    assert numbers_of(rows.nth(2)) == [0]
    assert page.get_by_role("group", name="Without").get_by_role("checkbox").count() == 3
    for name in ("positions", "the division by √D", "the causal mask"):
        page.get_by_label(name).check()
        assert abs(numbers_of(rows.nth(2))[0]) > 0.05, name
        page.get_by_label(name).uncheck()


def test_the_lens_on_screen_is_the_models(page, model, tok, ids):
    stream = []
    hooks = [block.register_forward_hook(lambda _, a, x: stream.append(x)) for block in model.h]
    with torch.no_grad():
        model(torch.tensor([ids]))
        p = [model.lm_head(model.ln_f(x))[0].softmax(dim=-1) for x in stream]
    for hook in hooks:
        hook.remove()
    tab(page, "Logit lens")
    cells = page.locator(".sx-lens-grid tbody tr")
    assert cells.count() == 5
    for block in (1, 2, 3, 4):
        label = cells.nth(4 - block).locator("td").last.get_attribute("aria-label")
        top = p[block - 1][-1].max(dim=-1)
        best = tok.decode([int(top.indices)]).replace(" ", "␣").replace("\n", "⏎")
        assert label.startswith(f"block {block}, after “h”: “{best}” ")
        assert number(label.split("”")[-1]) == pytest.approx(100 * top.values.item(), abs=0.06)


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


@pytest.fixture(scope="module")
def pair_page(model, tok, tmp_path_factory):
    path = tmp_path_factory.mktemp("pair") / "pair.html"
    explore(model, tok, CLEAN, altered=ALTERED, views=["patch", "switches"]).save(path)
    return path.as_uri()


@pytest.fixture
def pair(browser, pair_page):
    with opened(browser, pair_page) as page:
        computed(page)
        yield page


def computed(page):
    page.locator(".sx-status", has_text="Computed").wait_for()
    page.locator(".sx-carried").wait_for()


def cell(page, block, place):
    return page.locator(f"td[aria-label^='block {block}, place {place},']")


@pytest.fixture(scope="module")
def log_odds(model, tok):
    """Of t against a space after the altered text, with a block's vector or a head carried over."""
    clean, altered = (torch.tensor([tok.encode(text)]) for text in (CLEAN, ALTERED))
    one, two = tok.encode("t ")

    def run(ids, module=None, t=None, channels=slice(None), numbers=None):
        seen = []

        def carry(x):
            seen.append(x[0, t, channels].clone())
            if numbers is not None:
                x = x.clone()
                x[0, t, channels] = numbers
            return x

        hook = None
        if isinstance(module, torch.nn.Linear):
            hook = module.register_forward_pre_hook(lambda _, args: (carry(args[0]),))
        elif module is not None:
            hook = module.register_forward_hook(lambda _, args, x: carry(x))
        with torch.no_grad():
            logits = model(ids)[0, -1]
        if hook:
            hook.remove()
        return (logits[one] - logits[two]).item(), seen

    def carried(*where):
        _, (numbers,) = run(clean, *where)
        return run(altered, *where, numbers=numbers)[0]

    return run(clean)[0], run(altered)[0], carried


def test_the_shares_on_screen_are_pytorchs(pair, model, tok, log_odds):
    full, none, carried = log_odds
    for block, place in ((1, 13), (2, 12), (3, 21), (3, 15)):
        expected = carried(model.h[block - 1], place - 1)
        cell(pair, block, place).hover()
        rows = pair.locator(".sx-patch .sx-losses tbody tr")
        shown = [numbers_of(rows.nth(n))[1] for n in range(3)]
        assert shown == pytest.approx([full, none, expected], abs=6e-3)
        share = 100 * (expected - none) / (full - none)
        said = re.search(r"restores (\S+) %", cell(pair, block, place).get_attribute("aria-label"))
        assert number(said[1]) == pytest.approx(share, abs=0.51)
        text = cell(pair, block, place).inner_text()
        assert (number(text) if text != "·" else 0) == number(said[1])
    heads = pair.locator(".sx-carried tbody tr")
    assert heads.count() == 16
    for n in (0, 4, 8, 14, 15):
        cut = slice(32 * (n % 4), 32 * (n % 4) + 32)
        expected = carried(model.h[n // 4].attn.c_proj, 20, cut)
        share = number(heads.nth(n).locator("td").first.inner_text())
        assert share == pytest.approx(100 * (expected - none) / (full - none), abs=0.51)
    with torch.no_grad(), recorded_attention(model) as weights:
        model(torch.tensor([tok.encode(CLEAN)]))
    for n in (0, 1, 8, 14, 15):
        on = 100 * weights[f"h.{n // 4}.attn"][0, n % 4, -1, 11:13].sum().item()
        assert number(heads.nth(n).locator("td").nth(2).inner_text()) == pytest.approx(on, abs=0.51)


def test_keys_read_the_map_and_ask_the_heads(pair):
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
    told = pair.locator(".sx-patch .sx-detail .sx-title")
    assert told.first.inner_text().startswith("After block 1, place 13, “u”: restores")
    assert told.last.inner_text() == "The heads at place 21, “s”"
    for key in ("Enter", "End", "ArrowUp", "Space"):
        pair.keyboard.press(key)
        if key == "Enter":
            told.last.get_by_text("The heads at place 13, “u”").wait_for()
    told.last.get_by_text("The heads at place 21, “s”").wait_for()


def test_another_question_gives_other_shares(pair):
    before = cell(pair, 3, 21).inner_text()
    pair.get_by_label("against").select_option("any other")
    assert cell(pair, 4, 21).inner_text() == "100"
    assert cell(pair, 3, 21).inner_text() != before
    pair.get_by_label("against").select_option("“t”")  # against itself: nothing to restore
    assert cell(pair, 4, 21).inner_text() == ""
    assert "no difference" in cell(pair, 4, 21).get_attribute("aria-label")


def test_texts_of_different_lengths_or_the_same_text_are_told(pair):
    field, body = pair.get_by_label("Altered text"), pair.locator(".sx-patch-grid")
    status = pair.locator(".sx-patch .sx-status").first
    field.fill(ALTERED[:-1])
    status.filter(has_text="20 tokens. The prompt has 21.").wait_for()
    assert not body.is_visible()
    press(pair, "Copy the prompt here")
    status.filter(has_text="It is the same as the prompt").wait_for()
    assert field.input_value() == CLEAN and not body.is_visible()
    field.fill("and when thou offer's")
    computed(pair)
    assert pair.locator(".sx-patch-grid tbody tr").first.locator("td").count() == 15
    pair.get_by_label("Prompt").fill("And when thou offer's")
    pair.get_by_text("The texts differ from their first place on.").wait_for()


def test_switches_tell_what_becomes_of_the_answers_to_both(pair, model, tok, log_odds):
    tab(pair, "Switch off")
    press(pair, "Switch off head 4 of block 4")

    def cut(_, args):
        heads = args[0].clone()
        heads[..., 96:] = 0
        return (heads,)

    def answer(text):
        with torch.no_grad():
            logits = model(torch.tensor([tok.encode(text)]))[0, -1]
        one, two = tok.encode("t ")
        chance = 100 * logits.softmax(dim=0)[one].item()
        return chance, (logits[one] - logits[two]).item()

    expected = [[answer(text)] for text in (CLEAN, ALTERED)]
    hook = model.h[3].attn.c_proj.register_forward_pre_hook(cut)
    for row, text in zip(expected, (CLEAN, ALTERED), strict=True):
        row.append(answer(text))
    hook.remove()
    rows = pair.locator(".sx-answers tbody tr")
    for n, row in enumerate(expected):
        for m, (chance, odds) in enumerate(row):
            shown = rows.nth(n).locator("td").nth(m).inner_text().split(", ")
            assert number(shown[0]) == pytest.approx(chance, abs=0.06)
            assert number(shown[1]) == pytest.approx(odds, abs=6e-3)
    tab(pair, "Patch")
    press(pair, "Copy the prompt here")
    tab(pair, "Switch off")
    assert not pair.locator(".sx-answers").is_visible(), "one text asks no question"


# ---- keys, readers, phones ----


def test_arrow_keys_move_in_every_grid(page):
    def focused():
        return page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? "
            "document.activeElement.textContent"
        )

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)

    press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    press("Tab")
    assert focused() == "Attention"
    press("Tab")
    assert focused() == "Block 1, head 1"
    press("ArrowDown", "ArrowRight", "Enter")
    assert focused() == "Block 2, head 2"
    assert page.locator(".sx-title").first.inner_text() == "Block 2, head 2"
    press("Tab", "Tab", "Tab")
    assert re.match(r"“h” at “.*”: .* %", focused())
    press("Home")
    assert focused().startswith("“h” at “R”")
    press("ArrowUp", "ArrowRight")
    assert focused().startswith("“g” at “O”")
    assert page.locator(".sx-attention .sx-detail .sx-title").inner_text() == "“g” looks at “O”"
    page.get_by_role("button", name="Arcs").focus()
    press("Enter", "Tab")
    assert focused().startswith("Query “g”, token 24")
    press("ArrowLeft", "ArrowUp")
    assert focused().startswith("Query “u”, token 23")
    assert page.locator(".sx-attention .sx-detail .sx-title").inner_text() == "“u” looks at “M”"
    page.get_by_role("tab", name="Attention").focus()
    for name in TABS[1:]:
        press("ArrowRight")
        assert focused() == name and page.locator("[role=tabpanel]:visible").count() == 1
    press("ArrowLeft", "Tab")
    assert focused().startswith("block 4, after “h”")
    press("ArrowDown", "ArrowLeft")
    assert focused().startswith("block 3, after “g”")
    tab(page, "Switch off")
    press("Tab")
    assert focused() == "Switch off block 1"
    press("ArrowRight", "ArrowDown", "Space")
    assert focused() == "Switch off head 1 of block 2"
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
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    tok = ByteBPE.train(text, 400)
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
