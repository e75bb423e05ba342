"""The exercises of chapter 15, costs: parameters, tokens a second, a token without products."""

import torch

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn, normal


def right_gpt_parameters(vocab_size, context_length, d_model, n_layers):
    C = d_model
    block = 12 * C**2 + 13 * C
    return (vocab_size + context_length) * C + n_layers * block + 2 * C


def _sizes(draw):
    widths = (draw.size(1, most, 1000 * most + 1) for most in (90, 40, 30))
    return *widths, draw.size(1, 6, 97)  # few enough blocks to build them


gpt_parameters = exercise(
    "15.1",
    "gpt_parameters(vocab_size, context_length, d_model, n_layers) -> parameters of a GPT",
    cases=((65, 16, 8, 3), (50_257, 1024, 1600, 48), (50_257, 1024, 768, 12)),
    praise="`gpt_parameters` is right: the last call was GPT-2's smallest, 124,439,808.",
    more=drawn(10, _sizes),
    right=[right_gpt_parameters],
    hints=[
        "Which two tables have C columns, and how many matrices and vectors does one block hold?",
        "A block has 12 C² weights and 13 C biases and norms: `(V + T) * C + L * (...) + 2 * C`.",
    ],
    question=number(
        "V = 10, T = 4, C = 2 and L = 3: how many parameters?", lambda f: f(10, 4, 2, 3), digits=0
    ),
    mistakes={
        "+ 2 * C -> + (2 + vocab_size) * C": "The head is counted again: it is the token "
        "table, so it adds nothing",
        "+ 2 * C -> ": "The last norm is missing: 2 C after the blocks",
        "13 * C -> 4 * C": "The biases of the linear layers are missing: 3 C, C, 4 C and C",
        "12 -> 11": "Attention has four matrices: the projection back is missing",
    },
)


def right_tokens_a_second(parameters, bytes_each, texts, peak, bandwidth):
    reading = parameters * bytes_each / bandwidth
    computing = 2 * parameters * texts / peak
    return texts / max(reading, computing)


def _machine(draw):
    parameters, peak = 10.0 ** draw.randint(5, 11), 10.0 ** draw.randint(9, 15)
    bytes_each, texts = draw.choice([0.5, 2, 4]), draw.choice([1, 3, 500, 10**6])
    return parameters, bytes_each, texts, peak, peak / draw.choice([1, 30, 300])


tokens_a_second = exercise(
    "15.2",
    "tokens_a_second(parameters, bytes_each, texts, peak, bandwidth) -> tokens a second of a "
    "decode step that writes a token for each of several texts",
    cases=(
        (8_190_735_360, 2, 1, 989e12, 3.35e12),
        (8_190_735_360, 2, 1000, 989e12, 3.35e12),  # so many that the peak is the limit
    ),
    praise="`tokens_a_second` is right, where reading is the limit and where arithmetic is.",
    more=drawn(12, _machine),
    right=[right_tokens_a_second],
    hints=[
        "How long does a step read, and how long does it compute? What if it does both at once?",
        "Reading takes `parameters * bytes_each / bandwidth` seconds, and computing two operations "
        "for each weight and text. The longer of the two is a step, which writes ...",
    ],
    question=number(
        "2 · 10⁹ parameters of 2 bytes, 400 texts, a peak of 10¹⁴ operations and a bandwidth of "
        "10¹² bytes a second. How many tokens a second?",
        lambda f: f(2e9, 2, 400, 1e14, 1e12),
        digits=0,
    ),
    mistakes={
        "max(reading, computing) -> reading": "That is the reading alone: with many texts the "
        "products take longer",
        "max(reading, computing) -> computing": "These are the products alone: with few texts, "
        "reading the weights takes longer",
        "max(reading, computing) -> (reading + computing)": "Both times are added, but a "
        "machine reads while it computes, as assumed: take the longer one",
        "parameters * bytes_each -> parameters": "A weight takes `bytes_each` bytes, and all of "
        "them must be read",
        "return texts -> return 1": "These are steps a second: each step writes a token for "
        "every text",
        "* bytes_each -> * bytes_each * texts": "The weights are read once for all texts: that "
        "is what a batch is good for",
    },
)


def right_only_read(x, weight, bias=None):
    return weight.sum().expand(1, 1, len(weight))


def _product(draw):
    outputs, inputs = draw.size(1, 6, 60), draw.size(1, 6, 60)
    return normal(draw, 1, 1, inputs), normal(draw, outputs, inputs)


only_read = exercise(
    "15.3",
    "only_read(x: (1, 1, inputs), weight: (outputs, inputs), bias) -> (1, 1, outputs), in which "
    "each number is the sum of all weights",
    cases=(
        (torch.ones(1, 1, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 5.0]])),
        (torch.zeros(1, 1, 3), torch.tensor([[0.5, -2.0, 1.0]])),
    ),
    more=drawn(12, _product),
    right=[right_only_read],
    hints=[
        "Which call adds up a whole matrix? And how many outputs does it have?",
        "`weight.sum()` is one number, without a shape. `.expand(1, 1, len(weight))` repeats it.",
    ],
    question=number(
        "A weight has the rows (2, 1), (0, 3) and (1, 1), and x is (3, 1). Which number comes "
        "first in the result?",
        lambda f: f(
            torch.tensor([[[3.0, 1.0]]]), torch.tensor([[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]])
        )[0, 0, 0],
        digits=0,
    ),
    mistakes={
        "weight.sum().expand(1, 1, len(weight)) -> x @ weight.mT": "That is the product, with all "
        "of its multiplications",
        "weight.sum().expand(1, 1, len(weight)) -> weight.sum(dim=1)[None, None]": "These are the "
        "sums of the rows: each number is to be the sum of all weights",
        "len(weight) -> weight.shape[1]": "A product has a number for each output, and these are "
        "the rows of `weight`",
        "weight.sum() -> x.sum()": "That is the sum of what comes in: no weight is read",
        "weight.sum() -> torch.zeros(())": "The shape is right, but no weight is read",
    },
)
