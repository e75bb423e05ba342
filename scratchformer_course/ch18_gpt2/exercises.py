"""The exercises of chapter 18, GPT-2."""

from collections import Counter
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch
from torch.nn import functional as F

from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import CharTokenizer
from scratchformer.tokenizers.merging import apply_merges
from scratchformer_course.kit.checks.cases import drawn
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import Wrong, expect

MASKS = (".attn.bias", ".attn.masked_bias")  # what old files hold besides: the causal masks


def _gpt2_file(prefix, blocks, is_old, V=9, T=6, C=6):
    """Small random weights under GPT-2's names; where T = C the table of positions is square."""
    generator = torch.Generator().manual_seed(17)
    block = {"ln_1": (C,), "ln_2": (C,), "attn.c_attn": (C, 3 * C), "attn.c_proj": (C, C)}
    block |= {"mlp.c_fc": (C, 4 * C), "mlp.c_proj": (4 * C, C)}
    shapes = {"wte.weight": (V, C), "wpe.weight": (T, C), "ln_f.weight": (C,), "ln_f.bias": (C,)}
    for i in blocks:
        for name, shape in block.items():
            shapes |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[-1:]}
        if is_old:
            shapes |= {f"h.{i}.attn.bias": (1, 1, T, T), f"h.{i}.attn.masked_bias": ()}
    weights = {prefix + n: torch.randn(s, generator=generator) for n, s in shapes.items()}
    return ({"lm_head.weight": weights[f"{prefix}wte.weight"].clone()} if is_old else {}) | weights


FILES = (
    _gpt2_file("transformer.", (0, 1), is_old=True),
    _gpt2_file("", (0, 10), is_old=True),
    _gpt2_file("transformer.", (0,), is_old=False),
    _gpt2_file("", (0, 1, 2), is_old=False, V=4, T=7, C=4),  # the table of tokens is square
    {"transformer.ln_f.bias": torch.ones(6), "lm_head.weight": torch.ones(9, 6)},
)


def _translated(
    weights,
    skips=(*MASKS, "lm_head.weight"),
    turns=lambda name, t: name.startswith("h.") and t.dim() == 2,
):
    """The right answer, or one that differs in what it leaves out or transposes."""
    ours = {n.removeprefix("transformer."): t for n, t in weights.items() if not n.endswith(skips)}
    return {name: t.T if turns(name, t) else t for name, t in ours.items()}


def judge_from_gpt2(call):
    for weights in FILES:
        right = _translated(weights)
        got = call(weights).like(right, "Return a dict of tensors.")
        for name in sorted(got.keys() - right.keys()):
            why = "is no name of ours"
            if name == "lm_head.weight":
                why = "is the token table itself, which is there already: leave it out"
            elif name.endswith(MASKS):
                why = "is no bias but a causal mask, and no parameter of ours"
            raise Wrong(f"`{name}` {why}.")
        for name, tensor in sorted(right.items()):
            why = ": its name ends in `attn.bias` too, but it is a real bias" * ("c_attn.b" in name)
            expect(name in got, f"`{name}` is missing{why}.")
            why = "has changed, but not by transposing it"
            if tensor.dim() == 2 and torch.equal(got[name], tensor.T):
                why = "is (in, out) in the file: transpose it"
                if name in ("wte.weight", "wpe.weight"):
                    why = "is a table with a row for each id: do not transpose it"
            expect(torch.equal(got[name], tensor), f"`{name}` {why}.")
    return "`from_gpt2` is right for old and new files: 4 matrices of each block are transposed."


def from_gpt2_by_suffix(weights):
    matrices = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    ours = {}
    for name in weights:
        parts = name.replace("transformer.", "").split(".")
        if parts[0] == "lm_head" or parts[-2] == "attn":
            continue
        transposed = name.endswith(matrices)
        ours[".".join(parts)] = weights[name].t().contiguous() if transposed else weights[name]
    return ours


