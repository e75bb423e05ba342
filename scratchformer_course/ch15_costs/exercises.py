"""The exercises of chapter 15, costs. Imports no torch."""

from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number


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


gpt_parameters = exercise(
    "15.1",
    "gpt_parameters(vocab_size, context_length, d_model, n_layers) -> parameters of a GPT",
    cases=((65, 16, 8, 3), (11, 4, 6, 1), (7, 29, 10, 5), (50_257, 1024, 768, 12)),
    praise="`gpt_parameters` is right: the last call was GPT-2's smallest, 124,439,808.",
    right=[
        lambda vocab_size, context_length, d_model, n_layers: _gpt(
            vocab_size, context_length, d_model, n_layers
        ),
        parameters_by_layer,
    ],
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
            lambda V, T, C, L: _gpt(V, T, C, L, end=0),
        ),
        mistake(
            "forgets the positions",
            "The position table is missing: a vector for each position",
            lambda V, T, C, L: _gpt(V, 0, C, L),
        ),
        mistake(
            "forgets the token table",
            "The token table is missing: a vector for each token",
            lambda V, T, C, L: _gpt(0, T, C, L),
        ),
        mistake(
            "forgets both tables",
            "The two tables are missing: count tokens and positions too",
            lambda V, T, C, L: _gpt(0, 0, C, L),
        ),
        mistake(
            "counts matrices only",
            "Only the matrices are counted: biases and norms add 13 C",
            lambda V, T, C, L: _gpt(V, T, C, L, vectors=0, end=0),
        ),
        mistake(
            "counts matrices and the last norm only",
            "The 13 C of biases and norms in a block are missing",
            lambda V, T, C, L: _gpt(V, T, C, L, vectors=0),
        ),
        mistake(
            "forgets the norms of a block",
            "4 C are missing in each block: those of its two norms, a weight and a bias each, or "
            "the biases of attention, 3 C and C",
            lambda V, T, C, L: _gpt(V, T, C, L, vectors=9),
        ),
        mistake(
            "gives the wide layer C biases",
            "3 C are missing in each block: the layer that widens to 4 C has 4 C biases",
            lambda V, T, C, L: _gpt(V, T, C, L, vectors=10),
        ),
        mistake(
            "forgets the biases of the norms",
            "A norm has a weight and a bias, 2 C: here is one of the two",
            lambda V, T, C, L: _gpt(V, T, C, L, vectors=11, end=1),
        ),
        mistake(
            "forgets the biases",
            "The biases of the linear layers are missing: 3 C, C, 4 C and C",
            lambda V, T, C, L: _gpt(V, T, C, L, vectors=4),
        ),
        mistake(
            "forgets the projection back",
            "Attention has four matrices: the projection back is missing",
            lambda V, T, C, L: _gpt(V, T, C, L, matrices=11),
        ),
        mistake(
            "counts half a feed-forward network",
            "The network widens to 4 C and comes back: two matrices of 4 C²",
            lambda V, T, C, L: _gpt(V, T, C, L, matrices=8),
        ),
        mistake(
            "counts one block", "Only one block is counted", lambda V, T, C, L: _gpt(V, T, C, 1)
        ),
        mistake(
            "counts a last norm for each block",
            "The last norm stands once, behind all blocks",
            lambda V, T, C, L: _gpt(V, T, C, L, end=2 * L),
        ),
    ],
)


