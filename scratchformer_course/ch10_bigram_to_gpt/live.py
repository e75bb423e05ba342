"""Chapter 10's rungs, which write; their parts as switches; and two scenes of the reader's.

The rungs and all combinations of their parts are those of `measurements/climb.json`, which
`lab/climb.py` trains.
"""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any, cast

import torch
from torch import Tensor

from scratchformer.attention import causal_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import table
from scratchformer_course.kit.figure.text_slider import Frame, text_slider
from scratchformer_course.page_model import describe

HEAD = 2  # of the last block, from 0: it looks at the first line of the scene

# a rung's name in the file -> what is told of it
TOLD = {
    "table of pairs": "It counts which character follows which, and looks at one character.",
    "attention": "One head looks at eight characters.",
    "positions": "The head knows where each of the eight is.",
    "four heads": "Four heads look at the eight at once.",
    "feed-forward": "A small network computes with what the heads bring.",
    "residuals": "Heads and network add to what is there, and replace nothing.",
    "two blocks": "All of this twice, each time with weights of its own.",
    "your GPT": "Two blocks look at 64 characters. It has learned for some 20 seconds.",
    "trained for longer": "The same class, with four blocks and 256 characters in view.",
}
NAMED = {"trained for longer": "larger, 45 minutes"}  # on the page
PARTS = {"wpe": "positions", "mlp": "feed-forward", "adds": "plus signs"}  # of a rung
TICKS = (2.2, 2.3, 2.4, 2.5, 2.6)  # losses


def rungs_write(climb: Mapping[str, Any], to_gpt: Mapping[str, Any]) -> LiveFigure:
    """What each of chapter 10's rungs writes.

    `climb` holds `settings` (prompt) and `rungs`, each with name and text; the first of the rungs
    of `to_gpt`, two blocks, comes before the last two of them.
    """
    rungs = [*climb["rungs"][:-2], to_gpt["rungs"]["rungs"][0], *climb["rungs"][-2:]]
    frames = [
        Frame(NAMED.get(r["name"], r["name"]), TOLD[r["name"]], r["text"], at=i / (len(rungs) - 1))
        for i, r in enumerate(rungs)
    ]
    prompt = climb["settings"]["prompt"]
    words = {"prompt": prompt, "slider": "Model", "writer": "the model"}
    return text_slider("rungs_write", frames, **words, compares=True)


def rung_switches(climb: Mapping[str, Any]) -> LiveFigure:
    """The three losses of every combination of the ladder's parts.

    `climb` holds `combinations`, each with n_heads, wpe, mlp, adds and losses, and `rungs`, of
    which the first is the table of pairs.
    """
    combinations = climb["combinations"]
    heads = sorted({c["n_heads"] for c in combinations})
    runs = [[c["n_heads"], *(int(c[p]) for p in PARTS), c["losses"]] for c in combinations]
    settings = {"runs": runs, "heads": heads, "parts": [*PARTS.values()], "ticks": TICKS}
    settings["pairs"] = climb["rungs"][0]["losses"][0]
    rows = [
        (n, *("yes" if part else "" for part in parts), *(f"{loss:.2f}" for loss in losses))
        for n, *parts, losses in runs
    ]
    still = "<p>Where JavaScript runs, these parts are switches.</p>"
    still += table(("heads", *PARTS.values(), "", "losses", ""), rows)
    return LiveFigure("rung_switches", settings, still)


def two_scenes(model: GPT, tokenizer: CharTokenizer, texts: Sequence[str]) -> LiveFigure:
    """Two texts of the reader's: what comes next, what a head looks at, and words to hide."""
    settings = {"prompts": list(texts), "block": len(model.h), "head": 1}
    still = "<p>This figure is live where JavaScript runs: there you type both scenes.</p>"
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text)])
        p, weights = look(model, ids)
        likely = [int(i) for i in p.topk(2).indices]
        rows = [("nothing", "", *(f"{100 * p[i]:.1f} %" for i in likely))]
        for word in re.finditer(r"\S+", text.split("\n")[0]):
            places = range(*word.span())
            without, _ = look(model, ids, places)
            shares = (f"{100 * without[i]:.1f} %" for i in likely)
            weight = weights[HEAD, list(places)].sum()
            rows.append((escape(word.group()), f"{weight:.2f}", *shares))
        named = (escape(tokenizer.decode([i])) for i in likely)
        still += table(("hidden", f"head {settings['block']}.{HEAD + 1}", *named), rows)
    return LiveFigure("two_scenes", settings, still, [describe(model, tokenizer)])


@torch.no_grad()
def look(
    model: GPT, ids: Tensor, hidden: Collection[int] = (), heads_out: Collection[int] = ()
) -> tuple[Tensor, Tensor]:
    """What follows ids (1, T): (V,), and what the last block's heads look at from its end: (H, T).

    `hidden` places get no weight there, and `heads_out` give zeros.
    """
    T, last = ids.shape[1], cast(TransformerBlock, model.h[-1])
    x = model.wte(ids) + model.wpe(torch.arange(T))  # (1, T, C)
    for block in model.h[:-1]:
        x = block(x, causal_mask(T))
    qkv = last.attn.c_attn(last.ln_1(x))[0].view(T, 3, last.attn.n_heads, -1)
    q, k, v = qkv.permute(1, 2, 0, 3)  # (H, T, D) each
    scores = q[:, -1:] @ k.mT / math.sqrt(q.shape[2])  # (H, 1, T)
    scores[..., list(hidden)] = -math.inf
    weights = scores.softmax(dim=2)
    heads = weights @ v  # (H, 1, D)
    heads[list(heads_out)] = 0
    x = x[0, -1] + last.attn.c_proj(heads.flatten())  # (C,)
    x = x + last.mlp(last.ln_2(x))
    return model.lm_head(model.ln_f(x)).softmax(dim=0), weights[:, 0]
