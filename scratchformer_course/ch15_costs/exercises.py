"""The exercises of chapter 15, costs: parameters, memory, tokens a second."""

from scratchformer_course.kit.checks import exercise, number
from scratchformer_course.kit.checks.cases import drawn


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


def right_largest_batch(memory, vocab_size, T, d_model, n_layers):
    left = memory - 16 * right_gpt_parameters(vocab_size, T, d_model, n_layers)
    token = 4 * ((16 * n_layers + 2) * d_model + 3 * vocab_size)
    return max(0, left // (token * T))


largest_batch = exercise(
    "15.2",
    "largest_batch(memory, vocab_size, T, d_model, n_layers) -> how many texts fit",
    cases=(
        (24 * 10**9, 50_257, 1024, 768, 12),
        (0, 65, 8, 48, 3),  # not even the parameters fit
        (1_497_695, 65, 8, 48, 3),  # the parameters fit, and the first text does not
        (26_547_621_887, 50_257, 1024, 768, 12),  # a byte is missing for twenty texts
        (90_360, 11, 6, 10, 2),  # five texts fill it to the last byte
    ),
    praise="`largest_batch` is right: 24 GB hold GPT-2's smallest and 17 texts of 1,024 tokens.",
    more=drawn(20, lambda draw: (draw.size(0, 10**7, 10**19), *_sizes(draw))),
    right=[right_largest_batch],
    hints=[
        "What is in memory before the first text comes, and what does each text add?",
        "`left = memory - 16 * gpt_parameters(...)`. A token takes 4 bytes for each of "
        "`16 * L * C + 2 * C + 3 * V` numbers, a text T times as much. Less than 0 is ...",
    ],
    question=number(
        "V = 10, T = 1, C = 2, L = 3 make 248 parameters. How many texts fit into 25,000 bytes?",
        lambda f: f(25_000, 10, 1, 2, 3),
        digits=0,
    ),
    mistakes={
        "memory - 16 -> memory - 0": "The parameters are not counted: each takes 16 bytes "
        "before the first text comes",
        "memory - 16 -> memory - 8": "AdamW's two averages are missing: a parameter takes 16 bytes",
        " + 3 * vocab_size -> ": "The loss is missing: three tables of logits, 3 V numbers for "
        "each token",
        "max(0, left // (token * T)) -> left // (token * T)": "Less than nothing cannot fit: "
        "0 where the parameters alone are too large",
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
    "15.3",
    "tokens_a_second(parameters, bytes_each, texts, peak, bandwidth) -> tokens a second of a "
    "decode step that writes a token for each of several texts",
    cases=(
        (8_190_735_360, 2, 1, 989e12, 3.35e12),
        (8_190_735_360, 2, 1000, 989e12, 3.35e12),  # beyond the ridge: the peak is the limit
    ),
    praise="`tokens_a_second` is right, below the ridge and above it.",
    more=drawn(12, _machine),
    right=[right_tokens_a_second],
    hints=[
        "How long does a step read, and how long does it compute? What if it does both at once?",
        "Reading takes `parameters * bytes_each / bandwidth` seconds, and computing two operations "
        "for each weight and text. The longer of the two is a step, which writes ...",
    ],
    question=number(
        "2 · 10⁹ parameters of 2 bytes, 8 texts, a peak of 10¹⁴ operations and a bandwidth of "
        "10¹² bytes a second. How many tokens a second?",
        lambda f: f(2e9, 2, 8, 1e14, 1e12),
        digits=0,
    ),
    mistakes={
        "max(reading, computing) -> reading": "That is the reading alone: with many texts the "
        "products take longer",
        "max(reading, computing) -> computing": "These are the products alone: with few texts, "
        "reading the weights takes longer",
        "max(reading, computing) -> (reading + computing)": "Both times are added, but a "
        "machine reads while it computes: take the longer one",
        "parameters * bytes_each -> parameters": "A weight takes `bytes_each` bytes, and all of "
        "them must be read",
        "return texts -> return 1": "These are steps a second: each step writes a token for "
        "every text",
        "* bytes_each -> * bytes_each * texts": "The weights are read once for all texts: that "
        "is what a batch is good for",
    },
)