from_gpt2 = exercise(
    "18.1",
    "from_gpt2(weights: dict of GPT-2's names and tensors) -> dict with ours",
    judge=judge_from_gpt2,
    right=[lambda weights: _translated(weights), from_gpt2_by_suffix],
    hints=[
        "Which tensors of the file are no parameters of yours, and which of the rest are matrices "
        "that a vector multiplies from the left?",
        "Cut the prefix off with `removeprefix`, leave out `lm_head.weight` and what ends in "
        "`.attn.bias` or `.attn.masked_bias`, and transpose what has two axes and a name that "
        "begins with ...",
    ],
    question=number(
        "An old file has one block and 19 tensors: `wte.weight`, `wpe.weight`, and weight and bias "
        "of `ln_f`; of the block weight and bias of `ln_1`, `ln_2`, `attn.c_attn`, `attn.c_proj`, "
        "`mlp.c_fc` and `mlp.c_proj`; and `attn.bias`, `attn.masked_bias` and `lm_head.weight`. "
        "How many tensors does `from_gpt2` return?",
        lambda f: len(f(_gpt2_file("transformer.", (0,), is_old=True))),
        digits=0,
    ),
    mistakes=[
        refused(
            "transposes nothing",
            "is (in, out) in the file: transpose it",
            lambda weights: _translated(weights, turns=lambda name, t: False),
        ),
        refused(
            "transposes every matrix",
            "is a table with a row for each id",
            lambda weights: _translated(weights, turns=lambda name, t: t.dim() == 2),
        ),
        refused(
            "keeps the masks",
            "is no bias but a causal mask",
            lambda weights: _translated(weights, skips="lm_head.weight"),
        ),
        refused(
            "keeps the head",
            "is the token table itself",
            lambda weights: _translated(weights, skips=MASKS),
        ),
        refused(
            "drops the bias of `c_attn`",
            "its name ends in `attn.bias` too",
            lambda weights: _translated(
                weights, skips=("attn.bias", "masked_bias", "lm_head.weight")
            ),
        ),
    ],
)


def _merged(tokens, choose=lambda ranks: min(ranks, key=ranks.get)):
    """The right answer, or one with another choice among the neighbours that may be joined."""
    found = []
    for token in tokens:
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            joined = enumerate(a + b for a, b in pairwise(parts))
            k = choose({k: tokens.index(pair) for k, pair in joined if pair in tokens})
            parts[k : k + 2] = [parts[k] + parts[k + 1]]
        if len(parts) == 2:
            found.append(tuple(parts))
    return found


def _rank(known, left, right):
    return known.get(left + right)


def merges_by_tokenizer(tokens):
    found = []
    for i, token in enumerate(tokens):
        earlier = {other: rank for rank, other in enumerate(tokens[:i])}
        parts = apply_merges([bytes([b]) for b in token], partial(_rank, earlier))
        if len(parts) == 2:
            found.append(tuple(parts))
    return found


def first_cuts(tokens):
    cuts = [[(token[:k], token[k:]) for k in range(1, len(token))] for token in tokens]
    known = [[cut for cut in of_token if {*cut} <= {*tokens}] for of_token in cuts]
    return [of_token[0] for of_token in known if of_token]


def _vocabulary(draw):
    """What byte pair encoding learns from a text of few letters."""
    parts = [bytes([byte]) for byte in draw.choices(b"abcd", k=60)]
    tokens = [bytes([byte]) for byte in draw.sample(b"abcd", 4)]
    for _ in range(draw.randint(3, 12)):
        pairs = Counter(pair for pair in pairwise(parts) if pair[0] + pair[1] not in tokens)
        pair = max(pairs, key=lambda pair: (pairs[pair], pair))
        tokens.append(pair[0] + pair[1])
        i = 0
        while i < len(parts) - 1:
            if (parts[i], parts[i + 1]) == pair:
                parts[i : i + 2] = [tokens[-1]]
            i += 1
    return tokens


_EIGHT = [b"a", b"b", b"c", b"d", b"bc", b"abc", b"abcd", b"bcd"]

