"""The exercises of chapter 18, GPT-2."""

import functools
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from scratchformer.models import GPT, GPTConfig
from scratchformer.tokenizers import CharTokenizer
from scratchformer.tokenizers.merging import apply_merges
from scratchformer_course.kit.checks.engine import alike, exercise, mistake, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import Wrong, expect

MASKS = (".attn.bias", ".attn.masked_bias")  # what old files hold besides: the causal masks


def _gpt2_file(prefix, blocks, is_old, V=9, T=6, C=6):
    """Small random weights under GPT-2's names; where T = C the table of positions is square."""
    generator = torch.Generator().manual_seed(17)
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (V, C), "wpe.weight": (T, C)}
    shapes |= {"ln_f.weight": (C,), "ln_f.bias": (C,)}
    for i in blocks:
        block: dict[str, tuple[int, ...]] = {"ln_1.weight": (C,), "ln_1.bias": (C,)}
        block |= {"ln_2.weight": (C,), "ln_2.bias": (C,)}
        block |= {"attn.c_attn.weight": (C, 3 * C), "attn.c_attn.bias": (3 * C,)}
        block |= {"attn.c_proj.weight": (C, C), "attn.c_proj.bias": (C,)}
        block |= {"mlp.c_fc.weight": (C, 4 * C), "mlp.c_fc.bias": (4 * C,)}
        block |= {"mlp.c_proj.weight": (4 * C, C), "mlp.c_proj.bias": (C,)}
        block |= {"attn.bias": (1, 1, T, T), "attn.masked_bias": ()} if is_old else {}
        shapes |= {f"h.{i}.{name}": shape for name, shape in block.items()}
    weights = {prefix + n: torch.randn(s, generator=generator) for n, s in shapes.items()}
    return weights | ({"lm_head.weight": weights[f"{prefix}wte.weight"].clone()} if is_old else {})


FILES = (
    _gpt2_file("transformer.", (0, 1), is_old=True),
    _gpt2_file("", (0, 10), is_old=True),
    _gpt2_file("transformer.", (0,), is_old=False),
    _gpt2_file("", (0, 1, 2), is_old=False, V=4, T=7, C=4),  # the table of tokens is square
)


def _translated(weights, skips=True, prefix="transformer.", turns=None):
    """The right answer, or one that differs in what it leaves out, strips or transposes."""
    turns = turns or (lambda name, t: name.startswith("h.") and t.dim() == 2)
    found = {}
    for name, t in weights.items():
        name = name.removeprefix(prefix)
        if skips and (name == "lm_head.weight" or name.endswith(MASKS)):
            continue
        found[name] = t.T if turns(name, t) else t
    return found


def _refuse_names(got, right):
    """Raise `Wrong` for a tensor that is too many, or is missing."""
    for name in sorted(got.keys() - right.keys()):
        why = f"{name!r} is no name of ours"
        if any(full.endswith(name) for full in right):
            why += ": cut `transformer.` off only where a name begins with it"
        if name.startswith("transformer."):
            why = f"`{name}`: our names do not begin with `transformer.`"
        elif name == "lm_head.weight":
            why = "The head is the token table itself, which is there already: leave it out"
        elif name.endswith(MASKS):
            why = f"`{name}` is no bias but a causal mask, and no parameter of ours"
        raise Wrong(f"{why}.")
    for name in sorted(right.keys() - got.keys()):
        why = ": its name ends in `attn.bias` too, but it is a real bias" * ("c_attn.b" in name)
        raise Wrong(f"`{name}` is missing{why}.")


def judge_from_gpt2(call):
    for weights in FILES:
        right = _translated(weights)
        got = call(weights).like(right, "Return a dict of tensors.")
        _refuse_names(got, right)
        for name, tensor in right.items():
            if got[name].shape == tensor.shape and torch.equal(got[name], tensor):
                continue
            why = f"`{name}` has changed, but not by transposing it"
            if name[:2] == "h." and torch.equal(got[name], tensor.T):
                why = f"`{name}` is (in, out) in the file: transpose it"
                if tensor.shape[0] == tensor.shape[1]:
                    why += ". It is square, so its shape tells nothing"
            elif torch.equal(got[name].T, tensor):
                why = f"`{name}` is a table with a row for each id: do not transpose it"
            raise Wrong(f"{why}.")
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


def keeps_the_masks(weights):
    found = _translated(weights, skips=False)
    found.pop("lm_head.weight", None)
    return found


def keeps_the_head(weights):
    found = _translated(weights, skips=False)
    return {name: t for name, t in found.items() if not name.endswith(MASKS)}


def keeps_the_prefix(weights):
    turned = _translated(weights)
    return {n: turned[k] for n in weights if (k := n.removeprefix("transformer.")) in turned}


