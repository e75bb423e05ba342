"""Answers that are right in the usual cases alone, each of a kind that the drawn cases vary.

These are: a far larger case, equal values, another type, an argument that is left out, slopes, and
training. And right answers that other roundings or other places would refuse.
"""

import pytest
import torch
from torch.nn import functional as F

from scratchformer_course.kit.checks.mistakes import edited
from tests.chapters.tables import ALL, PATIENCE

BY_NAME = {exercise.name: exercise for _, exercise in ALL}
DROPS = " -> nn.functional.dropout({}, 0.1, self.training)"
WRONG = {
    "matrix_product": ["in range(len(a)) -> in range(min(8, len(a)))"],
    "pairs_of": ["i + window + 1 -> i + min(window, 5) + 1"],
    "merge_pair": [
        "word[i : i + 2] == pair -> word[i + 1 :] and word[i] + word[i + 1] == pair[0] + pair[1]",
        "word[i] + word[i + 1] -> ''.join(word[i : i + 2])",
        "word[i : i + 2] == pair -> word[i : i + 2] == pair and word[i + 1 : i + 3] != pair",
    ],
    "nearest": [
        "similar[i] = -2 -> similar[i] = -2; similar[16:] = -2",
        "similar[i] = -2 -> pass\n"
        "topk(k).indices -> sort(descending=True, stable=True).indices[1 : k + 1]",
    ],
    "sinusoidal": ["pairs.flatten(1) -> pairs.flatten(1).bfloat16()"],
    "cross_entropy": ["logits.max(dim=1, keepdim=True).values -> logits.max()"],
    "TextNetwork": [
        f"self.hidden(joined).relu(){DROPS.format('self.hidden(joined).relu()')}",
        "flatten(1) -> flatten(1).float()",
        ".relu()) -> .relu()).squeeze(0)",
    ],
    "masked_softmax": ["-math.inf -> -1e9"],
    "fading_scores": ["- torch.arange(T) -> - torch.arange(T); back = back.clamp(max=8)"],
    "attention": [
        "mask=None -> mask",
        "weights @ v, weights -> weights @ v, weights.detach()",
        "-math.inf -> -1e9",
        "masked_fill(~mask, -> masked_fill((~mask) | (scores == 0),",
    ],
    "MultiHeadAttention": [f"heads.reshape(x.shape){DROPS.format('heads.reshape(x.shape)')}"],
    "split_heads": [
        "x.view(B, T, n_heads, C // n_heads) -> "
        "x.as_strided((B, T, n_heads, C // n_heads), (T * C, C, C // n_heads, 1))"
    ],
    "rotate": ["a, b = pair -> a, b = pair; angle = angle % math.pi if angle > 0 else angle"],
    "rotary": ["outer(positions, -> outer(positions.bfloat16().float(),"],
    "ignores_the_start": [
        "at_0, at_100 -> at_0.mean(0), at_100.mean(0)",
        "at_0, at_100 -> at_0.sort(0).values, at_100.sort(0).values",
        "at_0, at_100 -> at_0[0], at_100[0]",
    ],
    "FeedForward": [
        f"self.c_fc(x){DROPS.format('self.c_fc(x)')}",
        "self.c_fc(x) -> self.c_fc(x).clamp(max=6)",
        "self.c_fc(x) -> self.c_fc(x.view(-1, x.shape[-1]))",
    ],
    "layer_norm": ["variance + eps -> variance.detach() + eps"],
    "TransformerBlock": [
        f"self.ln_2(x){DROPS.format('self.ln_2(x)')}",
        "mask=mask -> mask=None if mask is None else causal_mask(x.shape[1])",
    ],
    "bigram_counts": [
        "ids[:-1] * vocab_size -> (ids[:-1] * vocab_size).short()",
        ".float() -> .short().float()",
        ".float() -> .half()",
    ],
    "GPT": ["std=0.02) -> std=0.02 if p.shape[0] != d_model else 0.01)"],
    "sample_next": [
        "logits / temperature -> logits / min(temperature, 2)",
        "(logits / temperature, dim=-1) -> (logits, dim=-1) ** (1 / temperature)",
        "torch.multinomial(p -> torch.multinomial(p.where(p >= p.topk(min(50, len(p)))[0][-1], 0)",
    ],
    "only_the_king": ["= 12 -> = 1200\n-30.0 -> -3590.0"],
    "warmup_cosine": [
        " / 2 -> / 2 if warmup else lr",
        "progress = ( -> progress = warmup / warmup * (",
    ],
    "update": [
        "in batches -> in batches[:3]",
        "optimizer.step() -> torch.optim.SGD(model.parameters(), 0.5).step()",
    ],
    "surest_gap": [
        "int(p.masked_fill -> "
        "int((2 * p - logits[0].softmax(-1).topk(2).values.sum(-1)).masked_fill",
        "logits[0].softmax(dim=-1) -> (logits[0].exp() / logits[0].exp().sum(-1, keepdim=True))",
        "logits[0].softmax(dim=-1) -> logits[0].softmax(dim=-1).round(decimals=2)",
    ],
    "cached_step": ["q @ keys.T -> q @ keys[-9:].T\n@ values, -> @ values[-9:],"],
    "DecoderBlock": [
        f"self.mlp(x){DROPS.format('self.mlp(x)')}",
        "mask=mask -> mask=torch.ones_like(mask).tril()",
    ],
    "gpt_parameters": [
        "return (vocab -> from ctypes import c_float; return int(c_float((vocab\n"
        "+ 2 * C -> + 2 * C).value)"
    ],
    "largest_batch": ["max(0, left -> max(int(left >= 0), left"],
    "find_floor": [
        ".sum() -> .sum().round(3)",
        "min(floors -> min([E for E in floors if E] or floors",
    ],
    "best_size": ["law(N, operations / (6 * N))) -> abs(law(N, operations / (6 * N))))"],
    "smear": ["x.clone() -> x.detach().clone()", "enumerate(matrices, -> enumerate(matrices[:6],"],
    "rms_norm": [
        "x.float() -> x.detach().float()",
        "weight * (wide -> (weight.float() * wide",
    ],
    "look_up": ["range(len(ids) - 3, -1, -1) -> range(len(ids) - 3, max(-1, len(ids) - 35), -1)"],
    "accepted": [
        "in enumerate(draft) -> in enumerate(draft[:8])\nlen(draft), -> len(draft[:8]),",
        ">= p[i, token] -> > p[i, token]",
    ],
    "future_changes_nothing": [
        "logits = model(ids) -> ids = ids[:1]; logits = model(ids)",
        "(beginning - logits[:, :t]) -> (beginning - logits[:, :t]).sum(-1)",
        "beginning - logits[:, :t] -> beginning.softmax(-1) - logits[:, :t].softmax(-1)",
    ],
    "cache_difference": [
        "model(ids) -> model(ids, model.new_cache())",
        "(both[0] - both[1]).abs() -> (both[0] - both[1])",
        "(both[0] - both[1]).abs() -> (both[0] - both[1])[:, 1:].abs()",
        "return -> return 0.0 if both[0].argmax(-1).equal(both[1].argmax(-1)) else",
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in WRONG.items() for change in changes]
)
def test_an_answer_that_is_right_in_the_usual_cases_alone_is_refused(name, change):
    exercise = BY_NAME[name]
    assert not exercise(edited(exercise.right, change), limit=PATIENCE)