find_merges = exercise(
    "18.2",
    "find_merges(tokens: list of bytes, in the order of learning) -> list of pairs of bytes",
    cases=(
        [b"a", b"b", b"c", b"ab", b"bc", b"abc"],
        [b"a", b"b", b"c", b"bc", b"ab", b"abc"],
        [b"h", b"e", b"t", b"r", b"th", b"he", b"er", b"the", b"ther", b"there"],
        [b"h", b"e", b"t", b"r", b"he", b"er", b"th", b"the", b"ther", b"there"],
        [b"\xe2", b"\x80", b"\x99", b"\xe2\x80", b"\xe2\x80\x99"],
        [b"a", b"b", b"c", b"d", b"cd", b"ab", b"abcd"],
        [b"x", b"y"],
        [b"o", b"h", b"oo", b"ooo", b"ooooo", b"oooo", b"hoo"],  # the leftmost of equal pairs
        _EIGHT,
    ),
    more=drawn(12, lambda draw: (_vocabulary(draw),)),
    praise="`find_merges` is right in all 9 vocabularies, and it goes by the order of learning.",
    right=[lambda tokens: _merged(tokens), merges_by_tokenizer],
    hints=[
        "Into which parts would the tokenizer merge the bytes of a token, if it did not know the "
        "token itself yet?",
        "Begin with single bytes. While more than two parts are left, join the two neighbours "
        "whose token has the smallest ...",
    ],
    question=number(
        "The tokens are `a`, `b`, `c`, `d`, `bc`, `abc`, `abcd` and `bcd`, in the order of "
        "learning. How many bytes has the left part of each pair? Write the four numbers one after "
        "the other.",
        lambda f: int("".join(str(len(left)) for left, _ in f(_EIGHT))),
        digits=0,
    ),
    mistakes=[
        mistake(
            "takes the first cut into two tokens",
            "This cut gives two tokens, but not those that were merged: join bytes in the order "
            "of learning",
            first_cuts,
        ),
        mistake(
            "cuts off the last byte",
            "This cuts off one byte, whatever was learned: join bytes until two parts are left",
            lambda tokens: [(token[:-1], token[-1:]) for token in tokens if len(token) > 1],
        ),
        mistake(
            "joins the leftmost pair first",
            "The leftmost pair is joined first here: join the one learned first",
            lambda tokens: _merged(tokens, min),
        ),
        mistake(
            "exchanges the parts",
            "Left and right are exchanged",
            lambda tokens: [(b, a) for a, b in _merged(tokens)],
        ),
    ],
)


CONFIG: dict[str, Any] = {"vocab_size": 11, "context_length": 8, "d_model": 12, "n_heads": 4}
CONFIG |= {"n_layers": 2, "dropout": 0.0, "bias": True}
LARGER = CONFIG | {"vocab_size": 17, "context_length": 9, "d_model": 24, "n_layers": 1}


def _gpt(config):
    return GPT(GPTConfig(**config)).eval()


def judge_break_config(call):
    praise, _ = (_judge_config(call, given) for given in (CONFIG, LARGER))
    return praise


def _judge_config(call, given):
    config = call(given).like({}, "Return a dict.")
    expect(config.keys() == given.keys(), "Return all seven fields, under the same names.")
    changed = [name for name in given if config[name] != given[name]]
    expect(changed, "Nothing is changed yet.")
    expect(len(changed) == 1, f"Change one field, not {len(changed)}: {', '.join(changed)}.")
    name = changed[0]
    changed_to = f"With {name}={config[name]!r}"
    right = _gpt(given)
    with torch.no_grad():
        for p in right.parameters():
            p.normal_(generator=torch.Generator().manual_seed(p.numel()))
    try:
        broken = _gpt(config)
    except (ValueError, TypeError) as error:
        raise Wrong(f"{changed_to} no GPT can be built, and that is noticed: {error}.") from None
    weights, own = right.state_dict(), broken.state_dict()
    for tensor in sorted(weights.keys() | own.keys()):
        fits = tensor in own and tensor in weights and own[tensor].shape == weights[tensor].shape
        expect(fits, f"{changed_to} the tensor `{tensor}` does not fit: the loader notices it.")
    broken.load_state_dict(weights)
    ids = torch.arange(8).unsqueeze(0)  # (1, T)
    with torch.no_grad():
        moved = (broken(ids) - right(ids)).abs().max().item()
    expect(moved > 1e-3, f"{changed_to} all fits, but the logits stay as they are.")
    return f"Broken, and no shape tells: {name}={config[name]} moves a logit by {moved:.1f}."


def one_head(config):
    return {**config, "n_heads": 1}


def a_head_for_each_channel(config):
    config = dict(config)
    config["n_heads"] = config["d_model"]
    return config


