"""Right and plausibly wrong answers to the exercises of chapter 13."""

import math

import numpy as np
from mutation import mutant, solution

COUNT, DAYS, FIT, SLOPE, BREAK = (
    f"scaling.{name}"
    for name in ("gpt_parameters", "training_days", "texts_that_fit", "exponent", "without_floor")
)


# 13.1 gpt_parameters


@solution(COUNT)
def parameters(vocab_size, context_length, d_model, n_layers):
    C = d_model
    return (vocab_size + context_length) * C + n_layers * (12 * C * C + 13 * C) + 2 * C


@solution(COUNT)
def _(vocab_size, context_length, d_model, n_layers):
    def linear(inputs, outputs):
        return inputs * outputs + outputs

    C, norm = d_model, 2 * d_model
    total = vocab_size * C + context_length * C + norm
    for _ in range(n_layers):
        total += norm + linear(C, 3 * C) + linear(C, C)
        total += norm + linear(C, 4 * C) + linear(4 * C, C)
    return total


@mutant(COUNT, "counts the tied head", "The head is counted again")
def _(vocab_size, context_length, d_model, n_layers):
    own = parameters(vocab_size, context_length, d_model, n_layers)
    return own + vocab_size * d_model


@mutant(COUNT, "no last norm", "The last norm is missing")
def _(vocab_size, context_length, d_model, n_layers):
    return parameters(vocab_size, context_length, d_model, n_layers) - 2 * d_model


@mutant(COUNT, "no positions", "The position table is missing")
def _(vocab_size, context_length, d_model, n_layers):
    return parameters(vocab_size, 0, d_model, n_layers)


@mutant(COUNT, "no token table", "The token table is missing")
def _(vocab_size, context_length, d_model, n_layers):
    return parameters(0, context_length, d_model, n_layers)


@mutant(COUNT, "no tables", "The two tables are missing")
def _(vocab_size, context_length, d_model, n_layers):
    return parameters(0, 0, d_model, n_layers)


@mutant(COUNT, "matrices only", "biases and norms add 13 C")
def _(vocab_size, context_length, d_model, n_layers):
    return (vocab_size + context_length + 12 * n_layers * d_model) * d_model


@mutant(COUNT, "no norms in a block", "The two norms of each block")
def _(vocab_size, context_length, d_model, n_layers):
    own = parameters(vocab_size, context_length, d_model, n_layers)
    return own - n_layers * 4 * d_model


@mutant(COUNT, "no biases", "The biases of the linear layers")
def _(vocab_size, context_length, d_model, n_layers):
    own = parameters(vocab_size, context_length, d_model, n_layers)
    return own - n_layers * 9 * d_model


@mutant(COUNT, "no projection back", "the projection back is missing")
def _(vocab_size, context_length, d_model, n_layers):
    own = parameters(vocab_size, context_length, d_model, n_layers)
    return own - n_layers * d_model**2


@mutant(COUNT, "half a feed-forward network", "two matrices of 4 C²")
def _(vocab_size, context_length, d_model, n_layers):
    own = parameters(vocab_size, context_length, d_model, n_layers)
    return own - n_layers * 4 * d_model**2


@mutant(COUNT, "one block", "Only one block is counted")
def _(vocab_size, context_length, d_model, n_layers):
    return parameters(vocab_size, context_length, d_model, 1)


@mutant(COUNT, "a last norm for each block", "once, behind all blocks")
def _(vocab_size, context_length, d_model, n_layers):
    own = parameters(vocab_size, context_length, d_model, n_layers)
    return own + (n_layers - 1) * 2 * d_model


# 13.2 training_days


@solution(DAYS)
def days(parameters, tokens, devices, peak, share):
    return 6 * parameters * tokens / (devices * peak * share) / 86_400


@solution(DAYS)
def _(parameters, tokens, devices, peak, share):
    forward = 2 * parameters * tokens
    backward = 2 * forward
    return (forward + backward) / devices / peak / share / 60 / 60 / 24


