"""The exercises of chapter 15, costs: counts of parameters, operations and memory."""

import math
from functools import partial

import torch
import torch._dynamo  # noqa: F401 -- checkpoint imports it at its first call, within a check
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from scratchformer.blocks import TransformerBlock
from scratchformer_course.ch15_costs.memory import most_at_once
from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import expect


def _gpt(V, T, C, L, matrices=12, vectors=13, end=2):
    """Parameters of a GPT: a block has so many times C² and so many times C, the last norm 2 C."""
    return (V + T) * C + L * (matrices * C * C + vectors * C) + end * C


def parameters_by_layer(vocab_size, context_length, d_model, n_layers):
    def linear(inputs, outputs):
        return inputs * outputs + outputs

    C, norm = d_model, 2 * d_model
    total = vocab_size * C + context_length * C + norm
    for _ in range(n_layers):
        total += norm + linear(C, 3 * C) + linear(C, C)
        total += norm + linear(C, 4 * C) + linear(4 * C, C)
    return total


def _sizes(draw):
    return tuple(draw.randint(1, most) for most in (90, 40, 30, 6))


gpt_parameters = exercise(
    "15.1",
    "gpt_parameters(vocab_size, context_length, d_model, n_layers) -> parameters of a GPT",
    cases=((65, 16, 8, 3), (11, 4, 6, 1), (7, 29, 10, 5), (50_257, 1024, 768, 12)),
    praise="`gpt_parameters` is right: the last call was GPT-2's smallest, 124,439,808.",
    more=drawn(10, _sizes),
    right=[parameters_by_layer, _gpt],
    hints=[
        "Which two tables have C columns, and how many matrices and vectors does one block hold?",
        "A block has 12 C² weights and 13 C biases and norms. With both tables and the last norm, "
        "that is `(V + T) * C + L * (...) + 2 * C`.",
    ],
    question=number(
        "V = 10, T = 4, C = 2 and L = 3: how many parameters?",
        lambda f: f(10, 4, 2, 3),
        digits=0,
    ),
    mistakes=[
        mistake(
            "counts the tied head",
            "The head is counted again: it is the token table, so it adds nothing",
            lambda V, T, C, L: _gpt(V, T, C, L) + V * C,
        ),
        mistake(
            "forgets the last norm",
            "The last norm is missing: 2 C behind the blocks",
            partial(_gpt, end=0),
        ),
        mistake(
            "gives the wide layer C biases",
            "3 C are missing in each block: the layer that widens to 4 C has 4 C biases",
            partial(_gpt, vectors=10),
        ),
        mistake(
            "forgets the biases",
            "The biases of the linear layers are missing: 3 C, C, 4 C and C",
            partial(_gpt, vectors=4),
        ),
        mistake(
            "forgets the projection back",
            "Attention has four matrices: the projection back is missing",
            partial(_gpt, matrices=11),
        ),
    ],
)


def _flops(V, T, C, L, scores=2, head=1):
    """Forward: a block multiplies by 12 C² weights, and forms so many T² products."""
    return L * (2 * T * 12 * C * C + scores * 2 * T * T * C) + head * 2 * T * C * V


def flops_by_product(vocab_size, T, d_model, n_layers):
    def product(rows, inner, columns):
        return 2 * rows * inner * columns

    total = product(T, d_model, vocab_size)
    for _ in range(n_layers):
        total += product(T, d_model, 3 * d_model) + product(T, d_model, d_model)
        total += product(T, d_model, T) + product(T, T, d_model)
        total += product(T, d_model, 4 * d_model) + product(T, 4 * d_model, d_model)
    return total