break_config = exercise(
    "18.3",
    "break_config(config: GPTConfig's fields as a dict) -> a dict: same shapes, other logits",
    judge=judge_break_config,
    right=[one_head, a_head_for_each_channel],
    hints=[
        "Which fields are the length of some axis of a weight, and which is not?",
        "Width stays width when it is cut into other heads: `{**config, ...: ...}`.",
    ],
    question=which(
        "changes the dropout",
        beside=[one_head, a_head_for_each_channel],
        others=["changes the width", "takes heads that do not divide the width"],
    ),
    mistakes=[
        refused(
            "changes the width",
            "does not fit: the loader notices it",
            lambda config: {**config, "d_model": 24},
        ),
        refused(
            "takes heads that do not divide the width",
            "no GPT can be built, and that is noticed",
            lambda config: {**config, "n_heads": 5},
        ),
        refused(
            "changes the dropout",
            "all fits, but the logits stay as they are",
            lambda config: {**config, "dropout": 0.5},
        ),
        refused("changes nothing", "Nothing is changed yet", lambda config: dict(config)),
    ],
)


LINES = """Well, come, my Kate; we will unto your father's
Even in these honest mean habiliments:
Our purses shall be proud, our garments poor;
For 'tis the mind that makes the body rich;
And as the sun breaks through the darkest clouds,
"""
RISE, MOVE = 0.01, 0.1  # what the loss may rise by, and what a probability must move by


@cache
def _trained():
    """The shipped model, the ids of lines that it has not seen, its loss and its probabilities."""
    net = GPT.pretrained("tiny-shakespeare").eval()
    ids = torch.tensor([CharTokenizer.pretrained("tiny-shakespeare").encode(LINES)])
    weights = {name: p.detach().clone() for name, p in net.named_parameters()}
    return net, ids, weights, *_loss_and_probabilities(net, ids)


@torch.no_grad()
def _loss_and_probabilities(net, ids):
    log_p = net(ids[:, :-1])[0].log_softmax(dim=-1)  # (T, V)
    return F.nll_loss(log_p, ids[0, 1:]).item(), log_p.exp()


def judge_unnoticed(call):
    net, ids, weights, loss, p = _trained()
    changed = call(weights).like(weights, "Return a dict.")
    missing = [name for name in weights if name not in changed]
    expect(not missing, f"The loader notices that `{', '.join(missing[:1])}` is missing.")
    for name, tensor in changed.items():
        expect(name in weights, f"The loader notices `{name}`, which the model does not have.")
        shapes = f"{tuple(tensor.shape)}, expected {tuple(weights[name].shape)}"
        expect(tensor.shape == weights[name].shape, f"The loader notices `{name}`: {shapes}.")
        expect(tensor.isfinite().all(), f"`{name}` holds NaN or infinity.")
    broken = GPT(net.config).eval()
    with torch.no_grad():
        for name, parameter in broken.named_parameters():
            parameter.copy_(changed[name])
    new_loss, new_p = _loss_and_probabilities(broken, ids)
    move, rise = (new_p - p).abs().max().item(), new_loss - loss
    losses = f"The loss goes from {loss:.4f} to {new_loss:.4f}"
    expect(rise <= RISE, f"{losses}, and you may notice that: it may rise by {RISE}.")
    slight = f"{losses}, but no probability moves by more than {move:.2f}: make it {MOVE} or more."
    expect(move >= MOVE, slight)
    return f"{losses}, and a probability moves by {move:.2f}."


def without_one_bias(weights):
    name = "h.3.ln_1.bias"
    return {**weights, name: 0 * weights[name]}


def with_larger_positions(weights):
    name = "wpe.weight"
    return {**weights, name: 1.1 * weights[name]}


def with_a_tenth_more_in_each_token(weights):
    name = "wte.weight"
    return {**weights, name: weights[name] + 0.1}


