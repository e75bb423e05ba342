"""Right and plausibly wrong answers to the exercises of chapter 17."""

from mutation import mutant, solution

COUNT, WHAT, BREAK, WINDOWS = (
    f"gpt2.{name}" for name in ("count", "what_to_do", "break_silently", "windows")
)


# 17.1 count


def total(config, block=None, tables=None, end=None):
    C = config["n_embd"]
    block = 12 * C * C + 13 * C if block is None else block
    tables = config["vocab_size"] + config["n_positions"] if tables is None else tables
    return tables * C + config["n_layer"] * block + (2 * C if end is None else end)


@solution(COUNT)
def _(config):
    return total(config)


@solution(COUNT)
def _(config):
    C = config["n_embd"]
    linear = [(C, 3 * C), (C, C), (C, 4 * C), (4 * C, C)]
    block = sum(i * o + o for i, o in linear) + 2 * 2 * C
    return sum(
        (config["vocab_size"] * C, config["n_positions"] * C, config["n_layer"] * block, 2 * C)
    )


@mutant(COUNT, "counts the head", "it is the token table, a second time")
def _(config):
    return total(config) + config["vocab_size"] * config["n_embd"]


@mutant(COUNT, "forgets positions", "The table of positions is missing")
def _(config):
    return total(config, tables=config["vocab_size"])


@mutant(COUNT, "forgets tokens", "The table of tokens is missing")
def _(config):
    return total(config, tables=config["n_positions"])


@mutant(COUNT, "forgets the last norm", "The norm after the last block is missing")
def _(config):
    return total(config, end=0)


@mutant(COUNT, "forgets biases", "The biases of the four linear layers are missing")
def _(config):
    C = config["n_embd"]
    return total(config, block=12 * C * C + 4 * C)


@mutant(COUNT, "forgets norms", "The norms are missing")
def _(config):
    C = config["n_embd"]
    return total(config, block=12 * C * C + 9 * C, end=0)


@mutant(COUNT, "norms without a shift", "one is missing")
def _(config):
    C = config["n_embd"]
    return total(config, block=12 * C * C + 11 * C, end=C)


@mutant(COUNT, "one block", "there are `n_layer` of them")
def _(config):
    return total({**config, "n_layer": 1})


@mutant(COUNT, "c_attn as wide as the rest", "it is 3 n_embd wide")
def _(config):
    C = config["n_embd"]
    return total(config, block=10 * C * C + 11 * C)


@mutant(COUNT, "narrow feed-forward", "4 n_embd wide inside")
def _(config):
    C = config["n_embd"]
    return total(config, block=6 * C * C + 10 * C)


@mutant(COUNT, "attention for each head", "heads share the width")
def _(config):
    C, H = config["n_embd"], config["n_head"]
    return total(config, block=H * (4 * C * C + 4 * C) + 8 * C * C + 9 * C)


@mutant(COUNT, "counts the masks", "nothing learns them")
def _(config):
    return total(config) + config["n_layer"] * config["n_positions"] ** 2


@mutant(COUNT, "bytes", "a parameter takes 4")
def _(config):
    return 4 * total(config)


# 17.2 what_to_do


@solution(WHAT)
def what(name):
    if name == "lm_head.weight" or name.endswith((".attn.bias", ".attn.masked_bias")):
        return "skip"
    turned = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    return "turn" if name.endswith(turned) else "copy"


@solution(WHAT)
def _(name):
    parts = name.removeprefix("transformer.").split(".")
    if parts[0] == "lm_head" or parts[-2:] in (["attn", "bias"], ["attn", "masked_bias"]):
        return "skip"
    return "turn" if parts[-2].startswith("c_") and parts[-1] == "weight" else "copy"


@mutant(WHAT, "drops the bias of c_attn", "its name ends in `attn.bias` as well")
def _(name):
    return "skip" if name.endswith("attn.bias") else what(name)


@mutant(WHAT, "leaves the square matrix", "its shape tells nothing")
def _(name):
    return "copy" if name.endswith("attn.c_proj.weight") else what(name)


@mutant(WHAT, "turns every matrix", "it must not be turned")
def _(name):
    turn = name.endswith("weight") and "ln" not in name and "lm_head" not in name
    return "turn" if turn else what(name)


@mutant(WHAT, "turns biases", "A vector has nothing to turn")
def _(name):
    return "turn" if ".c_" in name else what(name)


@mutant(WHAT, "turns nothing", "keeps this matrix as (in, out)")
def _(name):
    return what(name).replace("turn", "copy")


@mutant(WHAT, "copies masks", "the causal mask of a block")
def _(name):
    return "copy" if name.endswith(("attn.bias", "masked_bias")) else what(name)


@mutant(WHAT, "forgets the older mask", "the causal mask of a block")
def _(name):
    return "copy" if name.endswith("masked_bias") else what(name)


@mutant(WHAT, "copies the head", "which is there already")
def _(name):
    return "copy" if name == "lm_head.weight" else what(name)


@mutant(WHAT, "skips norms", "Norms are learned too")
def _(name):
    return "skip" if "ln_" in name else what(name)


