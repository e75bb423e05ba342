"""The exercises of chapter 10, from a bigram table to a GPT."""

import copy
import functools
from itertools import pairwise, takewhile
from operator import eq

import torch
from torch import nn

from scratchformer.attention import causal_mask
from scratchformer.blocks import TransformerBlock
from scratchformer.models.gpt import GPT as PackageGPT
from scratchformer.models.gpt import GPTConfig
from scratchformer.tokenizers import CharTokenizer
from scratchformer_course.kit.checks.cases import drawn, integers
from scratchformer_course.kit.checks.compare import same
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import Wrong, expect


def _generator(seed):
    return torch.Generator().manual_seed(seed)


def right_bigram_counts(ids, vocab_size):
    counts = torch.zeros(vocab_size, vocab_size)
    for a, b in pairwise(ids.tolist()):
        counts[a, b] += 1
    return counts


def counts_by_bincount(ids, vocab_size):
    codes = ids[:-1] * vocab_size + ids[1:]
    return torch.bincount(codes, minlength=vocab_size**2).view(vocab_size, vocab_size)


def _ids_of_few(draw):
    V = draw.randint(1, 7)
    return integers(draw, V, draw.randint(2, 60)), V + draw.randint(0, 2)


bigram_counts = exercise(
    "10.1",
    "bigram_counts(ids: (N,) int64, vocab_size) -> (V, V) counts, row = current, column = next",
    cases=(
        (torch.tensor([2, 0, 1, 0, 1, 2, 2]), 4),
        (torch.randint(5, (300,), generator=_generator(1)), 5),
        (torch.tensor([6, 3]), 9),
        (torch.tensor([1, 0, *[1] * 700]), 2),  # more than a byte can count
    ),
    more=drawn(8, _ids_of_few),
    right=[right_bigram_counts, counts_by_bincount],
    hints=[
        "How could one number stand for a pair, so that counting pairs is counting numbers?",
        "`ids[:-1] * vocab_size + ids[1:]` has a number for each pair. `torch.bincount` counts "
        "them, with `minlength=vocab_size**2`, and `view` makes the table.",
    ],
    question=number(
        "`ids` is [0, 0, 2, 0, 0, 2, 0, 2, 1], and the vocabulary has 3 tokens. What is in row "
        "0, column 2?",
        lambda f: f(torch.tensor([0, 0, 2, 0, 0, 2, 0, 2, 1]), 3)[0, 2],
        digits=1,
    ),
    mistakes=[
        mistake(
            "swaps rows and columns",
            "The table is transposed: the row is the current token, the column the next",
            lambda ids, V: right_bigram_counts(ids, V).T,
        ),
        mistake(
            "adds 1 with whole tensors, which drops repeats",
            "A pair seen twice counts once. `counts[a, b] += 1` with whole tensors writes each "
            "place once: use a loop, `bincount` or `index_put_(…, accumulate=True)`",
            lambda ids, V: torch.zeros(V, V).index_put((ids[:-1], ids[1:]), torch.ones(1)),
        ),
        mistake(
            "misses the last pair",
            "The last pair is missed: N tokens make N − 1 pairs",
            lambda ids, V: right_bigram_counts(ids[:-1], V),
        ),
        mistake(
            "divides each row by its sum",
            "These are probabilities: return the counts themselves",
            lambda ids, V: right_bigram_counts(ids, V) / ids[:-1].bincount(minlength=V)[:, None],
        ),
        mistake(
            "sizes the table by the largest id seen",
            "The table is vocab_size × vocab_size, also for tokens never seen",
            lambda ids, V: right_bigram_counts(ids, int(ids.max()) + 1),
        ),
    ],
)


SIZES = {"vocab_size": 11, "context_length": 8, "d_model": 12, "n_heads": 3, "n_layers": 2}
OTHER = {"vocab_size": 7, "context_length": 5, "d_model": 8, "n_heads": 2, "n_layers": 3}
STD, WIDE = 0.02, 48


def _expect_tied_and_small(model):
    """Raise `Wrong` unless `lm_head` shares the embedding's weight and the matrices start small.

    GPT-2 starts the last matrix of a sublayer smaller still, which does no harm.
    """
    tied = model.lm_head.weight is model.wte.weight
    expect(tied, "The outputs are right, but `lm_head` has a matrix of its own: tie it to `wte`.")
    for name, p in model.named_parameters():
        if p.dim() == 2:
            std = float(p.detach().std())
            start = f"The outputs are right, but `{name}` starts with a standard deviation of"
            asked = f"{start} {std:.2g}: {STD} is asked for."
            least = STD / 2 if name.endswith("c_proj.weight") else STD
            expect(0.8 * least < std < 1.25 * STD, asked)
        elif "ln_" in name:
            usual = float(name.endswith("weight"))
            moved = f"The outputs are right, but `{name}` does not start at {usual:g}, as a norm's"
            norm = f"{moved} does: only matrices get a small start, `p.dim() == 2`."
            expect(bool((p == usual).all()), norm)


