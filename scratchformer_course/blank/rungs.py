"""The ladder, from the first pair of bytes to a published model that answers.

Most rungs are the exercises' tables. The others compare with PyTorch, tiktoken, transformers, a
table of counts, or the course's own classes.
"""

from __future__ import annotations

import importlib.util
import math
import tempfile
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from scratchformer.data import load_corpus
from scratchformer.data.real_model import find_real_model
from scratchformer.diagnosis import diagnose
from scratchformer.generation.conversation import SYSTEM
from scratchformer.models.llama import Llama, LlamaConfig, SwiGLU
from scratchformer.models.ngram import KneserNey
from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer_course.blank.draw import DRAW
from scratchformer_course.blank.ladder import RUNGS, NotHere, from_table, rung
from scratchformer_course.kit.checks import Wrong, exercise, expect
from scratchformer_course.kit.checks.cases import drawn, normal
from scratchformer_course.kit.checks.compare import brief

__all__ = ["RUNGS", "STAGES"]
STAGES = {
    "text": 5,
    "attention": 8,
    "a GPT": 12,
    "writing": 5,
    "a published model": 6,
}  # rungs of each
TEXTS = ("the cat and the hat: the rat sat.", "Ein Löwe läuft — 12 km.\n\n", "🎭 act 3, scene  2")
VERSE = "To be, or not to be, that is the question: whether to be or to bear it.\n" * 3


def expect_equal(got: Any, right: Any, what: str, most: float = 1e-4) -> float:
    """Raise `Wrong` unless a tensor has the right shape and differs by at most `most`."""
    expect(isinstance(got, torch.Tensor), f"{what} is `{brief(got)}`, and a tensor is expected.")
    shapes = tuple(got.shape), tuple(right.shape)
    expect(shapes[0] == shapes[1], f"{what} has shape {shapes[0]}, expected {shapes[1]}.")
    apart = (got.detach().double() - right.double()).abs().max().item()
    expect(apart <= most, f"{what}: off by up to {apart:.3g}, and rounding is at most {most:g}.")
    return apart


# --- text ----------------------------------------------------------------------------------------

from_table("Count pairs of neighbours", "tokenizer.py", "1.1")
from_table("Merge a pair", "tokenizer.py", "1.2")


@rung("tokenizer.py", "train", chapter="01")
def merges(train: Any) -> str:
    """Learn merges from a text."""
    for text, n in ((VERSE, 25), ("".join(TEXTS) * 2, 12)):
        right = ByteBPE.train(text, 256 + n)
        tokens = [right.token_bytes(i) for i in range(256 + n)]
        got = train(text, n)
        expect(isinstance(got, list), f"`train` returned `{brief(got)}`: a list is expected.")
        expect(len(got) == 256 + n, f"There are {len(got)} tokens, expected 256 + {n}.")
        for i, (mine, expected) in enumerate(zip(got, tokens, strict=True)):
            mended = "Of pairs that are as frequent, the first seen wins." if i > 256 else ""
            expect(mine == expected, f"Token {i} is `{mine!r}`, expected `{expected!r}`. {mended}")
    return "the same merges as the course's tokenizer."


from_table("Encode and decode", "tokenizer.py", "1.4")


@rung("tokenizer.py", "ByteTokenizer", chapter="01")
def published_ids(ByteTokenizer: Any) -> str:
    """The ids of a published tokenizer."""
    try:
        right, whose = ByteBPE.from_tiktoken("gpt2"), "GPT-2's"
    except (OSError, ValueError, ImportError):
        right, whose = ByteBPE.train(VERSE, 300), "the course's"
    plain = right.vocab_size - len(right.special_tokens)
    mine = ByteTokenizer([right.token_bytes(i) for i in range(plain)])
    for text in (*TEXTS, VERSE, "naïve café 😀", "\ud7ff x"):
        got, ids = mine.encode(text), right.encode(text)
        expect(got == ids, f"`encode({text[:30]!r})` is {brief(got)}, and {whose} is {brief(ids)}.")
        expect(mine.decode(got) == text, f"`decode` does not give {text[:30]!r} back.")
    return f"the same ids as {whose}, {plain:,} tokens."


# --- attention -----------------------------------------------------------------------------------


