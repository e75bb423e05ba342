"""`explore(model, tokenizer)`: a live view of a model, in a notebook or as a page of its own.

What is shown is a live figure: a table that needs no JavaScript, and the scripts that replace it,
which are the model's description, `model.js`, `tokenizer.js` and the views.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import torch
from torch import Tensor, nn

from scratchformer.generation import generate
from scratchformer.training import eval_mode
from scratchformer_course.kit.figure import LiveFigure
from scratchformer_course.kit.figure.numbers import check_whole
from scratchformer_course.kit.figure.still import plain_table
from scratchformer_course.page_model.description import describe

VIEWS = ("attention", "next", "switches", "lens", "patch")
LARGEST = 20_000_000  # weights: 53 MB in a page, and a second for each token
PROMPT = "ROMEO:\nWhat light through"
LIKELIEST = 5  # next tokens in the figure that needs no JavaScript


def explore(
    model: nn.Module,
    tokenizer: Any,
    prompt: str | None = None,
    text: str | None = None,
    views: Sequence[str] = VIEWS,
    seed: int = 1,
    simple: bool = False,
    altered: str | None = None,
    greedy: int = 0,
) -> LiveFigure:
    """A live view of a GPT of the package, or of your own that is equal to one.

    `prompt` stands in the field at first: a line of Romeo if it is not given, or the first
    character that the tokenizer knows if it cannot read that line. `views` are some of "attention",
    "next" (the next token), "switches" (parts switched off), "lens" (the logit lens) and "patch"
    (activation patching). Losses are of `text`, or of the prompt. `seed` is that of the draws.
    `altered` is a second prompt, of as many tokens: "patch" carries vectors over into its run, and
    "switches" tells what becomes of the answers to both. A `simple` view of the next token
    shows what the model writes, and has all else in a fold; one of the switches has all but blocks
    and heads in a fold. With `greedy` the view of the next token begins with that many likeliest
    tokens, written before anybody presses. Raises ValueError for a prompt that the
    tokenizer cannot read, an unknown view, a model of more than 20 million weights, a seed that is
    no whole number, an `altered` of another length, or one that no view compares, and what
    `describe` refuses.
    """
    unknown = [view for view in views if view not in VIEWS]
    if unknown or not views:
        raise ValueError(f"views={list(views)}, expected some of {', '.join(VIEWS)}")
    if (weights := sum(p.numel() for p in model.parameters())) > LARGEST:
        raise ValueError(f"the model has {weights:,} weights, expected at most {LARGEST:,}")
    description = describe(model, tokenizer)
    if prompt is None:
        prompt = _readable(tokenizer)
    for name, given in (("prompt", prompt), ("text", text), ("altered", altered)):
        if given is not None and not tokenizer.encode(given):
            raise ValueError(f"{name}={given!r}, expected at least one token")
    check_whole("seed", seed)
    prompts = [prompt] if altered is None else [prompt, altered]
    if altered is not None:
        _check_pair(len(tokenizer.encode(prompt)), len(tokenizer.encode(altered)), views)
    settings: dict[str, Any] = {"prompt": prompt, "text": text, "views": list(views), "seed": seed}
    settings |= {"simple": True} if simple else {}
    settings |= {"altered": altered} if altered is not None else {}
    context_length = description["config"]["context_length"]
    ids = torch.tensor([tokenizer.encode(words)[-context_length:] for words in prompts])
    with eval_mode(model):
        logits = model(ids.to(next(model.parameters()).device))[:, -1]
    still = _still(prompts, logits.float().softmax(dim=-1).cpu(), tokenizer)
    if greedy:
        text_ids = generate(model, ids[:1], greedy, temperature=0.0)[0, ids.shape[1] :]
        settings["begun"] = tokenizer.decode(text_ids.tolist())
        still = f"<pre>{escape(prompt + settings['begun'])}</pre>" + still
    return LiveFigure("explorer", settings, still, [description])


def _readable(tokenizer: Any) -> str:
    """A prompt for a reader who gave none."""
    try:
        return PROMPT if tokenizer.encode(PROMPT) else tokenizer.decode([0])
    except ValueError:  # a CharTokenizer of other characters
        return tokenizer.decode([0])


def _check_pair(length: int, other: int, views: Sequence[str]) -> None:
    """Raise ValueError unless some view compares two prompts, and they have equally many tokens."""
    if length != other:
        raise ValueError(f"altered has {other} tokens, expected {length}, as many as the prompt")
    if not {"patch", "switches"} & set(views):
        raise ValueError(f"views={list(views)} do not use altered, expected patch or switches")


def _still(prompts: list[str], p: Tensor, tokenizer: Any) -> str:
    """The likeliest next tokens as PyTorch has them, (n, V): for a page without JavaScript."""
    preface = (
        "Here stands a live view of the model. It needs JavaScript, and in a notebook its cell "
        "has to be run. "
    )
    html = ""
    top = p.topk(min(LIKELIEST, p.shape[-1]))
    for prompt, values, ids in zip(prompts, top.values.tolist(), top.indices.tolist(), strict=True):
        rows = [
            (escape(repr(tokenizer.decode([i]))), f"{value:.1%}")
            for value, i in zip(values, ids, strict=True)
        ]
        html += (
            f"<p>{preface}After {escape(repr(prompt))} the model holds these tokens likeliest:</p>"
        ) + plain_table(("next token", "probability"), rows)
        preface = ""
    return html