def _expect_no_dropout(model, *inputs):
    """Raise `Wrong` unless the model says the same twice while it is trained."""
    model.train()
    with torch.no_grad():
        one, other = model(*inputs), model(*inputs)
    why = "In training, two calls on the same ids give different logits: no dropout is asked for."
    expect(same(one, other), why)


def gpt_cases():
    ids = torch.randint(7, (3, 8), generator=_generator(4))
    one = {"vocab_size": 13, "context_length": 3, "d_model": 6, "n_heads": 1, "n_layers": 1}
    return (SIZES, ids), (OTHER, ids[:2, :4]), (one, ids[:1, 2:3])


def judge_gpt(call):
    GPT.compare(call)
    torch.manual_seed(0)
    wide = SIZES | {"vocab_size": 40, "context_length": 40, "d_model": WIDE}
    model = call.given(**wide)
    _expect_tied_and_small(model)
    _expect_no_dropout(model, torch.arange(20).unsqueeze(0))
    return GPT.praise


class RightGPT(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, d_model)
        self.wpe = nn.Embedding(context_length, d_model)
        self.h = nn.ModuleList(TransformerBlock(d_model, n_heads) for _ in range(n_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        for p in self.parameters():
            if d_model < WIDE:
                nn.init.normal_(p, std=0.5)  # in the cases: with small weights few faults show
            elif p.dim() == 2:
                nn.init.normal_(p, std=STD)

    def embed(self, ids):
        return self.wte(ids) + self.wpe.weight[: ids.shape[1]]

    def stream(self, ids):
        x = self.embed(ids)
        for block in self.h:
            x = block(x, causal_mask(ids.shape[1]))
        return x

    def forward(self, ids):
        return self.lm_head(self.ln_f(self.stream(ids)))


class FromThePackage(PackageGPT):
    def __init__(self, vocab_size, context_length, d_model, n_heads, n_layers):
        sizes = (vocab_size, context_length, d_model, n_heads, n_layers)
        super().__init__(GPTConfig(*sizes))


class ForgetsTheMask(RightGPT):
    def stream(self, ids):
        x = self.embed(ids)
        for block in self.h:
            x = block(x)
        return x


class LeavesThePlacesOut(RightGPT):
    def embed(self, ids):
        return self.wte(ids)


class ForgetsTheLastNorm(RightGPT):
    def forward(self, ids):
        return self.lm_head(self.stream(ids))


def _rebuilt(change):
    """The right class, changed when it is built."""

    class Answer(RightGPT):
        def __init__(self, *sizes, **named):
            super().__init__(*sizes, **named)
            change(self)

    return Answer


GPT = exercise(
    "10.2",
    "GPT(vocab_size, context_length, d_model, n_heads, n_layers): ids (B, T) -> logits (B, T, V). "
    "Its parts are called `wte`, `wpe`, `h`, `ln_f` and `lm_head`.",
    cases=gpt_cases,
    praise="`GPT` is right: a whole language model, tied and started small.",
    judge=judge_gpt,
    right=[RightGPT, FromThePackage],
    hints=[
        "Through which parts do the ids go one after the other, and where does their number T "
        "matter?",
        "`x = self.wte(ids) + self.wpe.weight[:T]`. Each block of `self.h` gets `x` and "
        "`causal_mask(T)`, and `ln_f` and `lm_head` come last. Tie the two weights before you fill "
        "them.",
    ],
    question=number(
        "GPT(vocab_size=5, context_length=3, d_model=2, n_heads=1, n_layers=2): one of its blocks "
        "has 74 parameters. How many has the whole model?",
        lambda f: sum(p.numel() for p in f(5, 3, 2, 1, 2).parameters()),
        digits=0,
    ),
    mistakes=[
        mistake(
            "forgets the mask", "No block gets a mask: each place sees its future", ForgetsTheMask
        ),
        mistake(
            "leaves the places out",
            "`wpe` is not used: add the vector of the place to that of the token",
            LeavesThePlacesOut,
        ),
        mistake(
            "forgets the last norm",
            "`ln_f` is not used: it comes before `lm_head`",
            ForgetsTheLastNorm,
        ),
        refused(
            "holds the blocks in a list",
            "the parameter `h.0.attn.c_attn.bias` is missing",
            _rebuilt(lambda self: self.__dict__.update(h=list(self._modules.pop("h")))),
        ),
        refused(
            "has a bias in `lm_head`",
            "the parameter `lm_head.bias` is not in the exercise's stub",
            _rebuilt(lambda self: setattr(self, "lm_head", nn.Linear(*self.wte.weight.T.shape))),
        ),
        refused(
            "does not tie",
            "`lm_head` has a matrix of its own",
            _rebuilt(lambda self: setattr(self, "lm_head", copy.deepcopy(self.lm_head))),
        ),
    ],
)


LOGITS = torch.tensor([2.5, 1.5, 0.5, 0.25])
NEAR = torch.tensor([-0.1, 0.1, -0.2, 0.0])
UNSORTED = torch.tensor([0.3, -1.0, 1.7, 0.9, -9.0, 1.1])
FAR = (torch.tensor([1000.0, 1100.0, 900.0]), torch.tensor([-1100.0, -1000.0, -1200.0]))


def _draws(
    call,
    temperature,
    seed,
    count,
    logits=LOGITS,
    why="Are these probabilities? Softmax comes first",
):
    """Many tokens drawn with one generator."""
    generator, tokens = _generator(seed), []
    for _ in range(count):
        call(logits, temperature, generator)
        if isinstance(call.error, RuntimeError) and "prob" in str(call.error):
            raise Wrong(f"{why}.\n{call.failure()}")
        token = call.like(0, "`.item()` turns a tensor of one element into an int.")
        expect(0 <= token < len(logits), f"`{token}` is no token: 0 to {len(logits) - 1} are.")
        tokens.append(token)
    return tokens


def _expect_shares(tokens, temperature, logits):
    """Raise `Wrong` unless the tokens come about as often as they should."""
    shares = torch.bincount(torch.tensor(tokens), minlength=len(logits)) / len(tokens)

    def near(p):
        return (shares - p).abs().max() <= 1.6 / len(tokens) ** 0.5  # three standard deviations

    right = (logits / temperature).softmax(dim=0)
    if near(right):
        return
    figures, wanted = (", ".join(f"{p:.2f}" for p in each) for each in (shares, right))
    shown = f"At temperature {temperature:g} the tokens' shares are {figures}, expected {wanted}."
    for wrong, why in (
        ((logits * temperature).softmax(0), "Logits are multiplied by the temperature: divide"),
        (logits.softmax(0), "The temperature has no effect: divide the logits by it"),
        (logits / logits.sum(), "The logits themselves are used as weights: softmax is missing"),
    ):
        expect(not near(wrong), f"{why}.\n{shown}")
    raise Wrong(shown)


def judge_sample_next(call):
    one, again, other = (_draws(call, 1.0, seed, 30) for seed in (1, 1, 2))
    if len({*one, *other}) == 1:
        likeliest = "The likeliest token comes every time"
        expect(one[0] != 0, f"{likeliest}: draw at random, and set no seed inside.")
        raise Wrong(f"Token {one[0]} comes every time: is a new seed set inside the function?")
    differ = "Two generators with equal seeds give different tokens"
    expect(one == again, f"{differ}: pass `generator` on to the draw.")
    alike = "Generators with different seeds give the same tokens: is a seed set inside?"
    expect(one != other, alike)
    for temperature, logits, count in (
        (0.5, LOGITS, 450),
        (2.0, LOGITS, 450),
        (0.8, UNSORTED, 160),
        (0.1, NEAR, 450),
    ):
        _expect_shares(_draws(call, temperature, 5, count, logits), temperature, logits)
    why = "`exp` makes infinity or 0 of logits far from 0: use `torch.softmax`"
    for logits in FAR:
        expect(set(_draws(call, 1.0, 4, 5, logits, why)) == {1}, f"{why}.")


def right_sample_next(logits, temperature, generator):
    p = torch.softmax(logits / temperature, dim=0)
    drawn = torch.multinomial(p, 1, generator=generator)
    return drawn.item()


def sample_by_running_sum(logits, temperature, generator):
    p = torch.softmax(logits / temperature, dim=0)
    point = torch.rand(1, generator=generator)
    token = int((p.cumsum(dim=0) < point).sum())
    return min(token, len(logits) - 1)


def divides_the_probabilities(logits, temperature, generator):
    p = torch.softmax(logits, dim=0) / temperature
    drawn = torch.multinomial(p, 1, generator=generator)
    return drawn.item()


sample_next = exercise(
    "10.3",
    "sample_next(logits: (V,), temperature: float, generator: torch.Generator) -> int. A whole "
    "number is needed; a tensor without dimensions counts as one, shape (1,) does not. All "
    "generators are seeded here, so the verdict is always the same.",
    judge=judge_sample_next,
    right=[right_sample_next, sample_by_running_sum],
    hints=[
        "What must be divided by the temperature: the logits, or their probabilities?",
        "`torch.multinomial(p, 1, generator=generator)` draws one id from the probabilities p, as"
        " a tensor of shape (1,).",
    ],
    question=which(
        "divides the probabilities by the temperature",
        beside=[right_sample_next, sample_by_running_sum],
        others=["draws from the logits without softmax", "ignores the generator"],
    ),
    mistakes=[
        refused(
            "multiplies by the temperature",
            "multiplied by the temperature",
            lambda logits, T, generator: right_sample_next(logits, 1 / T, generator),
        ),
        refused(
            "divides the probabilities by the temperature",
            "The temperature has no effect",
            divides_the_probabilities,
        ),
        refused(
            "ignores the generator",
            "pass `generator` on",
            lambda logits, T, generator: right_sample_next(logits, T, None),
        ),
        refused(
            "draws from the logits without softmax",
            "softmax is missing",
            lambda logits, T, generator: (logits / T).multinomial(1, generator=generator).item(),
        ),
        refused(
            "takes `exp` without care",
            "of logits far from 0",
            lambda logits, T, generator: (
                (logits / T).exp().multinomial(1, generator=generator).item()
            ),
        ),
    ],
)


LONGEST, SAME, APART = 64, 12, 0.5  # of a far pair: characters, the same ending, the distance


@functools.cache
def _shipped():
    name = "tiny-shakespeare"
    return PackageGPT.pretrained(name).eval(), CharTokenizer.pretrained(name)


def _expects(text):
    """What the shipped model expects after `text`, (V,)."""
    model, tok = _shipped()
    with torch.no_grad():
        return model(torch.tensor([tok.encode(text)]))[0, -1].softmax(dim=0)


def judge_far_pair(call):
    pair = call(SAME).like(("ab", "cb"), "Return two texts: `return one, other`.")
    _, tok = _shipped()
    for text in pair:
        unknown = sorted({c for c in text if c not in tok.ids})
        expect(not unknown, f"The model has never met {unknown}: it knows the plays' characters.")
        expect(len(text) <= LONGEST, f"{len(text)} characters: {LONGEST} are allowed.")
    n = len(list(takewhile(bool, map(eq, *(text[::-1] for text in pair)))))
    expect(pair[0] != pair[1], "The two texts are the same.")
    expect(n >= SAME, f"The last {n} characters are the same: the last {SAME} have to be.")
    p, q = (_expects(text) for text in pair)
    apart = float((p - q).abs().sum()) / 2
    likeliest = " and ".join(f"{tok.decode([int(r.argmax())])!r} {r.max():.2f}" for r in (p, q))
    measured = f"the two answers are {apart:.2f} apart ({likeliest})"
    expect(apart >= APART, f"The last {n} characters are the same, and {measured}: reach {APART}.")
    return f"The last {n} characters are the same, and {measured}."


def right_far_pair(n):
    scene = ":\nWhat, is he gone?\n\nISABELLA:\nYes.\n\nDUKE "
    return "DUKE VINCENTIO" + scene, "DUKE OF YORK" + scene


def asks_for_a_name(n):
    a, b = "Whence are you, sir? ", " may I call your name"
    return a + "what" + b, a + "thus" + b


def differs_too_near(n):
    return "and what thou offer's", "and what he offer's"


far_pair = exercise(
    "10.4",
    "far_pair(n) -> two texts of at most 64 characters with the same last n, n = 12. The check "
    "asks the model that ships with the course what comes next, and adds up the differences of the "
    "65 probabilities. Half the sum is 0 for equal answers, and 1 for answers that share nothing.",
    judge=judge_far_pair,
    right=[right_far_pair, asks_for_a_name],
    hints=[
        "Which words of a play make it certain what comes some lines later? Think of questions, of "
        "*thou*, and of the names of those who speak.",
        "Who asks a question is named again after the answer. And a far `what` asks for a question "
        "mark.",
    ],
    question=which(
        "differs too near the end",
        beside=[asks_for_a_name],
        others=["returns the same text twice", "differs far back, where nothing depends on it"],
    ),
    mistakes=[
        refused("differs too near the end", "The last 8 characters are the same", differs_too_near),
        refused(
            "differs far back, where nothing depends on it",
            "reach 0.5",
            lambda n: ("Where is the noble duke of Norfolk", "Here is the noble duke of Norfolk"),
        ),
        refused(
            "returns the same text twice",
            "The two texts are the same",
            lambda n: ("What is your name", "What is your name"),
        ),
        refused(
            "writes too much",
            "64 are allowed",
            lambda n: ("a" * 70 + right_far_pair(n)[0], right_far_pair(n)[1]),
        ),
        refused(
            "uses characters that no play has",
            "has never met",
            lambda n: ("König, " + "what is your name", "Fool, " + "what is your name"),
        ),
    ],
)