@rung("attention.py", "causal_mask", chapter="05")
def masks(causal_mask: Any) -> str:
    """A causal mask."""
    for T in (1, 2, 5):
        mask, right = causal_mask(T), torch.ones(T, T).tril().bool()
        is_mask = isinstance(mask, torch.Tensor) and mask.dtype == torch.bool
        expect(is_mask, f"`causal_mask({T})` is `{brief(mask)}`: expected (T, T) of type bool.")
        expect_equal(
            mask.int(), right.int(), f"`causal_mask({T})` (True = may look, itself too)", 0.0
        )
    return "each position looks at itself and what came before."


from_table("Softmax under a mask", "attention.py", "5.2")
from_table("Attention", "attention.py", "6.3")


@rung("attention.py", "attention", chapter="06")
def as_pytorch(attention: Any) -> str:
    """Attention equal to PyTorch's."""
    q, k, v = torch.randn(3, 2, 4, 9, 8).unbind()
    for mask in (None, torch.ones(9, 9).tril().bool()):
        right = F.scaled_dot_product_attention(q, k, v, mask)
        apart = expect_equal(attention(q, k, v, mask)[0], right, "The context", 1e-5)
    return f"the largest difference is {apart:.1e}."


from_table("Split into heads", "attention.py", "7.3")
from_table("Multi-head attention", "attention.py", "7.4")


@rung("attention.py", "MultiHeadAttention", chapter="07")
def as_pytorch_heads(MultiHeadAttention: Any) -> str:
    """Multi-head attention equal to PyTorch's."""
    theirs, mine = nn.MultiheadAttention(12, 3, batch_first=True), MultiHeadAttention(12, 3)
    nn.init.normal_(theirs.in_proj_bias)
    pairs = {
        "c_attn.weight": theirs.in_proj_weight,
        "c_attn.bias": theirs.in_proj_bias,
        "c_proj.weight": theirs.out_proj.weight,
        "c_proj.bias": theirs.out_proj.bias,
    }
    mine.load_state_dict(pairs, strict=False)
    x, mask = torch.randn(2, 7, 12), torch.ones(7, 7).tril().bool()
    right, _ = theirs(x, x, x, attn_mask=~mask)  # theirs: True = may not
    return f"the largest difference is {expect_equal(mine(x, mask), right, 'The output'):.1e}."


def right_rotate_halves(x, positions, base=10_000.0):
    D = x.shape[-1]
    angle = torch.outer(positions.to(x.dtype), base ** -(torch.arange(0, D, 2) / D).to(x.dtype))
    a, b = x.chunk(2, dim=-1)
    turned = (a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin())
    return torch.cat(turned, dim=-1)


def neighbours_turned(x, positions, base=10_000.0):
    halves = torch.cat((x[..., ::2], x[..., 1::2]), dim=-1)
    a, b = right_rotate_halves(halves, positions, base).chunk(2, dim=-1)
    return torch.stack((a, b), dim=-1).flatten(-2)


def _turned(draw):
    T, D = draw.size(1, 6, 20), 2 * draw.size(1, 4, 16)
    return normal(draw, 2, T, D), torch.arange(T) + draw.randint(0, 9), draw.choice([1e4, 1e5])


ROTATION = exercise(
    "8.2",
    "rotate_halves(x: (…, T, D), positions: (T,), base) -> (…, T, D)",
    cases=((torch.eye(4)[None], torch.arange(4), 100.0),),
    more=drawn(8, _turned),
    right=[right_rotate_halves],
    mistakes={
        "b * angle.cos() + a -> b * angle.cos() - a": "The second half has the wrong sign: "
        "b cos + a sin",
        "/ D) -> / (D // 2))": "The speeds fall too fast: the exponent of pair i is −2i / D",
        "return torch -> return neighbours_turned(x, positions, base); return torch": "These are "
        "neighbours, 2i and 2i + 1: this layout turns channel i with channel i + D/2",
    },
)
from_table("Rotation, in halves", "attention.py", ROTATION)

# --- a GPT ---------------------------------------------------------------------------------------

from_table("A norm", "model.py", "9.2")
from_table("A block", "model.py", "9.3")
from_table("A GPT", "model.py", "10.2")
from_table("A loss", "training.py", "4.1")