def _flops(V, T, C, L, weights=12, scores=2, head=1):
    """Forward: a block multiplies by so many times C² weights, and forms so many T² products."""
    return L * (2 * T * weights * C * C + scores * 2 * T * T * C) + head * 2 * T * C * V


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
    right=[
        lambda vocab_size, T, d_model, n_layers: _flops(vocab_size, T, d_model, n_layers),
        flops_by_product,
    ],
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
            lambda V, T, C, L: _flops(V, T, C, L, scores=0),
        ),
        mistake(
            "counts the scores or the mixing",
            "Attention has two products of T times T times C, all pairs counted: here is one",
            lambda V, T, C, L: _flops(V, T, C, L, scores=1),
        ),
        mistake(
            "forgets the head",
            "The output head is missing: a product with V rows of C weights",
            lambda V, T, C, L: _flops(V, T, C, L, head=0),
        ),
        mistake(
            "forgets the head and the scores",
            "Only the weights of the blocks are counted: the head and attention's T² are missing",
            lambda V, T, C, L: _flops(V, T, C, L, scores=0, head=0),
        ),
        mistake(
            "counts the tables as products",
            "A table is looked up, not multiplied: only the head counts V",
            lambda V, T, C, L: _flops(V, T, C, L) + 2 * T * C * (V + T),
        ),
        mistake(
            "counts every parameter twice",
            "That is 2 N T: it counts biases, norms and positions, and no scores",
            lambda V, T, C, L: 2 * T * _gpt(V, T, C, L),
        ),
        mistake(
            "counts one token",
            "That is for one token: there are T",
            lambda V, T, C, L: _flops(V, T, C, L) // T,
        ),
        mistake(
            "lets each token see one",
            "Each of the T tokens is compared with all T: the scores need T²",
            lambda V, T, C, L: _flops(V, T, C, L, scores=0) + L * 4 * T * C,
        ),
        mistake(
            "counts one block", "Only one block is counted", lambda V, T, C, L: _flops(V, T, C, 1)
        ),
        mistake(
            "counts a head for each block",
            "The head stands once, behind all blocks",
            lambda V, T, C, L: _flops(V, T, C, L, head=L),
        ),
        mistake(
            "counts half a feed-forward network",
            "The network widens to 4 C and comes back: two matrices of 4 C²",
            lambda V, T, C, L: _flops(V, T, C, L, weights=8),
        ),
        mistake(
            "forgets the projection back",
            "Attention has four matrices: the projection back is missing",
            lambda V, T, C, L: _flops(V, T, C, L, weights=11),
        ),
        mistake(
            "counts the backward pass too",
            "That is training, forward and backward: only the forward pass is asked for",
            lambda V, T, C, L: 3 * _flops(V, T, C, L),
        ),
    ],
)


def right_training_days(parameters, tokens, devices, peak, share):
    return 6 * parameters * tokens / (devices * peak * share) / 86_400


def days_in_steps(parameters, tokens, devices, peak, share):
    forward = 2 * parameters * tokens
    backward = 2 * forward
    return (forward + backward) / devices / peak / share / 60 / 60 / 24


training_days = exercise(
    "15.3",
    "training_days(parameters, tokens, devices, peak, share) -> days of training, 6 N D",
    cases=(
        (124e6, 10e9, 8, 312e12, 0.4),
        (2.5e9, 100e9, 64, 1e15, 0.35),
        (7e9, 2e12, 512, 3e14, 0.5),
        (3e6, 1e9, 1, 2e10, 1.0),
        (70e9, 15e12, 16, 1e14, 0.05),
        (1e6, 1e9, 11, 1e12, 0.5),  # a few minutes
        (1e5, 1e7, 1, 1e12, 0.5),  # seconds: four digits behind the point are too few
    ),
    praise="`training_days` is right. Try it with GPT-3's 175 billion parameters.",
    right=[
        right_training_days,
        days_in_steps,
    ],
    hints=[
        "How many operations are there to do, and how many are done in a second?",
        "Divide `6 * parameters * tokens` by `devices * peak * share`. That is in seconds, and a "
        "day has ...",
    ],
    question=number(
        "2 · 10⁹ parameters read 1.8 · 10¹¹ tokens, on 10 devices with a peak of 10¹⁵ operations a "
        "second and a share of 0.5. How many days? (A day has 86,400 seconds. Give two digits "
        "behind the point.)",
        lambda f: f(2e9, 1.8e11, 10, 1e15, 0.5),
    ),
    mistakes=[
        mistake(
            "counts the forward pass only",
            "2 N D is the forward pass: the backward pass costs twice as much again",
            lambda parameters, *rest: right_training_days(parameters / 3, *rest),
        ),
        mistake(
            "counts the backward pass only",
            "4 N D is the backward pass: the forward pass is missing",
            lambda parameters, *rest: right_training_days(parameters * 2 / 3, *rest),
        ),
        mistake(
            "counts one operation a parameter",
            "N D counts no operations: each parameter costs 6 for a token",
            lambda parameters, *rest: right_training_days(parameters / 6, *rest),
        ),
        mistake(
            "returns seconds",
            "These are seconds: a day has 86,400",
            lambda *case: right_training_days(*case) * 86_400,
        ),
        mistake(
            "returns hours",
            "These are hours: a day has 24",
            lambda *case: right_training_days(*case) * 24,
        ),
        mistake(
            "runs at the peak",
            "The share is missing: no device reaches its peak",
            lambda parameters, tokens, devices, peak, share: right_training_days(
                parameters, tokens, devices, peak, 1.0
            ),
        ),
        mistake(
            "multiplies by the share",
            "Multiplied by the share: what is reached is less, so divide",
            lambda parameters, tokens, devices, peak, share: right_training_days(
                parameters, tokens, devices, peak, 1 / share
            ),
        ),
        mistake(
            "counts one device",
            "That is one device alone: the work is shared",
            lambda parameters, tokens, devices, peak, share: right_training_days(
                parameters, tokens, 1, peak, share
            ),
        ),
        mistake(
            "multiplies by the devices",
            "More devices make it longer here: divide by their number",
            lambda parameters, tokens, devices, peak, share: right_training_days(
                parameters, tokens, 1 / devices, peak, share
            ),
        ),
        mistake(
            "upside down",
            "This is upside down: operations over operations a second",
            lambda *case: 1 / right_training_days(*case),
        ),
    ],
)


