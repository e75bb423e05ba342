"""The exercises of chapter 15, costs: parameters, the time of a token, tokens a second."""

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


def right_fixed_seconds(bytes_1, seconds_1, bytes_2, seconds_2):
    seconds_a_byte = (seconds_2 - seconds_1) / (bytes_2 - bytes_1)
    return seconds_1 - seconds_a_byte * bytes_1


def _two_models(draw):
    fixed, bandwidth = draw.uniform(0.001, 0.1), 10.0 ** draw.uniform(9, 12)
    sizes = [bandwidth * fixed * x for x in draw.sample((0.1, 0.3, 0.7, 1.0, 2.0, 5.0), 2)]
    return tuple(x for size in sizes for x in (size, fixed + size / bandwidth))


fixed_seconds = exercise(
    "15.2",
    "fixed_seconds(bytes_1, seconds_1, bytes_2, seconds_2) -> seconds of a token that two models "
    "do not spend on reading: the first reads bytes_1 and takes seconds_1",
    cases=(
        (100e6, 0.007, 200e6, 0.009),
        (538e6, 0.060, 111e6, 0.030),  # the larger one comes first
        (4e9, 0.040, 1e9, 0.010),  # all of the time is reading
    ),
    praise="`fixed_seconds` is right: two timings tell reading from everything else.",
    more=drawn(12, _two_models),
    right=[right_fixed_seconds],
    hints=[
        "Draw seconds over bytes: two models are two points of a line. Where is its value for no "
        "bytes at all?",
        "The slope, `(seconds_2 - seconds_1) / (bytes_2 - bytes_1)`, is seconds for each byte. Go "
        "back from the first model by `bytes_1` of them: `seconds_1 - ...`.",
    ],
    question=number(
        "One model reads 200 MB for a token and takes 9 milliseconds, the other 500 MB and 15. "
        "How many milliseconds are not spent on reading?",
        lambda f: f(200, 9, 500, 15),
        digits=1,
    ),
    mistakes={
        "(seconds_2 - seconds_1) / (bytes_2 - bytes_1) -> seconds_2 / bytes_2": "The second "
        "model's seconds are taken for reading alone, but they have the fixed part in them",
        "(seconds_2 - seconds_1) / (bytes_2 - bytes_1) -> seconds_1 / bytes_1": "The first "
        "model's seconds are taken for reading alone, so nothing is left",
        "seconds_1 - seconds_a_byte * bytes_1 -> seconds_a_byte * bytes_1": "That is the time of "
        "reading: the rest of the seconds is wanted",
        "seconds_a_byte * bytes_1 -> seconds_a_byte * bytes_2": "The bytes of the second model are "
        "taken from the seconds of the first",
        "seconds_a_byte * bytes_1 -> seconds_a_byte * (bytes_2 - bytes_1)": "What the second model "
        "takes longer is taken away: the first one has bytes of its own to read",
        "seconds_1 - seconds_a_byte * bytes_1 -> 1 / seconds_a_byte": "That is the bandwidth, in "
        "bytes a second",
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
        "machine reads while it computes: take the longer one",
        "parameters * bytes_each -> parameters": "A weight takes `bytes_each` bytes, and all of "
        "them must be read",
        "return texts -> return 1": "These are steps a second: each step writes a token for "
        "every text",
        "* bytes_each -> * bytes_each * texts": "The weights are read once for all texts: that "
        "is what a batch is good for",
    },
)