@rung("model.py", "GPT", chapter="10")
def first_loss(GPT: Any) -> str:
    """The loss before training is ln V."""
    ids = torch.randint(65, (8, 33))
    logits = GPT(65, 32, 64, 4, 2)(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()
    said = f"the loss of a new model of 65 characters is {loss:.3f}; ln 65 is {math.log(65):.3f}."
    expect(abs(loss - math.log(65)) < 0.1, f"{said} How large do its weights start?")
    return said


from_table("Slopes of a product", "training.py", "4.2", optional=True)
from_table("Slopes of a loss", "training.py", "4.3", optional=True)


@rung("training.py", "network_back", chapter="04", optional=True)
def slopes(network_back: Any) -> str:
    """Slopes of a network, equal to PyTorch's."""
    x, targets = torch.randn(9, 5), torch.randint(4, (9,))
    w1, w2 = torch.randn(5, 7, requires_grad=True), torch.randn(7, 4, requires_grad=True)
    F.cross_entropy((x @ w1).relu() @ w2, targets).backward()
    got = network_back(x, targets, w1.detach(), w2.detach())
    for name, mine, w in zip(("w1", "w2"), got, (w1, w2), strict=True):
        expect_equal(mine, w.grad, f"The slope at `{name}`", 1e-5)
    return "the same as those of `backward()`."


from_table("A step of AdamW", "training.py", "11.1")


@rung("training.py", "adamw_step", chapter="11")
def twenty_steps(adamw_step: Any) -> str:
    """Twenty steps of AdamW, equal to PyTorch's."""
    w = nn.Parameter(torch.randn(6))
    mine, m, v = w.detach().clone(), torch.zeros(6), torch.zeros(6)
    theirs = torch.optim.AdamW([w], lr=0.05, betas=(0.9, 0.95), weight_decay=0.1)
    for t in range(1, 21):
        w.grad = torch.randn(6)
        mine, m, v = adamw_step(mine, w.grad, m, v, t, 0.05, 0.1)
        theirs.step()
    apart = expect_equal(mine, w.detach(), "w after twenty steps", 1e-5)
    return f"the largest difference is {apart:.1e}."


@rung("training.py", "train", "GPT", chapter="11", seconds=120.0)
def one_window(train: Any, GPT: Any) -> str:
    """Learn one window by heart."""
    ids = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2])
    model = train(GPT(10, 16, 32, 2, 1), ids, 200, 4, 16, 1e-2)
    expect(isinstance(model, nn.Module), f"`train` returned `{brief(model)}`: return the model.")
    with torch.no_grad():
        loss = F.cross_entropy(model(ids[None, :-1])[0], ids[1:]).item()
    why = "Is each target the token after it, are old slopes cleared, is the step taken?"
    expect(loss < 0.1, f"After 200 steps on one window the loss is {loss:.2f} nats. {why}")
    return f"after 200 steps {loss:.4f} nats."


@rung("training.py", "two_minutes", chapter="10", seconds=900.0)
def better_than_counting(two_minutes: Any) -> str:
    """Better than a table of counts, in two minutes."""
    text = load_corpus("tinyshakespeare").text
    tokenizer = CharTokenizer.train(text)
    ids, V = torch.tensor(tokenizer.encode(text)), tokenizer.vocab_size
    end = int(0.9 * len(ids))
    table = KneserNey(3).fit(ids[:end].numpy(), V).nats_per_token(ids[end:].numpy())
    start = time.process_time()
    model = two_minutes(ids[:end], V)
    seconds = time.process_time() - start  # of all cores together, however busy the machine is
    expect(
        seconds < 240, f"It worked for {seconds:.0f} seconds: two cores have 240 in two minutes."
    )
    held = ids[end : end + 64 * 300 + 1]
    with torch.no_grad():
        logits = model(held[:-1].view(-1, 64)).flatten(0, 1)
    loss = F.cross_entropy(logits, held[1:]).item()
    said = f"on text that it never saw {loss:.3f} nats a character; a table of threes {table:.3f}."
    expect(loss < table, f"Your model: {said}")
    return said


# --- writing -------------------------------------------------------------------------------------

from_table("Draw a token", "generate.py", DRAW)
from_table("A nucleus", "generate.py", "12.1")