unnoticed = exercise(
    "18.4",
    "unnoticed(weights: tensors by name) -> tensors of the same names and shapes, with which the "
    "loss rises by 0.01 at most and a probability moves by 0.1 or more",
    judge=judge_unnoticed,
    right=[without_one_bias, with_larger_positions],
    hints=[
        "In which block does a slight change have the fewest blocks behind it that could enlarge "
        "it?",
        "Return `{**weights, name: changed}` for one name. Set a small tensor of the last block to "
        "0, or multiply a table by a number near 1.",
    ],
    question=which(
        "adds 0.1 to the token table",
        beside=[without_one_bias, with_larger_positions],
        others=["transposes the square matrix of one block", "leaves a tensor out"],
        text="One of these changes is refused. Which one, and why?",
    ),
    mistakes=[
        refused(
            "adds 0.1 to the token table",
            "no probability moves by more than 0.00",
            with_a_tenth_more_in_each_token,
        ),
        refused(
            "transposes the square matrix of one block",
            "and you may notice that",
            lambda weights: {
                **weights,
                "h.0.attn.c_proj.weight": weights["h.0.attn.c_proj.weight"].T,
            },
        ),
        refused(
            "transposes a matrix that is not square",
            "The loader notices `h.0.mlp.c_fc.weight`",
            lambda weights: {**weights, "h.0.mlp.c_fc.weight": weights["h.0.mlp.c_fc.weight"].T},
        ),
        refused(
            "leaves a tensor out",
            "`ln_f.bias` is missing",
            lambda weights: {name: w for name, w in weights.items() if name != "ln_f.bias"},
        ),
    ],
)


def _mask(*rows):
    return torch.tensor([[letter == "x" for letter in row] for row in rows])


def positions_by_loop(mask):
    rows = [[max(0, sum(row[: t + 1]) - 1) for t in range(len(row))] for row in mask.tolist()]
    return torch.tensor(rows)


def judge_positions(call):
    praise = positions.compare(call)
    for mask in (_mask("x.xx", "xxxx"), _mask("xx..", ".x.x")):  # padding between, and behind
        got = call(mask).like(mask.long())
        right = torch.where(mask, mask.cumsum(dim=1) - 1, 0)
        why = (
            "Padding may also stand between or behind the real tokens, which count up all the same"
        )
        expect(got.shape == mask.shape and torch.equal(got * mask, right), f"{why}.")
        expect(got.min() >= 0 and got.max() < mask.shape[1], "Padding gets no row of the table.")
    return praise


positions = exercise(
    "18.5",
    "positions(mask: (B, T), True for real tokens) -> (B, T), a real token's place among them",
    cases=(
        _mask("..xxx", "xxxxx"),
        _mask(".x", "xx", ".x"),
        _mask("xxx"),
        _mask("...xx", "....x", "xxxxx"),
        _mask("x"),
        _mask("....", "..xx"),  # a row may be all padding
        _mask(300 * "x"),
        _mask(12 * "." + 25 * "x", 37 * "x", 36 * "." + "x", 5 * "." + 32 * "x"),
    ),
    judge=judge_positions,
    praise="`positions` is right: the first real token of each row has position 0.",
    right=[lambda mask: (mask.cumsum(dim=1) - 1).clamp(min=0), positions_by_loop],
    hints=[
        "How many real tokens stand up to a place, itself included?",
        "`mask.cumsum(dim=1)` counts from 1. Subtract 1, and then padding has a number that must "
        "not fall below ...",
    ],
    question=number(
        "A row has three places of padding and then four real tokens. The other row of the batch "
        "has seven real tokens. What do the seven positions of the first row add up to?",
        lambda f: f(_mask("...xxxx", "xxxxxxx"))[0].sum(),
        digits=0,
    ),
    mistakes=[
        mistake(
            "numbers the places from 0",
            "Padding is counted too: row 0 begins with it, so its first real token must have 0",
            lambda mask: torch.arange(mask.shape[1]).expand(mask.shape),
        ),
        mistake(
            "counts from 1",
            "The first real token has position 1: it must have 0",
            lambda mask: mask.cumsum(dim=1),
        ),
        mistake(
            "leaves padding at −1",
            "Padding gets −1, which is no row of the table of positions: give it 0",
            lambda mask: mask.cumsum(dim=1) - 1,
        ),
        mistake(
            "sets padding to 0, but counts it",
            "Padding has 0, but it was counted: the first real token of row 0 must have 0 too",
            lambda mask: torch.arange(mask.shape[1]) * mask,
        ),
    ],
)
