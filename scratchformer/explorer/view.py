"""`explore(model, tokenizer)`: a live view of a model, in a notebook or as a page of its own.

What is shown is a figure that needs no JavaScript, and the scripts that replace it: the model's
description, `model.js`, `tokenizer.js` and the views. Nothing is asked of a server. A page with
several views shares one description, by its hash.
"""

import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from scratchformer.explorer.export import describe
from scratchformer.files import atomic_write
from scratchformer.training import eval_mode

FOLDER = Path(__file__).parent
VIEWS = ("attention", "next", "switches", "lens")
LARGEST = 20_000_000  # weights: 53 MB in a page, and a second for each token
LIKELIEST = 5  # next tokens in the figure that needs no JavaScript

STORED = "SCRATCHFORMER_EXPLORER"  # = stored: outputs hold no scripts, the site brings them
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>:root {{ color-scheme: light dark;
  --course-query: light-dark(#0067a5, #6fbaf2); --course-key: light-dark(#b34700, #f6a065);
  --course-value: light-dark(#007a55, #52d1a8); --course-stream: light-dark(#5b4bb5, #b5a9ff); }}
html {{ background: Canvas; color: CanvasText; }} body {{ margin: 1rem; }}</style>
<main>{body}</main></html>
"""


class Explorer:
    """A live view: a notebook shows it, `save` writes it as a page that works from disk."""

    def __init__(self, description: dict[str, Any], settings: dict[str, Any], figure: str):
        self.description, self.settings, self.figure = description, settings, figure

    def _repr_html_(self) -> str:
        return self.placeholder() if os.environ.get(STORED) == "stored" else self.html()

    def placeholder(self) -> str:
        """What a stored output holds: the figure, and the hash of the description it asks for."""
        return (
            f'<div class="scratchformer-explorer" data-model="{self.description["hash"]}" '
            f'data-settings="{escape(json.dumps(self.settings))}">{self.figure}</div>'
        )

    def html(self) -> str:
        """The view with all that it needs."""
        scripts = f"{library()}\n{description_script(self.description)}\n{START}"
        scripts = scripts.replace("</", r"<\/")  # no text in them may end the script
        return f"{self.placeholder()}<style>{stylesheet()}</style><script>{scripts}</script>"

    def save(self, path: str | Path, title: str = "A model, live") -> None:
        """Write a page of its own, that any browser opens from disk."""
        page = PAGE.format(title=escape(title), body=self.html())
        with atomic_write(path) as part:
            part.write_text(page, encoding="utf-8")


START = "scratchformerExplorer.start();"


def explore(
    model: nn.Module,
    tokenizer: Any,
    prompt: str = "ROMEO:\nWhat light through",
    text: str | None = None,
    views: Sequence[str] = VIEWS,
    seed: int = 1,
) -> Explorer:
    """A live view of a GPT of the package, or of your own that is equal to one.

    `prompt` stands in the field at first. `views` are some of "attention", "next" (the next token),
    "switches" (parts switched off) and "lens" (the logit lens). Losses are of `text`, or of the
    prompt. `seed` is that of the draws. Raises ValueError for a prompt that the tokenizer cannot
    read, an unknown view, a model of more than 20 million weights, and what `describe` refuses.
    """
    unknown = [view for view in views if view not in VIEWS]
    if unknown or not views:
        raise ValueError(f"views={list(views)}, expected some of {', '.join(VIEWS)}")
    if (weights := sum(p.numel() for p in model.parameters())) > LARGEST:
        raise ValueError(f"the model has {weights:,} weights, expected at most {LARGEST:,}")
    description = describe(model, tokenizer)
    for name, given in (("prompt", prompt), ("text", text)):
        if given is not None and not tokenizer.encode(given):
            raise ValueError(f"{name}={given!r}, expected at least one token")
    settings = {"prompt": prompt, "text": text, "views": list(views), "seed": seed}
    context_length = description["config"]["context_length"]
    ids = torch.tensor([tokenizer.encode(prompt)[-context_length:]])
    with eval_mode(model):
        logits = model(ids.to(next(model.parameters()).device))[0, -1]
    figure = _figure(prompt, logits.float().softmax(dim=-1).cpu(), tokenizer)
    return Explorer(description, settings, figure)


def library() -> str:
    """All the JavaScript: the model, the tokenizers and the views."""
    names = ("model.js", "tokenizer.js", "views/shell.js", *(f"views/{view}.js" for view in VIEWS))
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names)


def stylesheet() -> str:
    """How the views look; the colours are the page's where it has them."""
    return (FOLDER / "style.css").read_text(encoding="utf-8")


def description_script(description: dict[str, Any]) -> str:
    """JavaScript that gives a page this description, if it has not got it yet."""
    told = json.dumps(description).replace("<", r"\u003c")
    return f'scratchformerDescriptions["{description["hash"]}"] ??= {told};'


def _figure(prompt: str, p: Tensor, tokenizer: Any) -> str:
    """The likeliest next tokens as PyTorch has them: for a page without JavaScript."""
    rows = "".join(
        f"<tr><td>{escape(repr(tokenizer.decode([i])))}</td><td>{value:.1%}</td></tr>"
        for value, i in zip(*map(Tensor.tolist, p.topk(min(LIKELIEST, len(p)))), strict=True)
    )
    return (
        "<p>Here stands a live view of the model. It needs JavaScript, and in a notebook its cell "
        f"has to be run. After {escape(repr(prompt))} the model holds these tokens likeliest:</p>"
        "<table><thead><tr><th>next token</th><th>probability</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
