"""An answer of SmolLM2, and the model opened at one of its words -> measurements/real_talk.json.

Usage: python -m lab.real_talk [--quick | --write]

This is what the page *Talk* shows before its reader loads the model. QUESTION is answered as by
`chat`, and each token has the TOP likeliest of its place. Where WORD is due, `attention` has the
last token's weights: a text for each block, head after head, with two digits of base 36 a weight,
from 00 for 0 to ZZ for 1. `lens` has the LENS likeliest tokens after each block, from 0, and
`without` the beginnings of answers while one of BLOCKS adds nothing.
"""

import argparse
from contextlib import ExitStack
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab import runs
from lab.inside import recorded
from scratchformer.attention import recorded_attention
from scratchformer.generation import chat
from scratchformer.generation.conversation import SYSTEM
from scratchformer.models import Llama
from scratchformer.tokenizers import ByteBPE

MODEL, QUESTION, WORD = "smollm2-135m-instruct", "What is the capital of France?", " Paris"
TEMPLATE = (
    "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
)
MOST = 36**2 - 1  # two digits of base 36
TOP, LENS, BLOCKS, SHORT = 10, 3, (1, 24, 28), 9
SETTINGS = runs.settings_of(globals(), "MODEL QUESTION WORD TOP LENS BLOCKS SHORT")


@torch.no_grad()
def measure(options: argparse.Namespace) -> dict:
    model, tok = Llama.pretrained(MODEL), ByteBPE.pretrained(MODEL)
    prompt = tok.encode(TEMPLATE.format(SYSTEM, QUESTION), allow_special=True)
    answer = tok.encode(chat(model, tok, QUESTION))
    without = {}
    for block in BLOCKS:
        hook = model.layers[block - 1].register_forward_hook(lambda _, given, output: given[0])
        without[block] = chat(model, tok, QUESTION, max_new_tokens=SHORT)
        hook.remove()
    with ExitStack() as stack:
        weights = stack.enter_context(recorded_attention(model))
        streams = [stack.enter_context(recorded(model.layers[0], inputs=True))]
        streams += [stack.enter_context(recorded(layer)) for layer in model.layers]
        logits = model(torch.tensor([prompt + answer]))[0]

    def likeliest(logits: Tensor, n: int) -> list[dict[str, Any]]:
        best = logits.softmax(dim=-1).topk(n)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [{"id": i, "text": tok.decode([i]), "p": round(p, 4)} for i, p in pairs]

    def digits(weight: float) -> str:
        return np.base_repr(round(MOST * weight), 36).zfill(2)

    tops = [likeliest(row, TOP) for row in logits[len(prompt) - 1 : -1]]
    assert [top[0]["id"] for top in tops] == answer, "the answer is read as it was written"
    word = answer.index(tok.encode(WORD)[0])
    t = len(prompt) + word - 1  # the last token that was read then
    rows = [layer[0, :, t, : t + 1] for layer in weights.values()]  # (H, S) of each block
    steps = zip(answer, tops, strict=True)
    return {
        "prompt": {"ids": prompt, "pieces": [tok.decode([i]) for i in prompt]},
        "answer": [{"id": i, "text": tok.decode([i]), "top": top} for i, top in steps],
        "word": word,
        "attention": ["".join(digits(w) for w in row.flatten().tolist()) for row in rows],
        "without": without,
        "lens": [likeliest(model.lm_head(model.norm(x[0, t])), LENS) for (x,) in streams],
    }  # fmt: skip


main = runs.script(__doc__, "real_talk", measure, SETTINGS, threads=1)


if __name__ == "__main__":
    main()