def begun(model: Any) -> Any:
    """A cache that is empty still."""
    cache = model.new_cache()
    if cache is ...:
        raise Wrong(f"write `{type(model).__name__}.new_cache` in `model.py`.", "not yet")
    return cache


def expect_same_with_cache(model: Any, ids: torch.Tensor) -> float:
    """Raise `Wrong` unless one token at a time, with a cache, gives the logits of all at once."""
    with torch.no_grad():
        right, cache = model(ids), begun(model)
        parts = [model(ids[:, :3], cache), *(model(ids[:, t : t + 1], cache) for t in range(3, 9))]
    for t, part in enumerate(parts[1:], 3):
        expect_equal(part, right[:, t : t + 1], f"With a cache, the row of logits of position {t}")
    return expect_equal(torch.cat(parts, dim=1), right, "With a cache, the logits")


@rung("model.py", "GPT", chapter="20")
def cache(GPT: Any) -> str:
    """With a cache and without."""
    model = lively(GPT(11, 16, 12, 3, 2))
    return (
        f"the largest difference is {expect_same_with_cache(model, torch.randint(11, (2, 9))):.1e}."
    )


@rung("generate.py", "generate", "model.py:GPT", chapter="12")
def writing(generate: Any, GPT: Any) -> str:
    """Write, token by token."""
    model, ids = lively(GPT(11, 32, 12, 3, 2)), [3, 1, 4]
    right, got = greedy(model, ids, 12), generate(model, ids, 12)
    expect(list(got) == right, f"the likeliest continuation is {right}, and yours is {list(got)}.")
    first, again, other = (generate(model, ids, 12, 1.0, seed) for seed in (1, 1, 2))
    expect(first == again, "Two equal seeds give different texts.")
    expect(first != other, "Two seeds give the same text, at temperature 1.")
    return "the likeliest tokens, and with a temperature others."


def lively(model: Any) -> Any:
    """The model with weights so large that a fault shows."""
    for p in model.parameters():
        nn.init.normal_(p, std=0.3)
    return model.eval()


def greedy(model: nn.Module, ids: list[int], n: int) -> list[int]:
    """The likeliest continuation, each time read from the beginning."""
    for _ in range(n):
        with torch.no_grad():
            ids = [*ids, int(model(torch.tensor([ids]))[0, -1].argmax())]
    return ids


@rung("model.py", "save", "GPT", chapter="18", seconds=120.0)
def opened_elsewhere(save: Any, GPT: Any) -> str:
    """Your file, opened by transformers."""
    if importlib.util.find_spec("transformers") is None:
        raise NotHere("transformers is not installed: pip install transformers")
    from transformers import GPT2LMHeadModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model, ids = lively(GPT(40, 32, 24, 3, 2)), torch.randint(40, (1, 8))
    with tempfile.TemporaryDirectory() as folder:
        save(model, folder)
        opened: Any = GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    theirs, said = opened
    for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        expect(
            not said[kind],
            f"transformers reports {kind.replace('_', ' ')}: {sorted(said[kind])[:3]}",
        )
    with torch.no_grad():
        expect_equal(
            theirs(ids).logits, model(ids), "What GPT2LMHeadModel makes of your file", 1e-3
        )
    written = theirs.generate(ids, max_new_tokens=12, do_sample=False, pad_token_id=0)[0].tolist()
    expect(written == greedy(model, ids[0].tolist(), 12), "transformers writes another text.")
    return "another program writes the same text out of your file."


# --- a published model ---------------------------------------------------------------------------

from_table("A norm without a mean", "model.py", "19.1")
GATE = exercise(
    "19.2",
    "SwiGLU(d_model, d_ff): x (…, C) -> (…, C)",
    cases=(({"d_model": 6, "d_ff": 10}, torch.linspace(-3, 3, 12).view(1, 2, 6)),),
    right=[SwiGLU],
    mistakes={
        "F.silu(self.gate_proj(x)) -> self.gate_proj(x)": "The gate has no SiLU",
        "F.silu(self.gate_proj(x)) * self.up_proj(x) -> "
        "self.gate_proj(x) * F.silu(self.up_proj(x))": "SiLU belongs to the gate, not to `up_proj`",
        "F.silu -> torch.sigmoid": "SiLU is x · σ(x), not σ(x)",
    },
)
from_table("A gate", "model.py", GATE)
SMALL: dict[str, Any] = {
    "vocab_size": 13,
    "d_model": 24,
    "n_heads": 6,
    "n_kv_heads": 2,
    "n_layers": 2,
    "d_ff": 32,
}


