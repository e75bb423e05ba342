"""The live views in a real browser: their numbers are PyTorch's, and keys, phones and readers do.

The page is the one that `explore(…).save` writes, opened from disk. What the model gives with any
switch, patch or seed: tests/page_model/test_page_model.py.
"""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from scratchformer.attention import recorded_attention
from scratchformer_course.page_model import explore
from tests.page_model.test_page_model import patched
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


def written(token):
    return token.replace(" ", "␣").replace("\n", "⏎")


def logits_of(ids):
    """PyTorch's logits (T, V)."""
    with torch.no_grad():
        return MODEL(torch.tensor([ids]))[0]


def test_each_view_shows_pytorchs_numbers(page):
    ids, queries, stream = TOK.encode(PROMPT), [], []
    attention = MODEL.h[1].attn
    hooks = [
        attention.register_forward_pre_hook(lambda _, args: queries.append(args[0][0])),
        MODEL.h[1].register_forward_hook(lambda _, args, x: stream.append(x)),
    ]
    with torch.no_grad(), recorded_attention(MODEL) as weights:
        logits = logits_of(ids)
        q, k, v = attention.c_attn(queries[0]).chunk(3, dim=-1)
        lens = MODEL.lm_head(MODEL.ln_f(stream[0]))[0, -1].softmax(dim=-1)
    for hook in hooks:
        hook.remove()

    press(page, "Block 2, head 3")
    expected = weights["h.1.attn"][0, 2]  # (T, S)
    shown = torch.tensor(shades(page, ".sx-grid tbody td")).view_as(expected)
    assert (shown - expected).tril().abs().max() < 2e-4
    t, s, head = 20, 11, slice(64, 96)
    page.locator(f".sx-grid td[data-row='{t}'][data-column='{s}']").hover()
    names, texts = (page.locator(f".sx-steps {part}").all_inner_texts() for part in ("dt", "dd b"))
    steps = dict(zip(names, texts, strict=True))
    score, weight = (q[t, head] @ k[s, head]).item(), expected[t, s].item()
    assert number(steps["÷ √32"]) == pytest.approx(score / 32**0.5, abs=6e-4)
    assert steps["mask"] == "open" and number(steps["softmax"]) == pytest.approx(weight, abs=6e-5)
    assert number(steps["w × v"]) == pytest.approx(weight * v[s, head].norm().item(), abs=6e-4)

    tab(page, "Next token")
    open_folds(page, ".live-figure")
    fill(page, **{"Temperature": 0.5, "Top-k": 2})
    p = (logits[-1] / 0.5).softmax(dim=0).topk(2)
    shown = {row[0]: number(row[1]) for row in rows(page, ".sx-next table")[1:]}
    for share, i in zip((p.values / p.values.sum()).tolist(), p.indices.tolist(), strict=True):
        assert shown[written(TOK.decode([i]))] == pytest.approx(100 * share, abs=0.06)
    fill(page, Temperature=0)
    press(page, "Generate")
    page.get_by_role("button", name="Go on").wait_for(timeout=60_000)
    text = page.locator(".sx-scene").text_content()
    assert text.startswith(PROMPT) and text[-1].isspace() and len(text) > len(PROMPT) + 119

    tab(page, "Logit lens")
    lines = page.locator(".sx-lens-grid tbody tr")
    label = lines.nth(2).locator("td").last.get_attribute("aria-label")
    best = written(TOK.decode([int(lens.argmax())]))
    assert label.startswith(f"block 2, after “h”: “{best}” ")
    assert number(label.split("”")[-1]) == pytest.approx(100 * lens.max().item(), abs=0.06)

    tab(page, "Switch off")
    press(page, "Switch off head 4 of block 3")

    def cut_off(_, args):
        return (F.pad(args[0][..., :96], (0, 32)),)

    hook = MODEL.h[2].attn.c_proj.register_forward_pre_hook(cut_off)
    changed = logits_of(ids)
    hook.remove()
    was, now = (F.cross_entropy(z[:-1], torch.tensor(ids[1:])).item() for z in (logits, changed))
    losses = [number(row[1]) for row in rows(page, ".sx-losses")[-3:]]
    assert losses == pytest.approx([was, now, now - was], abs=2e-3)
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


def test_what_is_carried_over_restores_pytorchs_shares(pair):
    clean, altered = (TOK.encode(text) for text in (CLEAN, ALTERED))
    one, two = TOK.encode("t ")

    def odds(logits):
        return (logits[one] - logits[two]).item()

    full, none = (odds(logits_of(ids)[-1]) for ids in (clean, altered))
    for block, place in ((1, 13), (3, 21)):
        expected = odds(patched(MODEL, clean, altered, f"h.{block - 1}", place - 1))
        cell = pair.locator(f"td[aria-label^='block {block}, place {place},']")
        cell.hover()
        shown = [number(row[2]) for row in rows(pair, ".sx-patch .sx-losses")[-3:]]
        assert shown == pytest.approx([full, none, expected], abs=6e-3)
        share = 100 * (expected - none) / (full - none)
        assert number(cell.inner_text()) == pytest.approx(share, abs=0.51)
    tab(pair, "Switch off")  # what both texts expect, while nothing is off
    for row, ids in zip(rows(pair, ".sx-answers table")[-2:], (clean, altered), strict=True):
        chance = 100 * logits_of(ids)[-1].softmax(dim=0)[one].item()
        assert number(row[-1].split(", ")[0]) == pytest.approx(chance, abs=0.06)


def test_texts_that_cannot_be_compared_are_told(pair):
    field, status = pair.get_by_label("Altered text"), pair.locator(".sx-patch .sx-status").first
    field.fill(ALTERED[:-1])
    status.filter(has_text="20 tokens. The prompt has 21.").wait_for()
    assert pair.locator(".sx-patch [inert]").count() == 1, "the last map keeps its room"
    press(pair, "Copy the prompt here")
    status.filter(has_text="It is the same as the prompt").wait_for()
    tab(pair, "Switch off")
    assert not pair.locator(".sx-answers").is_visible(), "one text asks no question"


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