@mutant(DAYS, "the forward pass only", "2 N D is the forward pass")
def _(parameters, tokens, devices, peak, share):
    return days(parameters, tokens, devices, peak, share) / 3


@mutant(DAYS, "the backward pass only", "4 N D is the backward pass")
def _(parameters, tokens, devices, peak, share):
    return days(4 * parameters, tokens, devices, peak, share) / 6


@mutant(DAYS, "one operation a parameter", "N D counts no operations")
def _(parameters, tokens, devices, peak, share):
    return parameters * tokens / (devices * peak * share) / 86_400


@mutant(DAYS, "seconds", "These are seconds")
def _(parameters, tokens, devices, peak, share):
    return 6 * parameters * tokens / (devices * peak * share)


@mutant(DAYS, "hours", "These are hours")
def _(parameters, tokens, devices, peak, share):
    return days(parameters, tokens, devices, peak, share) * 24


@mutant(DAYS, "at the peak", "The share is missing")
def _(parameters, tokens, devices, peak, share):
    return days(parameters, tokens, devices, peak, 1.0)


@mutant(DAYS, "multiplies by the share", "Multiplied by the share")
def _(parameters, tokens, devices, peak, share):
    return days(parameters, tokens, devices, peak, 1 / share)


@mutant(DAYS, "one device", "That is one device alone")
def _(parameters, tokens, devices, peak, share):
    return days(parameters, tokens, 1, peak, share)


@mutant(DAYS, "multiplies by the devices", "More devices make it longer")
def _(parameters, tokens, devices, peak, share):
    return days(parameters, tokens, 1 / devices, peak, share)


@mutant(DAYS, "upside down", "This is upside down")
def _(parameters, tokens, devices, peak, share):
    return 1 / days(parameters, tokens, devices, peak, share)


# 13.3 texts_that_fit


@solution(FIT)
def texts(memory, n_layers, d_model, T, bytes_per_number):
    return memory // (2 * n_layers * T * d_model * bytes_per_number)


@solution(FIT)
def _(memory, n_layers, d_model, T, bytes_per_number):
    keys = np.int64(n_layers) * T * d_model
    return math.floor(memory / int(2 * keys) / bytes_per_number)


@mutant(FIT, "keys only", "A key and a value")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return memory // (n_layers * T * d_model * bytes_per_number)


@mutant(FIT, "one block", "Every block has a cache")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(memory, 1, d_model, T, bytes_per_number)


@mutant(FIT, "numbers, not bytes", "Numbers are no bytes")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(memory, n_layers, d_model, T, 1)


@mutant(FIT, "a key is one number", "A key is a vector")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(memory, n_layers, 1, T, bytes_per_number)


@mutant(FIT, "one token", "the cache of one token")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(memory, n_layers, d_model, 1, bytes_per_number)


@mutant(FIT, "T squared", "T is squared")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(memory, n_layers, d_model, T * T, bytes_per_number)


@mutant(FIT, "four times as wide", "keys are d_model wide")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(memory, n_layers, 4 * d_model, T, bytes_per_number)


@mutant(FIT, "memory in bits", "not in bits")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return texts(8 * memory, n_layers, d_model, T, bytes_per_number)


@mutant(FIT, "rounds up", "Rounded up")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return math.ceil(memory / (2 * n_layers * T * d_model * bytes_per_number))


@mutant(FIT, "a fraction of a text", "but an int such as")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return memory / (2 * n_layers * T * d_model * bytes_per_number)


@mutant(FIT, "what one text needs", "how many of them fit?")
def _(memory, n_layers, d_model, T, bytes_per_number):
    return 2 * n_layers * T * d_model * bytes_per_number


# 13.4 exponent


@solution(SLOPE)
def slope(x1, y1, x2, y2, E):
    return math.log((y1 - E) / (y2 - E)) / math.log(x2 / x1)


@solution(SLOPE)
def _(x1, y1, x2, y2, E):
    fall, _ = np.polyfit(np.log10([x1, x2]), np.log10([y1 - E, y2 - E]), 1)
    return -fall