def llama_of(Llama_: Any, theirs: Llama) -> nn.Module:
    """A learner's Llama with the weights of the course's."""
    c = theirs.config
    sizes = {name: getattr(c, name) for name in ("vocab_size", "d_model", "n_heads", "n_layers")}
    sizes |= {"n_kv_heads": c.kv_heads, "d_ff": c.hidden, "rope_base": c.rope_base}
    mine = Llama_(**sizes, norm_eps=c.norm_eps)
    weights, own = dict(theirs.named_parameters()), dict(mine.named_parameters())
    for name in sorted(weights.keys() ^ own.keys()):
        problem = "is missing" if name in weights else "is not one of Llama's"
        raise Wrong(f"The parameter `{name}` {problem}.")
    for name, p in own.items():
        shapes = tuple(p.shape), tuple(weights[name].shape)
        expect(shapes[0] == shapes[1], f"`{name}` has shape {shapes[0]}, expected {shapes[1]}.")
    mine.load_state_dict(weights, strict=False)
    return mine.eval()


@rung("model.py", "Llama", chapter="19")
def shared_keys(Llama_: Any) -> str:
    """A Llama, with shared keys, and its cache."""
    theirs = lively(Llama(LlamaConfig(context_length=32, rope_base=500.0, norm_eps=1e-3, **SMALL)))
    mine, ids = llama_of(Llama_, theirs), torch.randint(13, (2, 9))
    with torch.no_grad():
        expect_equal(mine(ids), theirs(ids), "The logits, with random weights")
    expect_same_with_cache(mine, ids)
    return "equal to the course's, with a cache and without."


def published() -> Llama:
    """SmolLM2, in the course's class."""
    try:
        find_real_model("smollm2-135m-instruct", download=False)
        return Llama.pretrained("smollm2-135m-instruct")
    except (OSError, ValueError) as error:
        raise NotHere(
            f"SmolLM2 is not here: python -m scratchformer.data.real_model ({error})"
        ) from error


@rung("model.py", "Llama", chapter="19", seconds=240.0)
def published_numbers(Llama_: Any) -> str:
    """SmolLM2's 134,515,008 numbers in your class."""
    theirs = published()
    mine = llama_of(Llama_, theirs)
    ids = torch.tensor(
        [ByteBPE.pretrained("smollm2-135m-instruct").encode("The capital of France is")]
    )
    with torch.no_grad():
        apart = expect_equal(mine(ids), theirs(ids), "The logits", 1e-2)
    return f"the logits are those of the course's class; the largest difference is {apart:.1e}."


@rung("generate.py", "generate", "model.py:Llama", chapter="19", seconds=400.0)
def answer(generate: Any, Llama_: Any) -> str:
    """It answers."""
    model, tokenizer = llama_of(Llama_, published()), ByteBPE.pretrained("smollm2-135m-instruct")
    start, end = (tokenizer.special_tokens[f"<|im_{name}|>"] for name in ("start", "end"))
    turns = ("system\n" + SYSTEM, "user\nWhat is the capital of France?")
    line = tokenizer.encode("\n")
    prompt = [i for turn in turns for i in (start, *tokenizer.encode(turn), end, *line)]
    prompt += [start, *tokenizer.encode("assistant\n")]
    written = list(generate(model, prompt, 9))[len(prompt) :]
    said = tokenizer.decode(i for i in written if i != end).strip()
    expect("Paris" in said, f"It says {said!r}.")
    return f"“{said}”"


@rung("model.py", "GPT", chapter="25", seconds=120.0)
def healthy(GPT: Any) -> str:
    """`diagnose` finds nothing."""
    report = diagnose(GPT(23, 16, 24, 3, 2), 23, 16, cache=_begin)
    first = next((f for f in report.findings if f.verdict == "failed"), None)
    expect(report.healthy, f"the tests of chapter 25 find: {first}")
    return str(report).splitlines()[0] + "."


def _begin(model: Any) -> Any:
    """How `diagnose` reads with a model's own cache."""
    kept = begun(model)
    return lambda ids: model(ids, kept)