@mutant(WHAT, "knows no prefix", "before a name changes nothing")
def _(name):
    return what(name) if name.startswith("h.") else what(name).replace("turn", "copy")


@mutant(WHAT, "other words", "must be one of 'copy', 'turn' and 'skip'")
def _(name):
    return what(name).replace("turn", "transpose")


@mutant(WHAT, "one-digit blocks", "Every block has four matrices to turn")
def _(name):
    return "copy" if "h.11.attn.c_attn.w" in name else what(name)


# 17.3 break_silently


def turned(weights, chosen):
    return {name: t.T if chosen(name, t) else t for name, t in weights.items()}


def is_square(name, t):
    return t.dim() == 2 and t.shape[0] == t.shape[1] and name.startswith("h.")


@solution(BREAK)
def _(weights):
    return turned(weights, is_square)


@solution(BREAK)
def _(weights):
    broken = dict(weights)
    for name in weights:
        if name.endswith("attn.c_proj.weight"):
            broken[name] = weights[name].transpose(0, 1).contiguous()
    return broken


@mutant(BREAK, "turns all matrices", "the loader compares shapes")
def _(weights):
    return turned(weights, lambda name, t: t.dim() == 2)


@mutant(BREAK, "turns the table of positions", "it is a table")
def _(weights):
    return turned(weights, lambda name, t: t.dim() == 2 and t.shape[0] == t.shape[1])


@mutant(BREAK, "changes nothing", "Nothing is broken yet")
def _(weights):
    return dict(weights)


@mutant(BREAK, "first block only", "One block is left")
def _(weights):
    return turned(weights, lambda name, t: is_square(name, t) and name.startswith("h.0"))


@mutant(BREAK, "returns those turned alone", "Return all the tensors")
def _(weights):
    return {name: t.T for name, t in weights.items() if is_square(name, t)}


@mutant(BREAK, "forces others into the shape", "is not square")
def _(weights):
    return {n: t.T.reshape(t.shape) if "c_" in n else t for n, t in weights.items()}


@mutant(BREAK, "flips instead of turning", "exchange rows and columns")
def _(weights):
    return {n: t.flip(0) if is_square(n, t) else t for n, t in weights.items()}


@mutant(BREAK, "noise", "is not square")
def _(weights):
    return {n: t + 1 if n.endswith("c_fc.weight") else t for n, t in weights.items()}


@mutant(BREAK, "in place", "changes its argument `weights` in place")
def _(weights):
    for name, t in weights.items():
        if is_square(name, t):
            weights[name] = t.T
    return weights


# 17.4 windows


@solution(WINDOWS)
def cut(n, context, stride):
    begin, done, found = 0, 0, []
    while done < n:
        end = min(begin + context, n)
        found.append((begin, end, end - done))
        begin, done = begin + stride, end
    return found


@solution(WINDOWS)
def _(n, context, stride):
    starts = range(0, max(n - context, 0) + stride, stride)
    ends = [min(b + context, n) for b in starts]
    fresh = [e - before for before, e in zip([0, *ends], ends, strict=False)]
    return [w for w in zip(starts, ends, fresh, strict=True) if w[2]]


@mutant(WINDOWS, "scores overlaps twice", "where windows overlap, twice")
def _(n, context, stride):
    return [(b, e, e - b) for b, e, _ in cut(n, context, stride)]


@mutant(WINDOWS, "runs to the end of the range", "Windows go on after the last prediction")
def _(n, context, stride):
    return [(b, min(b + context, n), min(b + context, n) - b) for b in range(0, n, stride)]


@mutant(WINDOWS, "empty windows", "windows with nothing fresh")
def _(n, context, stride):
    done, found = 0, []
    for b in range(0, n, stride):
        end = min(b + context, n)
        found.append((b, end, end - done))
        done = end
    return found


@mutant(WINDOWS, "ends behind the text", "`end` is at most n")
def _(n, context, stride):
    found = cut(n, context, stride)
    return [(b, b + context, context if b == 0 else stride) for b, _, _ in found]


@mutant(WINDOWS, "first window scores a stride", "all its predictions are fresh")
def _(n, context, stride):
    return [(b, e, stride) for b, e, _ in cut(n, context, stride)]


@mutant(WINDOWS, "last window scores a stride", "fewer fresh predictions than the stride")
def _(n, context, stride):
    return [(b, e, context if b == 0 else stride) for b, e, _ in cut(n, context, stride)]


@mutant(WINDOWS, "drops the last window", "The last predictions are never scored")
def _(n, context, stride):
    return cut(n, context, stride)[:-1]


@mutant(WINDOWS, "does not use the stride", "The stride is not used")
def _(n, context, stride):
    return cut(n, context, context)


@mutant(WINDOWS, "short windows", "they should reach `context`")
def _(n, context, stride):
    return cut(n, stride, stride)


@mutant(WINDOWS, "two numbers", "Return three numbers")
def _(n, context, stride):
    return [(b, e) for b, e, _ in cut(n, context, stride)]


@mutant(WINDOWS, "last index included", "as in a slice")
def _(n, context, stride):
    return [(b, e - 1, f) for b, e, f in cut(n, context, stride)]
