"""Checks for the exercises of chapter 13, scaling."""

import math

from scratchformer.checks.first_edition import Call, exercise


@exercise("13.1", "vocab_size, context_length, d_model, n_layers")
def gpt_parameters(call: Call) -> str:
    """gpt_parameters(vocab_size, context_length, d_model, n_layers) -> parameters of a GPT"""
    for V, T, C, L in ((65, 16, 8, 3), (11, 4, 6, 1), (50_257, 1024, 768, 12)):
        tables, block, last = V * C + T * C, 12 * C * C + 13 * C, 2 * C
        right = tables + L * block + last
        call(V, T, C, L).gives(
            right,
            (right + V * C, "The head is counted again: it is the token table, so it adds nothing"),
            (right - last, "The last norm is missing: 2 C behind the blocks"),
            (right - T * C, "The position table is missing: a vector for each position"),
            (right - V * C, "The token table is missing: a vector for each token"),
            (right - tables, "The two tables are missing: count tokens and positions too"),
            (tables + L * 12 * C * C, "Only the matrices are counted: biases and norms add 13 C"),
            (tables + L * 12 * C * C + last, "The 13 C of biases and norms in a block are missing"),
            (
                right - L * 4 * C,
                "The two norms of each block are missing: a weight and a bias each",
            ),
            (right - L * 9 * C, "The biases of the linear layers are missing: 3 C, C, 4 C and C"),
            (right - L * C * C, "Attention has four matrices: the projection back is missing"),
            (
                right - L * 4 * C * C,
                "The network widens to 4 C and comes back: two matrices of 4 C²",
            ),
            (tables + block + last, "Only one block is counted"),
            (tables + L * (block + last), "The last norm stands once, behind all blocks"),
        )
    return "`gpt_parameters` is right: the last call was GPT-2's smallest, 124,439,808."


@exercise("13.2", "parameters, tokens, devices, peak, share")
def training_days(call: Call) -> str:
    """training_days(parameters, tokens, devices, peak, share) -> days of training, 6 N D"""
    cases = (
        (124e6, 10e9, 8, 312e12, 0.4),
        (2.5e9, 100e9, 64, 1e15, 0.35),
        (7e9, 2e12, 512, 3e14, 0.5),
    )
    for N, D, devices, peak, share in cases:
        seconds = 6 * N * D / (devices * peak * share)
        right = seconds / 86_400
        call(N, D, devices, peak, share).gives(
            right,
            (right / 3, "2 N D is the forward pass: the backward pass costs twice as much again"),
            (right * 2 / 3, "4 N D is the backward pass: the forward pass is missing"),
            (right / 6, "N D counts no operations: each parameter costs 6 for a token"),
            (seconds, "These are seconds: a day has 86,400"),
            (seconds / 3600, "These are hours: a day has 24"),
            (right * share, "The share is missing: no device reaches its peak"),
            (right * share * share, "Multiplied by the share: what is reached is less, so divide"),
            (right * devices, "That is one device alone: the work is shared"),
            (right * devices * devices, "More devices make it longer here: divide by their number"),
            (1 / right, "This is upside down: operations over operations a second"),
        )
    return "`training_days` is right. Try it with GPT-3's 175 billion parameters."