def cuts_every_name(weights):
    has_prefix = any(name.startswith("transformer.") for name in weights)
    cut = 0 if has_prefix else len("transformer.")
    return {name[cut:]: t for name, t in _translated(weights).items()}


def drops_the_bias_of_c_attn(weights):
    found = _translated(weights)
    return {name: t for name, t in found.items() if not name.endswith("attn.bias")}


def reshapes_instead(weights):
    turned = _translated(weights)
    raw = _translated(weights, turns=lambda name, t: False)
    return {name: raw[name].reshape(t.shape) for name, t in turned.items()}


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
            "transposes only what is not square",
            "It is square, so its shape tells nothing",
            lambda weights: _translated(
                weights,
                turns=lambda name, t: name[:2] == "h." and t.dim() == 2 and len(set(t.shape)) > 1,
            ),
        ),
        refused(
            "transposes every matrix",
            "is a table with a row for each id",
            lambda weights: _translated(weights, turns=lambda name, t: t.dim() == 2),
        ),
        refused(
            "transposes the first block only",
            "is (in, out) in the file: transpose it",
            lambda weights: _translated(
                weights, turns=lambda name, t: name[:4] == "h.0." and t.dim() == 2
            ),
        ),
        refused("keeps the masks", "is no bias but a causal mask", keeps_the_masks),
        refused("keeps the head", "The head is the token table itself", keeps_the_head),
        refused(
            "cuts every name",
            "only where a name begins with it",
            cuts_every_name,
        ),
        refused("keeps the prefix", "our names do not begin with `transformer.`", keeps_the_prefix),
        refused(
            "drops the bias of `c_attn`",
            "its name ends in `attn.bias` too",
            drops_the_bias_of_c_attn,
        ),
        refused(
            "drops all biases",
            "is missing",
            lambda weights: {
                name: t for name, t in _translated(weights).items() if not name.endswith("bias")
            },
        ),
        refused(
            "reshapes instead of transposing",
            "has changed, but not by transposing it",
            reshapes_instead,
        ),
        refused(
            "returns the names only",
            "Return a dict of tensors",
            lambda weights: list(_translated(weights)),
        ),
    ],
)


def _split(tokens, choose):
    """For each token longer than a byte, what `choose` takes of all its cuts into two tokens."""
    found = []
    for token in tokens:
        cuts = [(token[:k], token[k:]) for k in range(1, len(token))]
        if cuts := [cut for cut in cuts if cut[0] in tokens and cut[1] in tokens]:
            found.append(choose(cuts))
    return found


def _merged(tokens, choose):
    """As the right answer, with another choice among the neighbours that may be joined."""
    found = []
    for token in tokens:
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            ranks = {
                k: tokens.index(parts[k] + parts[k + 1])
                for k in range(len(parts) - 1)
                if parts[k] + parts[k + 1] in tokens
            }
            k = choose(ranks)
            parts[k : k + 2] = [parts[k] + parts[k + 1]]
        if len(parts) == 2:
            found.append(tuple(parts))
    return found


def _rank(known, left, right):
    return known.get(left + right)


def merges_by_tokenizer(tokens):
    ids = {token: i for i, token in enumerate(tokens)}
    found = []
    for i, token in enumerate(tokens):
        letters = [token[k : k + 1] for k in range(len(token))]
        earlier = {t: r for t, r in ids.items() if r < i}
        parts = apply_merges(letters, partial(_rank, earlier))
        if len(parts) == 2:
            found.append(tuple(parts))
    return found


def keeps_single_bytes(tokens):
    merges = iter(_merged(tokens, lambda ranks: min(ranks, key=ranks.get)))
    return [next(merges) if len(token) > 1 else (token, b"") for token in tokens]


