"""Heads of the shipped GPT that are taken out or look elsewhere, and the 270 heads of SmolLM2."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from scratchformer.attention import causal_mask, scaled_dot_product_attention
from scratchformer.generation import generate
from scratchformer.models import GPT
from scratchformer.positions import sinusoidal
from scratchformer_course.ch07_multi_head.exercises import right_previous_word
from scratchformer_course.kit.figure.live_figure import LiveFigure
from scratchformer_course.kit.figure.still import RECORDED, still_chances, table
from scratchformer_course.measurements import load_measurements
from scratchformer_course.page_model import describe, explore

SIZES = {"n_layers": 30, "n_heads": 9}
HEAD = 0, 2  # the block and the head, from 0: head 1.3
Look = Callable[[int], Tensor]  # a number of places -> a map (T, T)


def heads_out(model: GPT, tokenizer: Any, text: str) -> LiveFigure:
    """The explorer's switches, where the head is off at first that the text needs most."""
    figure = explore(model, tokenizer, text, views=["switches"], simple=True)
    figure.settings["off"] = [[n + 1 for n in HEAD]]
    return figure


def transplant(model: GPT, tokenizer: Any, text: str) -> LiveFigure:
    """Head 1.3 looks where the reader says, or where a clock sends it that the reader sets."""
    ids = torch.tensor([tokenizer.encode(text)])
    rows = []
    for name, look in LOOKS.items():
        with looking(model, look), torch.no_grad():
            loss = cross_entropy(model(ids)[0, :-1], ids[0, 1:]).item()
            n_new = 40 if name in ("two back", "mine") else 1
            new = generate(model, ids, n_new, temperature=0, use_cache=False)[0, ids.shape[1] :]
        written = " ".join(tokenizer.decode(new.tolist()).split())
        rows.append((name, f"{loss:.1f}", escape(written)))
    still = "<p>JavaScript brings this figure to life.</p>" + table(
        ("head 1.3 looks at", "loss", "it writes"), rows
    )
    names = [*LOOKS]
    settings = {"head": HEAD, "looks": names, "chosen": names.index("two back"), "prompt": text}
    settings |= {"back": 1, "times": 30}  # the worked answer of exercise 7.2
    return LiveFigure("transplant", settings, still, [describe(model, tokenizer)])


def back(n: int) -> Look:
    """Each place looks at the one n places before it, or at the first."""
    return lambda T: torch.eye(T)[(torch.arange(T) - n).clamp(min=0)]


def by_clock(T: int) -> Tensor:
    """Each place looks where the worked answer of exercise 7.2 sends it."""
    q, k = (sinusoidal(T, 32) @ W for W in right_previous_word(32))
    return scaled_dot_product_attention(q, k, k, causal_mask(T))[1]


LOOKS: dict[str, Look | None] = {
    "its own": None,
    "one back": back(1),
    "two back": back(2),
    "itself": back(0),
    "nothing": lambda T: torch.zeros(T, T),
    "mine": by_clock,
}


@contextmanager
def looking(model: GPT, look: Look | None) -> Iterator[None]:
    """Inside it, head 1.3 looks where `look` says, and what it finds are its own values."""
    attention: Any = model.h[HEAD[0]].attn
    C = attention.c_proj.in_features
    D = C // model.config.n_heads
    channels = slice(HEAD[1] * D, (HEAD[1] + 1) * D)
    values: list[Any] = []

    def exchange(module, inputs):
        heads = inputs[0].clone()  # (B, T, C)
        if look:
            heads[..., channels] = look(heads.shape[1]) @ values[-1][..., channels]
        return (heads,)

    hooks = [
        attention.c_attn.register_forward_hook(lambda *all: values.append(all[2][..., 2 * C :])),
        attention.c_proj.register_forward_pre_hook(exchange),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def all_heads() -> LiveFigure:
    """All heads, with the one switched off that the recorded line's end depends on."""
    stored = load_measurements("real_endings")
    found, kinds = stored["heads"], [*stored["settings"]["kinds"], "none of these"]
    name = ".".join(map(str, found["chosen"]))
    recorded = {key: found[key] for key in ("text", "pieces", "kinds", "chosen", "next")}
    recorded["maps"] = {name: found["map"]}
    still = f"{RECORDED}<p>{escape(found['text'])}</p>"
    still += still_chances(("with all heads", f"without {name}"), found["next"])
    settings = {"sizes": SIZES, "kinds": kinds, "recorded": recorded}
    return LiveFigure("all_heads", settings, still)