@exercise("13.3", "memory, n_layers, d_model, T, bytes_per_number")
def texts_that_fit(call: Call) -> str:
    """texts_that_fit(memory, n_layers, d_model, T, bytes_per_number) -> caches that fit, whole"""
    cases = (
        (10**9, 12, 768, 1024, 4),
        (80 * 10**9, 96, 12_288, 2048, 2),
        (24 * 10**9, 32, 4096, 700, 2),
    )
    for memory, L, C, T, size in cases:
        one = 2 * L * T * C * size
        right = memory // one
        call(memory, L, C, T, size).gives(
            right,
            (memory // (one // 2), "A key and a value are kept for each token: twice as many"),
            (memory // (one // L), "Every block has a cache of its own: L of them"),
            (memory // (one // size), "Numbers are no bytes: each takes `bytes_per_number`"),
            (memory // (one // C), "A key is a vector: d_model numbers, all heads together"),
            (memory // (one // T), "That is the cache of one token: a text has T"),
            (memory // (one * T), "T is squared: attention compares all pairs, but keeps T keys"),
            (memory // (one * 4), "4 d_model is the feed-forward network's: keys are d_model wide"),
            (memory * 8 // one, "Memory is in bytes here, not in bits"),
            (-(-memory // one), "Rounded up: a part of a cache is of no use"),
            (one, "That is what one text needs: how many of them fit?"),
        )
    return "`texts_that_fit` is right: 80 GB hold 8 texts for GPT-3, and not one of its parameters."


@exercise("13.4", "x1, y1, x2, y2, E")
def exponent(call: Call) -> str:
    """exponent(x1, y1, x2, y2, E) -> α of y = E + A / x^α through two points"""
    cases = ((2.0, 5.0, 16.0, 1.3, 0.8), (100.0, 3.0, 3200.0, 1.5, 1.0), (1e5, 2.1, 1e6, 1.7, 1.2))
    for x1, y1, x2, y2, E in cases:
        ln_x, gap = math.log(x2 / x1), math.log((y1 - E) / (y2 - E))
        bare = math.log(y1 / y2)
        call(x1, y1, x2, y2, E).gives(
            gap / ln_x,
            (-gap / ln_x, "The sign: α is positive where the loss falls"),
            (bare / ln_x, "E is not subtracted: only the part above it follows the power law"),
            (-bare / ln_x, "E is not subtracted, and α is positive where the loss falls"),
            (ln_x / gap, "This is upside down: by how much y falls, for how much x grows"),
            ((y1 - y2) / ln_x, "The losses need a logarithm too, above E"),
            ((y1 - y2) / (x2 - x1), "That is the slope of a straight line: take logarithms"),
            (gap / (x2 - x1), "x needs a logarithm too"),
            (gap, "Divide by the logarithm of how much x grew"),
            (math.exp(gap) / (x2 / x1), "Divide logarithms, not the ratios themselves"),
            (
                (math.log(y1) - math.log(y2) - E) / ln_x,
                "Subtract E from each loss, before the logarithm",
            ),
        )
    return (
        "`exponent` is right: the slope of a straight line, once E is gone and both axes are logs."
    )


def _line(x: list[float], y: list[float], at: float) -> float:
    """The least-squares line through the points, at one place."""
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    slope = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return mean_y + slope / sum((a - mean_x) ** 2 for a in x) * (at - mean_x)


@exercise("13.5", "x, y, far")
def without_floor(call: Call) -> str:
    """without_floor(x, y, far) -> the loss at `far` by a straight line through (log x, log y)"""
    straight = ([10.0, 100.0, 1000.0], [8.0, 4.0, 2.0], 2000.0)
    bent = ([1e3, 1e4, 1e5, 1e6], [3.0, 1.9, 1.5, 1.3], 1e12)
    for x, y, far in (straight, bent):
        log_x, log_y, log_far = [math.log(v) for v in x], [math.log(v) for v in y], math.log(far)
        right = _line(log_x, log_y, log_far)
        ends, firsts, lasts = (
            math.exp(_line([log_x[i], log_x[j]], [log_y[i], log_y[j]], log_far))
            for i, j in ((0, -1), (0, 1), (-2, -1))
        )
        mistakes = [
            (right, "This is the logarithm of the loss: take exp of it"),
            (_line(x, y, far), "A straight line without logarithms: take them of both"),
            (math.exp(_line(x, log_y, far)), "x needs its logarithm too"),
            (_line(log_x, y, log_far), "y needs its logarithm too"),
            (
                math.exp(_line(log_x, log_y, far)),
                "The line is in log x: take the logarithm of `far`",
            ),
            (10**right, "Natural logarithms need exp, not a power of 10"),
            (y[-1], "That is the last loss: go on along the line, to `far`"),
            (ends, "Only the first and last points are used: fit them all"),
            (firsts, "Only the first two points are used: fit them all"),
            (lasts, "Only the last two points are used: fit them all"),
        ]
        call(x, y, far).gives(math.exp(right), *mistakes)
    return "`without_floor` is right, and what it says is wrong: no loss falls for ever."
