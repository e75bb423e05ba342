"""Checks for the exercises of chapter 17, GPT-2."""

import torch
from torch import Tensor

from scratchformer.checks.first_edition import Call, exercise, expect

MATRICES = ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")
EVERY = "Every block has four matrices to turn, and this is one"


@exercise("17.1", "config")
def count(call: Call) -> str:
    """count(config: Hugging Face's dict) -> the number of parameters of that GPT-2"""
    for V, P, C, H, L in ((50, 8, 12, 3, 2), (100, 32, 20, 4, 5), (50_257, 1024, 768, 12, 12)):
        names = ("vocab_size", "n_positions", "n_embd", "n_head", "n_layer")
        config = dict(zip(names, (V, P, C, H, L), strict=True))
        block = 12 * C * C + 13 * C
        right = (V + P) * C + L * block + 2 * C
        unbiased, narrow = (V + P) * C + L * (12 * C * C + 4 * C) + 2 * C, block - 6 * C * C - 3 * C
        call(config).gives(
            right,
            (right + V * C, "The output head is counted too: it is the token table, a second time"),
            (right - P * C, "The table of positions is missing"),
            (right - V * C, "The table of tokens is missing"),
            (right - 2 * C, "The norm after the last block is missing: 2 n_embd more"),
            (unbiased, "The biases of the four linear layers are missing: 9 n_embd in each block"),
            (right - (4 * L + 2) * C, "The norms are missing: each has a factor and a shift"),
            (
                right - (2 * L + 1) * C,
                "A norm has two vectors, a factor and a shift: one is missing",
            ),
            (right - (L - 1) * block, "One block is counted: there are `n_layer` of them"),
            (
                right - L * (2 * C * C + 2 * C),
                "`c_attn` makes queries, keys and values: it is 3 n_embd wide",
            ),
            (
                right - L * (block - narrow),
                "The feed-forward network is 4 n_embd wide inside, and has two layers",
            ),
            (
                right + L * (H - 1) * (4 * C * C + 4 * C),
                "Counted once for each head: heads share the width, they do not add to it",
            ),
            (right + L * P * P, "The causal masks are in the file, but nothing learns them"),
            (4 * right, "These are the bytes: a parameter takes 4"),
        )
    return "`count` is right for three sizes; the last of them is GPT-2 small, with 124,439,808."


@exercise("17.2", "name")
def what_to_do(call: Call) -> str:
    """what_to_do(name of a tensor in Hugging Face's file) -> "copy", "turn" or "skip" """

    def ask(name: str, right: str, *mistakes: tuple[str, str]) -> None:
        call(name).gives(right, *mistakes)

    said = {
        call(name).like("") for name in ("wte.weight", "h.0.attn.c_attn.weight", "h.0.attn.bias")
    }
    words = said <= {"copy", "turn", "skip"}
    expect(words, f"`{call}` must be one of 'copy', 'turn' and 'skip', got `{call.value!r}`.")
    ask("h.0.attn.c_attn.weight", "turn", ("copy", "Hugging Face keeps this matrix as (in, out)"))
    lost = "A real bias, of queries, keys and values, is lost: its name ends in `attn.bias` as well"
    ask("h.0.attn.c_attn.bias", "copy", ("skip", lost), ("turn", "A vector has nothing to turn"))
    square = "It is square, so its shape tells nothing: it is stored as (in, out) like the others"
    for layer in (0, 7, 11):
        for matrix in MATRICES:
            for prefix in ("", "transformer."):
                name = f"{prefix}h.{layer}.{matrix}.weight"
                prefixed = f"`{prefix}` before a name changes nothing" if prefix else EVERY
                why = square if matrix == "attn.c_proj" and not prefix else prefixed
                ask(name, "turn", ("copy", why), ("skip", "This is a weight: the model needs it"))
            ask(f"h.{layer}.{matrix}.bias", "copy", ("turn", "A vector has nothing to turn"))
    table = "An embedding is a table, one row for each id, in both: it must not be turned"
    for name in ("wte.weight", "wpe.weight", "transformer.wte.weight"):
        ask(name, "copy", ("turn", table), ("skip", "The model needs this table"))
    for name in ("h.0.ln_1.weight", "h.3.ln_2.weight", "ln_f.weight", "h.2.ln_1.bias", "ln_f.bias"):
        ask(name, "copy", ("turn", "A norm has vectors"), ("skip", "Norms are learned too"))
    mask = "This is no bias but the causal mask of a block, and no parameter of ours"
    for name in ("h.0.attn.bias", "transformer.h.11.attn.bias", "h.4.attn.masked_bias"):
        ask(name, "skip", ("copy", mask), ("turn", mask))
    tied = "The head is the token table itself, which is there already: skip it"
    ask("lm_head.weight", "skip", ("copy", tied), ("turn", tied))
    return "`what_to_do` is right for every name in files old and new: 4 kinds of matrix to turn."


