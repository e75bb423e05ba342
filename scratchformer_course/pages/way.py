"""The way from a text to its next token, in six pictures that hold a shipped model's numbers."""

from html import escape
from typing import Any

import torch
from torch import Tensor

from scratchformer.attention import recorded_attention
from scratchformer.models import GPT
from scratchformer.tokenizers import CharTokenizer

CELL = 16  # units of a square in a picture


def way_pictures(name: str, prompt: str) -> list[str]:
    """Tokens, vectors, attention, blocks, probabilities, the longer text: as SVG."""
    model, tokenizer = GPT.pretrained(name).eval(), CharTokenizer.pretrained(name)
    ids = tokenizer.encode(prompt)
    read: dict[str, Any] = {}
    hook = model.h[0].register_forward_pre_hook(lambda _, args: read.update(x=args[0][0]))
    with torch.no_grad(), recorded_attention(model) as weights:
        p = model(torch.tensor([ids]))[0, -1].softmax(dim=-1)
    hook.remove()
    letters = [tokenizer.decode([i]).replace(" ", "␣") for i in ids]
    heads = [head for block in range(len(model.h)) for head in weights[f"h.{block}.attn"][0]]
    before, spread = max(heads, key=on_the_one_before), max(heads, key=entropy)
    values, best = (t.tolist() for t in p.topk(5))
    likeliest = [(tokenizer.decode([i]), value) for i, value in zip(best, values, strict=True)]
    return [
        draw_tokens(letters, ids),
        draw_vectors(read["x"][:, :6].T.tolist()),
        draw_attention([before.tolist(), spread.tolist()]),
        draw_blocks(len(model.h)),
        draw_probabilities(likeliest),
        draw_longer(prompt, likeliest[0][0]),
    ]


def on_the_one_before(weights: Tensor) -> float:
    """How much a head's positions look at the position before them."""
    return weights.diagonal(offset=-1).mean().item()


def entropy(weights: Tensor) -> float:
    """How widely a head's positions look."""
    return -weights.clamp(min=1e-9).log().mul(weights).sum().item()


def picture(width: float, height: float, shapes: str, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'role="img" aria-label="{escape(label)}">{shapes}</svg>'
    )


def word(x: float, y: float, text: str, anchor: str = "middle", kind: str = "") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" dy=".35em" text-anchor="{anchor}" class="{kind}">'
        f"{escape(text)}</text>"
    )


def cell(x: float, y: float, size: float, colour: str, opacity: float) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{size:g}" height="{size:g}" '
        f'fill="var(--course-{colour})" fill-opacity="{opacity:.2f}"/>'
    )


def draw_tokens(letters: list[str], ids: list[int]) -> str:
    shapes, in_a_row = "", 8
    top = 0 if len(ids) > in_a_row else 22
    for i, (letter, number) in enumerate(zip(letters, ids, strict=True)):
        row, column = divmod(i, in_a_row)
        x, y = 27 * column + 13, top + 50 * row
        shapes += (
            f'<rect x="{x - 10:g}" y="{y}" width="20" height="24" rx="3" '
            'class="course-token-box"/>' + word(x, y + 12, letter, kind="course-mono")
        )
        shapes += word(x, y + 35, str(number))
    label = "the tokens " + ", ".join(f"{a} is {b}" for a, b in zip(letters, ids, strict=True))
    return picture(220, 96, shapes, label)


def draw_vectors(rows: list[list[float]]) -> str:
    largest, step = max(abs(number) for row in rows for number in row), 220 / len(rows[0])
    size = min(step, CELL) - 1
    shapes = "".join(
        cell(step * j, CELL * i, size, "stream" if number > 0 else "key", abs(number) / largest)
        for i, row in enumerate(rows)
        for j, number in enumerate(row)
    )
    label = f"the first {len(rows)} numbers of each token's vector, as squares of two colours"
    return picture(220, CELL * len(rows), shapes, label)


def draw_attention(heads: list[list[list[float]]]) -> str:
    size = 96 / len(heads[0])
    shapes = "".join(
        cell(size * j + 120 * k, size * i, size - 1, "query", max(weight, 0.04))
        for k, weights in enumerate(heads)
        for i, row in enumerate(weights)
        for j, weight in enumerate(row[: i + 1])
    )
    label = "the weights of two heads, two triangles of squares: one bright below its diagonal"
    return picture(220, 96, shapes, label)


def draw_blocks(n_blocks: int) -> str:
    step = 220 / n_blocks
    shapes = '<path class="course-arrow" d="M0 48H220"/>'
    for i in range(n_blocks):
        for y, colour in ((22, "query"), (52, "value")):
            shapes += (
                f'<rect x="{step * i + 6:g}" y="{y}" width="{step - 12:g}" height="22" rx="4" '
                f'class="course-part-box" style="--colour: var(--course-{colour})"/>'
            )
        shapes += word(step * (i + 0.5), 86, str(i + 1))
    label = f"{n_blocks} blocks in a row, each with attention and a feed-forward network"
    return picture(220, 96, shapes, label)


def draw_probabilities(likeliest: list[tuple[str, float]]) -> str:
    shapes, largest = "", likeliest[0][1]
    for i, (token, p) in enumerate(likeliest):
        y = 10 + 19 * i
        shapes += word(14, y, visible(token), kind="course-mono")
        shapes += (
            f'<rect x="30" y="{y - 7}" width="{124 * p / largest:.1f}" height="14" rx="2" '
            'fill="var(--course-query)"/>'
        )
        shapes += word(162, y, f"{100 * p:.1f} %", "start")
    label = "the likeliest next tokens: " + ", ".join(
        f"{visible(token)} {100 * p:.1f} %" for token, p in likeliest
    )
    return picture(220, 96, shapes, label)


def draw_longer(prompt: str, token: str) -> str:
    shapes = word(4, 36, prompt.replace(" ", "␣"), "start", "course-mono course-large")
    x = 4 + 9.7 * len(prompt)
    shapes += (
        f'<rect x="{x + 2:g}" y="22" width="18" height="28" rx="3" class="course-token-box"/>'
        + word(x + 11, 36, visible(token), kind="course-mono course-large")
    )
    shapes += (
        f'<path class="course-arrow" d="M{x + 11:g} 54V74Q{x + 11:g} 82 {x:g} 82H20'
        'Q12 82 12 74V55M7 62L12 54L17 62"/>'
    )
    label = f"the text {prompt!r} with {visible(token)} behind it, and an arrow back to its start"
    return picture(220, 96, shapes, label)


def visible(token: str) -> str:
    return token.replace(" ", "␣").replace("\n", "⏎")