def returns_ids(tokens):
    pairs = _merged(tokens, lambda ranks: min(ranks, key=ranks.get))
    return [(tokens.index(a), tokens.index(b)) for a, b in pairs]


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
    praise="`find_merges` is right in all 9 vocabularies, and it goes by the order of learning.",
    right=[
        lambda tokens: _merged(tokens, lambda ranks: min(ranks, key=ranks.get)),
        merges_by_tokenizer,
    ],
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
        *alike(
            "This cut gives two tokens, but not those that were merged: join bytes in the order "
            "of learning",
            {
                "takes the first cut into two tokens": lambda tokens: _split(
                    tokens, lambda cuts: cuts[0]
                ),
                "takes the last cut into two tokens": lambda tokens: _split(
                    tokens, lambda cuts: cuts[-1]
                ),
                "takes the cut nearest to the middle": lambda tokens: _split(
                    tokens, lambda cuts: min(cuts, key=lambda c: abs(len(c[0]) - len(c[1])))
                ),
                "joins the leftmost pair first": lambda tokens: _merged(tokens, min),
            },
        ),
        *alike(
            "This cuts off one byte, whatever was learned: join bytes until two parts are left",
            {
                "cuts off the first byte": lambda tokens: [
                    (token[:1], token[1:]) for token in tokens if len(token) > 1
                ],
                "cuts off the last byte": lambda tokens: [
                    (token[:-1], token[-1:]) for token in tokens if len(token) > 1
                ],
            },
        ),
        mistake(
            "joins the pair learned last",
            "Of several pairs that can be joined, join the one learned first, not the last",
            lambda tokens: _merged(tokens, lambda ranks: max(ranks, key=ranks.get)),
        ),
        mistake(
            "returns the tokens",
            "These are the tokens: for each, return the two parts it was merged from",
            lambda tokens: [token for token in tokens if len(token) > 1],
        ),
        mistake(
            "keeps single bytes",
            "A single byte was not merged from anything: it has no pair",
            keeps_single_bytes,
        ),
        mistake("returns ids", "These are ids: return the bytes of the two parts", returns_ids),
        mistake(
            "exchanges the parts",
            "Left and right are exchanged",
            lambda tokens: [
                (b, a) for a, b in _merged(tokens, lambda ranks: min(ranks, key=ranks.get))
            ],
        ),
        mistake(
            "sorts the pairs",
            "The pairs are right, but must stay in the order of learning",
            lambda tokens: sorted(_merged(tokens, lambda ranks: min(ranks, key=ranks.get))),
        ),
    ],
)


CONFIG: dict[str, Any] = {"vocab_size": 11, "context_length": 8, "d_model": 12, "n_heads": 4}
CONFIG |= {"n_layers": 2, "dropout": 0.0, "bias": True}
LARGER = CONFIG | {"vocab_size": 17, "context_length": 9, "d_model": 24, "n_layers": 1}


def _gpt(config):
    return GPT(GPTConfig(**config)).eval()


def judge_break_config(call):
    praise = [_judge_config(call, given) for given in (CONFIG, LARGER)]
    return praise[0]


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


def a_head_for_each_channel(config):
    config = dict(config)
    config["n_heads"] = config["d_model"]
    return config


def changes_its_argument(config):
    config["n_heads"] = 2
    return config