def of_each_text(model, ids):
    """Each text with a cache of its own, beside the others."""
    caches, logits = [model.new_cache() for _ in ids], []
    for t in range(ids.shape[1]):
        rows = [model(ids[b : b + 1, t : t + 1], cache) for b, cache in enumerate(caches)]
        logits.append(torch.cat(rows))
    return (torch.cat(logits, dim=1) - torch.cat([model(row[None]) for row in ids])).abs().max()


def in_one_slice(x, source, place, head, n_heads):
    x, D = x.clone(), x.shape[-1] // n_heads
    place = slice(place, place + 1)  # where -1 would be an empty one
    x[:, place, D * (head - 1) : D * head] = source[:, place, D * (head - 1) : D * head]
    return x


def by_angles_in_double_precision(x, positions):
    D = x.shape[-1]
    angles = positions.double()[:, None] / 10_000.0 ** (torch.arange(0, D, 2).double() / D)
    turns = torch.polar(torch.ones_like(angles), angles).to(torch.complex64)
    return torch.view_as_real(torch.view_as_complex(x.unflatten(-1, (-1, 2))) * turns).flatten(-2)


def by_batched_products(v, u, n):
    pull, push = (-(v * u).sum(1)).sigmoid()[:, None], (n @ v[:, :, None]).sigmoid()
    return pull * u - (push * n).sum(1), pull * v, -push * v[:, None]


def by_trying_widths(d_model, multiple):
    width = multiple
    while 3 * width * d_model < 8 * d_model * d_model:
        width += multiple
    return width


def block_by_block(vocab_size, context_length, C, n_layers):
    if n_layers == 0:
        return (vocab_size + context_length + 2) * C
    rest = block_by_block(vocab_size, context_length, C, n_layers - 1)
    return rest + 12 * C**2 + 13 * C


def in_double_precision(chosen, rejected, chosen_start, rejected_start, beta):
    gain = (chosen - chosen_start).double() - (rejected - rejected_start)
    return -F.logsigmoid(beta * gain).mean()


RIGHT = [
    ("erase", lambda x, d: x - x @ d.T @ torch.linalg.inv(d @ d.T) @ d),
    ("erase", lambda x, d: x - x @ d.T @ torch.linalg.solve(d @ d.T, d)),
    ("erase", lambda x, d: x - (d.T @ torch.linalg.lstsq(d.T, x.T).solution).T),
    ("patch", in_one_slice),
    ("cache_difference", of_each_text),
    ("rotary", by_angles_in_double_precision),
    ("cross_entropy", lambda logits, targets: F.cross_entropy(logits.double(), targets)),
    ("layer_norm", lambda x, weight, bias, eps: F.layer_norm(x, x.shape[-1:], weight, bias, eps)),
    ("masked_softmax", lambda s, mask: s.masked_fill(~mask, torch.finfo(s.dtype).min).softmax(1)),
    ("moves", by_batched_products),
    ("gpt_parameters", block_by_block),
    ("swiglu_width", by_trying_widths),
    ("dpo_loss", in_double_precision),
]


@pytest.mark.parametrize(("name", "answer"), RIGHT)
def test_another_right_way_passes_with_other_seeds_too(name, answer, monkeypatch):
    exercise = BY_NAME[name]
    more = exercise.more if callable(exercise.more) else lambda start: exercise.more
    for start in (0, 1000, 2000):
        monkeypatch.setattr(exercise, "more", more(start=start))
        verdict = exercise(answer, limit=PATIENCE)
        assert verdict, (start, verdict)


def test_the_future_may_be_looked_for_in_one_text_at_a_time():
    exercise = BY_NAME["future_changes_nothing"]

    def text_by_text(model, ids):
        return all(exercise.right(model, row[None]) for row in ids)

    verdict = exercise(text_by_text, limit=PATIENCE)
    assert verdict, verdict