@mutant(SLOPE, "wrong sign", "The sign: α is positive")
def _(x1, y1, x2, y2, E):
    return -slope(x1, y1, x2, y2, E)


@mutant(SLOPE, "no floor", "E is not subtracted: only")
def _(x1, y1, x2, y2, E):
    return slope(x1, y1, x2, y2, 0.0)


@mutant(SLOPE, "no floor, wrong sign", "E is not subtracted, and")
def _(x1, y1, x2, y2, E):
    return math.log(y2 / y1) / math.log(x2 / x1)


@mutant(SLOPE, "upside down", "This is upside down")
def _(x1, y1, x2, y2, E):
    return 1 / slope(x1, y1, x2, y2, E)


@mutant(SLOPE, "losses without a logarithm", "The losses need a logarithm")
def _(x1, y1, x2, y2, E):
    return ((y1 - E) - (y2 - E)) / math.log(x2 / x1)


@mutant(SLOPE, "no logarithm at all", "slope of a straight line")
def _(x1, y1, x2, y2, E):
    return (y1 - y2) / (x2 - x1)


@mutant(SLOPE, "x without a logarithm", "x needs a logarithm")
def _(x1, y1, x2, y2, E):
    return math.log((y1 - E) / (y2 - E)) / (x2 - x1)


@mutant(SLOPE, "the fall alone", "how much x grew")
def _(x1, y1, x2, y2, E):
    return math.log((y1 - E) / (y2 - E))


@mutant(SLOPE, "ratio of ratios", "not the ratios themselves")
def _(x1, y1, x2, y2, E):
    return (y1 - E) / (y2 - E) * x1 / x2


@mutant(SLOPE, "subtracts E too late", "before the logarithm")
def _(x1, y1, x2, y2, E):
    return (math.log(y1) - math.log(y2) - E) / math.log(x2 / x1)


# 13.5 without_floor


@solution(BREAK)
def predicted(x, y, far):
    return math.exp(np.polyval(np.polyfit(np.log(x), np.log(y), 1), math.log(far)))


@solution(BREAK)
def _(x, y, far):
    columns = np.stack([np.ones(len(x)), np.log2(x)], axis=1)
    start, slope = np.linalg.lstsq(columns, np.log2(y), rcond=None)[0]
    return 2 ** (start + slope * math.log2(far))


@mutant(BREAK, "stays in logarithms", "the logarithm of the loss")
def _(x, y, far):
    return np.polyval(np.polyfit(np.log(x), np.log(y), 1), math.log(far))


@mutant(BREAK, "no logarithms", "without logarithms")
def _(x, y, far):
    return np.polyval(np.polyfit(x, y, 1), far)


@mutant(BREAK, "x without its logarithm", "x needs its logarithm")
def _(x, y, far):
    return math.exp(np.polyval(np.polyfit(x, np.log(y), 1), far))


@mutant(BREAK, "y without its logarithm", "y needs its logarithm")
def _(x, y, far):
    return np.polyval(np.polyfit(np.log(x), y, 1), math.log(far))


@mutant(BREAK, "far without its logarithm", "take the logarithm of `far`")
def _(x, y, far):
    return math.exp(np.polyval(np.polyfit(np.log(x), np.log(y), 1), far))


@mutant(BREAK, "a power of ten", "not a power of 10")
def _(x, y, far):
    return 10 ** np.polyval(np.polyfit(np.log(x), np.log(y), 1), math.log(far))


@mutant(BREAK, "the last loss", "That is the last loss")
def _(x, y, far):
    return y[-1]


@mutant(BREAK, "first and last point", "Only the first and last points")
def _(x, y, far):
    return predicted([x[0], x[-1]], [y[0], y[-1]], far)


@mutant(BREAK, "the first two points", "Only the first two points")
def _(x, y, far):
    return predicted(x[:2], y[:2], far)


@mutant(BREAK, "the last two points", "Only the last two points")
def _(x, y, far):
    return predicted(x[-2:], y[-2:], far)