break_config = exercise(
    "18.3",
    "break_config(config: GPTConfig's fields as a dict) -> a dict: same shapes, other logits",
    judge=judge_break_config,
    right=[lambda config: {**config, "n_heads": 1}, a_head_for_each_channel],
    hints=[
        "Which fields are the length of some axis of a weight, and which is not?",
        "Width stays width when it is cut into other heads: `{**config, ...: ...}`.",
    ],
    question=which(
        "changes the dropout",
        beside=[lambda config: {**config, "n_heads": 1}, a_head_for_each_channel],
        others=["changes the width", "takes heads that do not divide the width"],
    ),
    mistakes=[
        refused(
            "changes the width",
            "does not fit: the loader notices it",
            lambda config: {**config, "d_model": 24},
        ),
        refused(
            "changes the vocabulary",
            "does not fit: the loader notices it",
            lambda config: {**config, "vocab_size": 12},
        ),
        refused(
            "changes the context",
            "does not fit: the loader notices it",
            lambda config: {**config, "context_length": 16},
        ),
        refused(
            "changes the number of blocks",
            "does not fit: the loader notices it",
            lambda config: {**config, "n_layers": 3},
        ),
        refused(
            "drops the biases",
            "does not fit: the loader notices it",
            lambda config: {**config, "bias": False},
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
        refused(
            "changes two fields",
            "Change one field, not 2",
            lambda config: {**config, "n_heads": 2, "dropout": 0.1},
        ),
        refused(
            "changes its argument", "changes its argument `config` in place", changes_its_argument
        ),
        refused(
            "returns the changed field only",
            "Return all seven fields",
            lambda config: {"n_heads": 2},
        ),
    ],
)


LINES = """Well, come, my Kate; we will unto your father's
Even in these honest mean habiliments:
Our purses shall be proud, our garments poor;
For 'tis the mind that makes the body rich;
And as the sun breaks through the darkest clouds,
"""
RISE, MOVE = 0.01, 0.1  # what the loss may rise by, and what a probability must move by


@functools.cache
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
    told = f"The loss goes from {loss:.4f} to {new_loss:.4f}"
    expect(rise <= RISE, f"{told}, and you may notice that: it may rise by {RISE}.")
    slight = f"{told}, but no probability moves by more than {move:.2f}: make it {MOVE} or more."
    expect(move >= MOVE, slight)
    return f"{told}, and a probability moves by {move:.2f}."


def without_one_bias(weights):
    name = "h.3.ln_1.bias"
    return {**weights, name: 0 * weights[name]}


def with_larger_positions(weights):
    name = "wpe.weight"
    return {**weights, name: 1.1 * weights[name]}


def with_a_tenth_more_in_each_token(weights):
    name = "wte.weight"
    return {**weights, name: weights[name] + 0.1}


def without_the_biases_of_the_heads(weights):
    return {name: 0 * w if name.endswith("c_attn.bias") else w for name, w in weights.items()}


unnoticed = exercise(
    "18.4",
    "unnoticed(weights: tensors by name) -> tensors of the same names and shapes, with which the "
    "loss rises by 0.01 at most and a probability moves by 0.1 or more",
    judge=judge_unnoticed,
    right=[
        without_one_bias,
        with_larger_positions,
        lambda weights: {**weights, "wpe.weight": 0.9 * weights["wpe.weight"]},
    ],
    hints=[
        "In which block does a slight change have the fewest blocks behind it that could enlarge "
        "it?",
        "Return `{**weights, name: changed}` for one name. Set a small tensor of the last block to "
        "0, or multiply a table by a number near 1.",
    ],
    question=which(
        "adds 0.1 to the token table",
        beside=[without_one_bias, with_larger_positions],
        others=[
            "transposes the square matrix of one block",
            "leaves a tensor out",
            "loses all biases of queries, keys and values",
        ],
        text="One of these changes is refused. Which one, and why?",
    ),
    mistakes=[
        refused("changes nothing", "no probability moves by more than 0.00", dict),
        refused(
            "transposes the square matrix of one block",
            "and you may notice that",
            lambda weights: {
                **weights,
                "h.0.attn.c_proj.weight": weights["h.0.attn.c_proj.weight"].T,
            },
        ),
        refused(
            "loses all biases of queries, keys and values",
            "and you may notice that",
            without_the_biases_of_the_heads,
        ),
        refused(
            "counts positions from 1",
            "and you may notice that",
            lambda weights: {**weights, "wpe.weight": weights["wpe.weight"].roll(-1, dims=0)},
        ),
        refused(
            "adds 0.1 to the token table",
            "no probability moves by more than 0.00",
            with_a_tenth_more_in_each_token,
        ),
        refused(
            "rounds to 16 bits",
            "no probability moves by more than 0.00",
            lambda weights: {name: w.half().float() for name, w in weights.items()},
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
        refused(
            "adds a head of its own",
            "The loader notices `lm_head.weight`",
            lambda weights: {**weights, "lm_head.weight": weights["wte.weight"]},
        ),
        refused(
            "returns the changed tensor only",
            "is missing",
            lambda weights: {"wpe.weight": 1.1 * weights["wpe.weight"]},
        ),
    ],
)


def _mask(*rows):
    return torch.tensor([[letter == "x" for letter in row] for row in rows])


def positions_by_padding(mask):
    n_padding = (~mask).sum(dim=1, keepdim=True)
    return (torch.arange(mask.shape[1]) - n_padding).relu()


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
    praise="`positions` is right: the first real token of each row has position 0.",
    right=[lambda mask: (mask.cumsum(dim=1) - 1).clamp(min=0), positions_by_padding],
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
            "counts an empty row",
            "Row 0 is all padding here, and padding gets 0",
            lambda mask: (
                torch.arange(mask.shape[1]) - mask.int().argmax(dim=1, keepdim=True)
            ).relu(),
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
            "counts down the batch",
            "This counts along the batch: count along the time axis, dim=1",
            lambda mask: (mask.cumsum(dim=0) - 1).clamp(min=0),
        ),
        mistake(
            "counts padding",
            "This counts the padding: count the real tokens",
            lambda mask: ((~mask).cumsum(dim=1) - 1).clamp(min=0),
        ),
        mistake(
            "counts from the right",
            "This counts from the last token back: the first real token has position 0",
            lambda mask: mask.flip(1).cumsum(dim=1).flip(1) - mask.long(),
        ),
        mistake(
            "sets padding to 0, but counts it",
            "Padding has 0, but it was counted: the first real token of row 0 must have 0 too",
            lambda mask: torch.arange(mask.shape[1]) * mask,
        ),
        mistake(
            "returns a row",
            "Return a row for each row of the batch: (B, T)",
            lambda mask: (mask[0].cumsum(dim=0) - 1).clamp(min=0),
        ),
        mistake("returns the mask", "This is the mask: return positions", lambda mask: mask.long()),
    ],
)