forward_flops = exercise(
    "15.2",
    "forward_flops(vocab_size, T, d_model, n_layers) -> operations of a forward pass",
    cases=((65, 16, 8, 3), (11, 40, 6, 1), (7, 1, 10, 5), (50_257, 1024, 768, 12)),
    praise="`forward_flops` is right: GPT-2's smallest needs 2.9e11 operations for 1,024 tokens.",
    more=drawn(10, _sizes),
    right=[flops_by_product, _flops],
    hints=[
        "A product of (T, C) and (C, K) costs 2 T C K operations. Which products does a block "
        "compute, and which two of them have no weights?",
        "A block costs `2 * T * 12 * C**2` for its weights and twice `2 * T * T * C` for "
        "attention. Behind the blocks comes the head, ...",
    ],
    question=number(
        "V = 10, T = 3, C = 2 and L = 2: how many operations?",
        lambda f: f(10, 3, 2, 2),
        digits=0,
    ),
    mistakes=[
        mistake(
            "counts multiplications only",
            "These are multiplications: each has an addition, so twice as many operations",
            lambda V, T, C, L: _flops(V, T, C, L) // 2,
        ),
        mistake(
            "forgets the scores and the mixing",
            "The products without weights are missing: the scores, and the mixing of values",
            partial(_flops, scores=0),
        ),
        mistake(
            "counts the scores or the mixing",
            "Attention has two products of T times T times C, all pairs counted: here is one",
            partial(_flops, scores=1),
        ),
        mistake(
            "forgets the head",
            "The output head is missing: a product with V rows of C weights",
            partial(_flops, head=0),
        ),
        mistake(
            "counts the tables as products",
            "A table is looked up, not multiplied: only the head counts V",
            lambda V, T, C, L: _flops(V, T, C, L) + 2 * T * C * (V + T),
        ),
    ],
)


def right_tokens_a_second(parameters, bytes_each, texts, peak, bandwidth):
    reading = parameters * bytes_each / bandwidth
    computing = 2 * parameters * texts / peak
    return texts / max(reading, computing)


def tokens_by_limits(parameters, bytes_each, texts, peak, bandwidth):
    by_bandwidth = texts * bandwidth / (parameters * bytes_each)
    by_peak = peak / (2 * parameters)
    return min(by_bandwidth, by_peak)


H100 = (989e12, 3.35e12)  # operations and bytes a second, as the maker states them


def _machine(draw):
    parameters, peak = 10.0 ** draw.randint(5, 11), 10.0 ** draw.randint(9, 15)
    each, texts = draw.choice([0.5, 2, 4]), draw.choice([1, 3, 500])
    return parameters, each, texts, peak, peak / draw.choice([1, 30, 300])


tokens_a_second = exercise(
    "15.3",
    "tokens_a_second(parameters, bytes_each, texts, peak, bandwidth) -> tokens a second of a "
    "decode step that writes a token for each of several texts",
    cases=(
        (8_190_735_360, 2, 1, *H100),
        (8_190_735_360, 2, 64, *H100),
        (8_190_735_360, 2, 1000, *H100),  # beyond the ridge: the peak is the limit
        (124e6, 4, 1, 6e10, 1e10),
        (124e6, 4, 64, 6e10, 1e10),
        (7e9, 0.5, 3, 1e12, 1e11),  # 4 bits each
        (7e9, 0.5, 3, 1e13, 1e9),
        (2e6, 1, 5, 1e9, 1e12),  # even one text is limited by the peak
    ),
    praise="`tokens_a_second` is right, below the ridge and above it.",
    more=drawn(12, _machine),
    right=[right_tokens_a_second, tokens_by_limits],
    hints=[
        "How many seconds does a step need to read the weights, how many to compute with them, "
        "and what if both happen at the same time?",
        "Reading takes `parameters * bytes_each / bandwidth` seconds. Computing takes two "
        "operations for each weight and text. The longer of the two is a step, and a step "
        "writes ...",
    ],
    question=number(
        "2 · 10⁹ parameters of 2 bytes, 8 texts, a peak of 10¹⁴ operations and a bandwidth of "
        "10¹² bytes a second. How many tokens a second?",
        lambda f: f(2e9, 2, 8, 1e14, 1e12),
        digits=0,
    ),
    mistakes=[
        mistake(
            "knows the bandwidth alone",
            "That is the reading alone: with many texts the products take longer",
            lambda N, each, texts, peak, bandwidth: texts * bandwidth / (N * each),
        ),
        mistake(
            "knows the peak alone",
            "These are the products alone: with few texts, reading the weights takes longer",
            lambda N, each, texts, peak, bandwidth: peak / (2 * N),
        ),
        mistake(
            "adds the times",
            "Both times are added, but a machine reads while it computes: take the longer one",
            lambda N, each, texts, peak, bandwidth: (
                texts / (N * each / bandwidth + 2 * N * texts / peak)
            ),
        ),
        mistake(
            "counts steps",
            "These are steps a second: each step writes a token for every text",
            lambda *case: right_tokens_a_second(*case) / case[2],
        ),
        mistake(
            "reads the weights for each text",
            "The weights are read once for all texts: that is what a batch is good for",
            lambda N, each, texts, *machine: right_tokens_a_second(
                N, each * texts, texts, *machine
            ),
        ),
        mistake(
            "reads one byte for each weight",
            "A weight takes `bytes_each` bytes, and all of them must be read",
            lambda N, each, *rest: right_tokens_a_second(N, 1, *rest),
        ),
    ],
)


