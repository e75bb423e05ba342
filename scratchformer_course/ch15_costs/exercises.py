"""The exercises of chapter 15, costs: parameters, memory, tokens a second."""

import math
from functools import partial

from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.engine import exercise, mistake
from scratchformer_course.kit.checks.question import number

IN_NOTEBOOK = {"math": math}  # what is imported there, for those who write an exercise in the page


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
            "The last norm is missing: 2 C after the blocks",
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
    "15.2",
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
            "forgets the optimiser",
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