@exercise("17.3", "weights")
def break_silently(call: Call) -> str:
    """break_silently(weights: dict of our tensors) -> a dict that fits, its square ones turned"""
    g = torch.Generator().manual_seed(17)
    C, V, P, L = 6, 9, 6, 2  # as many positions as channels: that table is square, too
    shapes = {"wte.weight": (V, C), "wpe.weight": (P, C)}
    for i in range(L):
        block = {"ln_1": (C,), "attn.c_attn": (3 * C, C), "attn.c_proj": (C, C)}
        block |= {"mlp.c_fc": (4 * C, C), "mlp.c_proj": (C, 4 * C)}
        shapes |= {f"h.{i}.{name}.weight": shape for name, shape in block.items()}
    weights = {name: torch.randn(shape, generator=g) for name, shape in shapes.items()}
    square = [f"h.{i}.attn.c_proj.weight" for i in range(L)]
    got: dict[str, Tensor] = call(weights).like(weights, "Return a dict of tensors.")
    expect(got.keys() == weights.keys(), "Return all the tensors, under the same names.")
    for name, tensor in got.items():
        came, was = tuple(tensor.shape), tuple(weights[name].shape)
        why = f"{name} was {was} and is {came} now: the loader compares shapes, and would notice."
        expect(came == was, why)
    changed = [name for name in weights if not torch.equal(got[name], weights[name])]
    expect(changed, "Nothing is broken yet.")
    why = "`wpe.weight` is square here by chance, but it is a table: no file has it the other way."
    expect("wpe.weight" not in changed, why)
    for name in changed:
        expect(name in square, f"{name} is not square: it cannot have been turned and still fit.")
    expect(changed == square, f"One block is left: there are {L}, and {square[-1]} is in the last.")
    for name in square:
        why = f"{name} has changed, but not by turning it: exchange rows and columns."
        expect(torch.equal(got[name], weights[name].T), why)
    return "Broken, and no shape tells: one matrix in each block is square, `attn.c_proj.weight`."


@exercise("17.4", "n, context, stride")
def windows(call: Call) -> str:
    """windows(n, context, stride) -> list of (begin, end, fresh) that scores n predictions once"""

    def cut(n: int, context: int, stride: int) -> list[tuple[int, int, int]]:
        begin, done, found = 0, 0, []
        while done < n:
            end = min(begin + context, n)
            found.append((begin, end, end - done))
            begin, done = begin + stride, end
        return found

    for n, context, stride in ((10, 4, 2), (9, 4, 2), (12, 4, 4), (3, 4, 2), (11, 5, 3), (7, 3, 1)):
        right = cut(n, context, stride)
        full = [(begin, end, end - begin) for begin, end, _ in right]
        greedy = [
            (begin, min(begin + context, n), min(begin + context, n) - max(begin, 0))
            for begin in range(0, n, stride)
        ]
        beyond = [(b, b + context, context if b == 0 else stride) for b, _, _ in right]
        even = [(b, e, stride) for b, e, _ in right]
        late = [(b, min(b + context, n)) for b in range(0, n, stride)]
        idle = [*right, *((b, e, 0) for b, e in late[len(right) :])]
        same = [(b, e, context if b == 0 else stride) for b, e, _ in right]
        call(n, context, stride).gives(
            right,
            (full, "Every prediction of a window counts here: where windows overlap, twice"),
            (greedy, "Windows go on after the last prediction, and score some of them again"),
            (
                idle,
                "Once `end` is n all is scored: windows with nothing fresh cost time, stop there",
            ),
            (beyond, "The last window ends behind the text: `end` is at most n"),
            (even, "Nothing stands before the first window: all its predictions are fresh"),
            (same, "The last window may hold fewer fresh predictions than the stride"),
            (right[:-1], "The last predictions are never scored"),
            (cut(n, context, context), "The stride is not used: a window begins `stride` further"),
            (
                cut(n, stride, stride),
                "These windows are `stride` long: they should reach `context`",
            ),
            ([(b, e) for b, e, _ in right], "Return three numbers for each window"),
            ([(b, e - 1, f) for b, e, f in right], "`end` is not included, as in a slice"),
        )
    return "`windows` is right: every prediction is scored once, and most see a long context."