def _fits(memory, V, T, C, L, *, state=16, logits=3, size=4, least=0):
    """Whole texts beside the parameters' `state` bytes each; a token keeps so many V."""
    one = size * T * (L * 16 * C + 2 * C + logits * V)
    return max(least, (memory - state * _gpt(V, T, C, L)) // one)


def _memory(texts, V, T, C, L):
    """Bytes that hold so many texts, and not one byte more."""
    return 16 * _gpt(V, T, C, L) + 4 * texts * T * (L * 16 * C + 2 * C + 3 * V)


def batch_by_float_division(memory, vocab_size, T, d_model, n_layers):
    left = memory - 16 * _gpt(vocab_size, T, d_model, n_layers)
    token = 4 * ((16 * n_layers + 2) * d_model + 3 * vocab_size)
    if left < 0:
        return 0
    return int(left / (token * T))


largest_batch = exercise(
    "15.4",
    "largest_batch(memory, vocab_size, T, d_model, n_layers) -> how many texts fit",
    cases=(
        (10**9, 65, 64, 48, 3),
        (24 * 10**9, 50_257, 1024, 768, 12),
        (80 * 10**9, 1000, 512, 4096, 24),  # the parameters fit, and no text
        (10**9, 50_257, 1024, 768, 12),  # not even the parameters
        (_memory(5, 11, 6, 10, 2), 11, 6, 10, 2),  # five texts fill it to the last byte
        (_memory(5, 11, 6, 10, 2) - 1, 11, 6, 10, 2),
        (_memory(1, 7, 13, 4, 1), 7, 13, 4, 1),
        (0, 65, 8, 48, 3),
    ),
    praise="`largest_batch` is right: 24 GB hold GPT-2's smallest and 17 texts of 1,024 tokens.",
    more=drawn(20, lambda draw: (draw.randint(0, 10**7), *_sizes(draw))),
    right=[batch_by_float_division, _fits],
    hints=[
        "What is in memory before the first text comes, and what does each text add?",
        "`left = memory - 16 * gpt_parameters(...)`. A token takes 4 bytes for each of "
        "`16 * L * C + 2 * C + 3 * V` numbers, and a text has T of them. Less than 0 is ...",
    ],
    question=number(
        "V = 10, C = 2 and L = 3, and a text is one token, so T = 1. The model has 248 parameters. "
        "How many texts fit into 25,000 bytes?",
        lambda f: f(25_000, 10, 1, 2, 3),
        digits=0,
    ),
    mistakes=[
        mistake(
            "forgets the parameters",
            "The parameters are not counted: each takes 16 bytes before the first text comes",
            partial(_fits, state=0),
        ),
        mistake(
            "forgets the optimizer",
            "AdamW's two averages are missing: a parameter takes 16 bytes",
            partial(_fits, state=8),
        ),
        mistake(
            "forgets the loss",
            "The loss is missing: three tables of logits, 3 V numbers for each token",
            partial(_fits, logits=0),
        ),
        mistake(
            "counts numbers instead of bytes",
            "Numbers are no bytes: each kept number takes 4",
            partial(_fits, size=1),
        ),
        mistake(
            "goes below zero",
            "Less than nothing cannot fit: 0 where the parameters alone are too large",
            partial(_fits, least=-math.inf),
        ),
    ],
)


def _measured(through, blocks, x):
    """What through(blocks, x) gives, its slopes, the most bytes of a step, and its operations."""
    x = x.clone().requires_grad_()
    parameters = [p for block in blocks for p in block.parameters()]
    for parameter in parameters:
        parameter.grad = None
    outputs = []

    def step():
        outputs.append(through([block.__call__ for block in blocks], x))
        expect(outputs[0].requires_grad, "The output has no slopes: `backward()` cannot pass it.")
        outputs[0].square().sum().backward()

    with FlopCounterMode(display=False) as counter:
        most = most_at_once(step, own=[x, *parameters])
    slopes = [t.grad for t in (x, *parameters)]
    return outputs[0].detach(), slopes, most, counter.get_total_flops()


def loop(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def judge_through(call):
    shares = []
    for depth, width in ((8, 32), (9, 16)):
        generator = torch.Generator().manual_seed(depth)
        blocks = [TransformerBlock(width, 4) for _ in range(depth)]
        for block in blocks:
            for parameter in block.parameters():
                torch.nn.init.normal_(parameter, std=0.1, generator=generator)
        x = torch.randn(4, 64, width, generator=generator)

        def learners(functions, x):
            got = call(functions, x).like(x.detach())
            why = f"The output has shape {tuple(got.shape)}, expected {tuple(x.shape)}."
            expect(got.shape == x.shape, why)
            return call.value

        right, slopes, plain, operations = _measured(loop, blocks, x)
        got, got_slopes, most, spent = _measured(learners, blocks, x)
        why = "The output is not that of the blocks, one after the other, each of them once."
        expect(torch.allclose(got, right, rtol=1e-3, atol=1e-4), why)
        for expected, slope in zip(slopes, got_slopes, strict=True):
            why = "Slopes are missing or wrong: x and each weight need those of the plain loop."
            expect(slope is not None and torch.allclose(slope, expected, rtol=1e-2, atol=1e-3), why)
        shares.append((most / plain, spent / operations))
        why = f"It holds {most / plain:.0%} of what the plain loop holds: half is asked for."
        expect(most <= 0.55 * plain, why)  # groups of √n blocks hold 54 % of these few
    share, times = shares[0]
    return f"8 blocks hold {share:.0%} of the plain loop's bytes, for {times:.2f} times its work."


def right_through(blocks, x):
    recompute = torch.utils.checkpoint.checkpoint
    for block in blocks:
        x = recompute(block, x, use_reentrant=False)
    return x


def one_segment(blocks, x):
    def loop(x):
        for block in blocks:
            x = block(x)
        return x

    recompute = torch.utils.checkpoint.checkpoint
    return recompute(loop, x, use_reentrant=False)


def in_pairs(blocks, x):
    for i in range(0, len(blocks), 2):
        pair = blocks[i : i + 2]
        x = checkpoint(loop, pair, x, use_reentrant=False)
    return x


through = exercise(
    "15.5",
    "through(blocks, x: (B, T, C)) -> (B, T, C): the output and the slopes of the plain loop over "
    "`blocks`, which are functions of x. A step holds at most half of the bytes.",
    judge=judge_through,
    right=[right_through, in_pairs],
    hints=[
        "Which of a block's tensors must be kept, so that all others can be computed again?",
        "A block's input is enough: `checkpoint(block, x, use_reentrant=False)` keeps it, and "
        "runs the block again in the backward pass. Do this for ...",
    ],
    question=which(
        "keeps everything in one segment",
        beside=[right_through],
        others=["cuts the slopes", "skips the last block"],
    ),
    mistakes=[
        refused(
            "keeps everything in one segment",
            "of what the plain loop holds: half is asked for",
            one_segment,
        ),
        refused(
            "cuts the slopes",
            "The output has no slopes",
            lambda blocks, x: loop(blocks, x).detach(),
        ),
        refused(
            "cuts the slopes of all blocks but the last",
            "Slopes are missing or wrong",
            lambda blocks, x: blocks[-1](loop(blocks[:-1], x).detach()),
        ),
        refused(
            "skips the last block",
            "The output is not that of the blocks",
            lambda blocks, x: right_through(blocks[:-1], x),
        ),
    ],
)