def _fits(memory, V, T, C, L, *, state=16, blocks=16, logits=3, last=2, size=4):
    """Whole texts beside the parameters' `state` bytes each: so many C a block, so many V."""
    one = size * T * (L * blocks * C + last * C + logits * V)
    return max(0, (memory - state * _gpt(V, T, C, L)) // one)


def _memory(texts, V, T, C, L):
    """Bytes that hold so many texts, and not one byte more."""
    return 16 * _gpt(V, T, C, L) + 4 * texts * T * (L * 16 * C + 2 * C + 3 * V)


def batch_by_float_division(memory, vocab_size, T, d_model, n_layers):
    left = memory - 16 * _gpt(vocab_size, T, d_model, n_layers)
    token = 4 * ((16 * n_layers + 2) * d_model + 3 * vocab_size)
    if left < 0:
        return 0
    return int(left / (token * T))


def counts_one_block(memory, *sizes):
    V, T, C, L = sizes
    return max(0, (memory - 16 * _gpt(V, T, C, L)) // (4 * T * (18 * C + 3 * V)))


def returns_tokens(memory, V, T, C, L):
    one = 4 * (L * 16 * C + 2 * C + 3 * V)
    return max(0, (memory - 16 * _gpt(V, T, C, L)) // one)


def returns_a_fraction(memory, V, T, C, L):
    one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
    return max(0, memory - 16 * _gpt(V, T, C, L)) / one


def rounds_up(memory, V, T, C, L):
    one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
    return max(0, -((16 * _gpt(V, T, C, L) - memory) // one))


def goes_below_zero(memory, V, T, C, L):
    one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
    return (memory - 16 * _gpt(V, T, C, L)) // one


def cuts_off_towards_zero(memory, V, T, C, L):
    one = 4 * T * (L * 16 * C + 2 * C + 3 * V)
    return int((memory - 16 * _gpt(V, T, C, L)) / one)


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
    right=[
        lambda memory, vocab_size, T, d_model, n_layers: _fits(
            memory, vocab_size, T, d_model, n_layers
        ),
        batch_by_float_division,
    ],
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
            lambda memory, *sizes: _fits(memory, *sizes, state=0),
        ),
        mistake(
            "counts the weights alone",
            "4 bytes are the weight alone: its gradient and AdamW's two averages take 12 more",
            lambda memory, *sizes: _fits(memory, *sizes, state=4),
        ),
        mistake(
            "forgets the optimizer",
            "AdamW's two averages are missing: a parameter takes 16 bytes",
            lambda memory, *sizes: _fits(memory, *sizes, state=8),
        ),
        mistake(
            "forgets one of the averages",
            "AdamW keeps two averages for each parameter, so it takes 16 bytes",
            lambda memory, *sizes: _fits(memory, *sizes, state=12),
        ),
        mistake(
            "forgets the loss",
            "The loss is missing: three tables of logits, 3 V numbers for each token",
            lambda memory, *sizes: _fits(memory, *sizes, logits=0),
        ),
        mistake(
            "counts the table that is kept",
            "One table of logits is kept, but three are there in the loss's backward pass",
            lambda memory, *sizes: _fits(memory, *sizes, logits=1),
        ),
        mistake(
            "counts the two new tables alone",
            "The loss keeps a table already: with the two new ones there are three",
            lambda memory, *sizes: _fits(memory, *sizes, logits=2),
        ),
        mistake(
            "forgets the last norm",
            "The last norm is missing: it keeps 2 C numbers for each token",
            lambda memory, *sizes: _fits(memory, *sizes, last=0),
        ),
        mistake("counts one block", "Every block keeps 16 C numbers: L times", counts_one_block),
        mistake(
            "counts numbers instead of bytes",
            "Numbers are no bytes: each kept number takes 4",
            lambda memory, *sizes: _fits(memory, *sizes, size=1),
        ),
        mistake(
            "returns tokens",
            "These are tokens: how many whole texts of T tokens are they?",
            returns_tokens,
        ),
        refused("returns a fraction", "but an int such as", returns_a_fraction),
        mistake("rounds up", "Rounded up: a part of a text does not fit", rounds_up),
        *alike(
            "Less than nothing cannot fit: 0 where the parameters alone are too large",
            {"goes below zero": goes_below_zero, "cuts off towards zero": cuts_off_towards_zero},
        ),
    ],
)
