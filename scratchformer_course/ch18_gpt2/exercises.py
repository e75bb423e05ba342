"""The exercises of chapter 18, GPT-2."""

from functools import cache
from typing import Any

import torch
from torch.nn import functional as F

from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch18_gpt2 import silent
from scratchformer_course.kit.checks.engine import exercise, refused
from scratchformer_course.kit.checks.question import number, which
from scratchformer_course.kit.checks.verdict import Wrong, expect

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
    changed_to = f"With {name}={config[name]!r}"  # below the first line, which a question quotes
    right = _gpt(given)
    with torch.no_grad():
        for p in right.parameters():
            p.normal_(generator=torch.Generator().manual_seed(p.numel()))
    try:
        broken = _gpt(config)
    except (ValueError, TypeError) as error:
        noticed = "No GPT can be built with this change, and that is noticed."
        raise Wrong(f"{noticed}\n{changed_to}: {error}.") from None
    weights, own = right.state_dict(), broken.state_dict()
    for tensor in sorted(weights.keys() | own.keys()):
        fits = tensor in own and tensor in weights and own[tensor].shape == weights[tensor].shape
        noticed = f"Some tensors do not fit any more, and the loader notices it.\n{changed_to}: "
        expect(fits, f"{noticed}`{tensor}`.")
    broken.load_state_dict(weights)
    ids = torch.arange(8).unsqueeze(0)  # (1, T)
    with torch.no_grad():
        moved = (broken(ids) - right(ids)).abs().max().item()
    same = "All tensors fit, but the logits stay the same."
    expect(moved > 1e-3, f"{same}\n{changed_to} nothing changes while the model only runs.")
    return f"Broken, and no shape tells: {name}={config[name]} moves a logit by {moved:.1f}."


def one_head(config):
    return {**config, "n_heads": 1}


def more_dropout(config):
    return {**config, "dropout": 0.5}


def a_head_for_each_channel(config):
    return {**config, "n_heads": config["d_model"]}


break_config = exercise(
    "18.1",
    "break_config(config: GPTConfig's fields as a dict) -> a dict: same shapes, other logits",
    judge=judge_break_config,
    right=[one_head, a_head_for_each_channel],
    hints=[
        "Which fields are the length of some axis of a weight, and which is not?",
        "The width stays the same however it is cut into heads: `{**config, ...: ...}`.",
    ],
    question=which(
        "changes the dropout",
        beside=[one_head, a_head_for_each_channel],
        others=["changes the width", "takes heads that do not divide the width"],
    ),
    mistakes=[
        refused(
            "changes the width",
            "do not fit any more, and the loader notices it",
            lambda config: {**config, "d_model": 24},
        ),
        refused(
            "takes heads that do not divide the width",
            "No GPT can be built with this change",
            lambda config: {**config, "n_heads": 5},
        ),
        refused(
            "changes the dropout",
            "All tensors fit, but the logits stay the same",
            more_dropout,
        ),
        refused("changes nothing", "Nothing is changed yet", lambda config: dict(config)),
    ],
)


def _gpt_of(blocks, V=9, T=6, C=6, seed=17):
    """Small random weights under a GPT's names; where T = C the table of positions is square."""
    generator = torch.Generator().manual_seed(seed)
    block = {"ln_1": (C,), "attn.c_attn": (3 * C, C), "attn.c_proj": (C, C), "ln_2": (C,)}
    block |= {"mlp.c_fc": (4 * C, C), "mlp.c_proj": (C, 4 * C)}
    shapes = {"wte.weight": (V, C), "wpe.weight": (T, C), "ln_f.weight": (C,), "ln_f.bias": (C,)}
    for i in blocks:
        for name, shape in block.items():
            shapes |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[:1]}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def _turned(weights, turns=lambda name, t: name.startswith("h.") and t.dim() == 2):
    """The right answer, or one that differs in what it transposes."""
    return {name: t.T if turns(name, t) else t for name, t in weights.items()}


GPTS = (
    _gpt_of((0, 1)),
    _gpt_of((0, 3, 10), T=5),
    _gpt_of((0,), V=4, T=7, C=4),  # the table of tokens is square
    {name: t for name, t in _gpt_of((1, 2)).items() if not name.endswith("bias")},
    _turned(_gpt_of((0, 1), seed=18)),  # back again
    {"h.0.mlp.c_fc.weight": torch.arange(8.0).view(4, 2), "h.0.mlp.c_fc.bias": torch.ones(4)},
)


def judge_turn(call):
    for weights in GPTS:
        right = _turned(weights)
        got = call(weights).like(right, "Return a dict of tensors.")
        for name in sorted(got.keys() ^ right.keys()):
            raise Wrong(f"`{name}` {'is missing' if name in right else 'was not in the file'}.")
        for name, tensor in sorted(right.items()):
            why = "has changed, but not by transposing it"
            if torch.equal(got[name], weights[name]):
                why = "is as it was: transpose it"
                if tensor.shape[0] == tensor.shape[-1]:
                    why += ", although its shape stays the same"
            elif name in ("wte.weight", "wpe.weight"):
                why = "is a table with a row for each id: do not transpose it"
            expect(torch.equal(got[name], tensor), f"`{name}` {why}.")
    return "`turn` is right: 4 matrices of each block are transposed, and nothing else."


def _changed(turned):
    """How many tensors of a GPT of 5 blocks have come back otherwise."""
    weights = _gpt_of(range(5))
    return sum(not torch.equal(tensor, weights[name]) for name, tensor in turned.items())


def turn_by_suffix(weights):
    matrices = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    return {n: weights[n].t().contiguous() if n.endswith(matrices) else weights[n] for n in weights}


turn = exercise(
    "18.2",
    "turn(weights: a GPT's tensors by name) -> the same names, with what must be turned transposed",
    judge=judge_turn,
    right=[lambda weights: _turned(weights), turn_by_suffix],
    hints=[
        "Which tensors does a vector get multiplied by, and which are tables from which rows are "
        "taken?",
        "Copy the dict, and transpose what has two axes (`tensor.dim() == 2`) and a name that "
        "begins with ...",
    ],
    question=number(
        "A GPT has 5 blocks. How many of its tensors does `turn` transpose?",
        lambda f: _changed(f(_gpt_of(range(5)))),
        digits=0,
    ),
    mistakes=[
        refused(
            "transposes nothing",
            "is as it was: transpose it",
            lambda weights: dict(weights),
        ),
        refused(
            "transposes every matrix",
            "is a table with a row for each id",
            lambda weights: _turned(weights, lambda name, t: t.dim() == 2),
        ),
        refused(
            "leaves the square matrix",
            "although its shape stays the same",
            lambda weights: _turned(
                weights, lambda name, t: name[0] == "h" and t.dim() == 2 and len(t) != len(t.T)
            ),
        ),
        refused(
            "returns the matrices only",
            "is missing",
            lambda weights: {n: t for n, t in _turned(weights).items() if t.dim() == 2},
        ),
    ],
)


RISE, MOVE = 0.01, 0.1  # what the loss may rise by, and what a probability must move by


@cache
def _trained():
    """The shipped model, the ids of lines that it has not seen, its loss and its probabilities."""
    net, chars = silent.shipped()
    ids = torch.tensor([chars.encode(silent.UNSEEN)])
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
    "18.3",
    "unnoticed(weights: tensors by name) -> tensors of the same names and shapes, with which the "
    "loss rises by 0.01 at most and a probability moves by 0.1 or more",
    judge=judge_unnoticed,
    right=[without_one_bias, with_larger_positions],
    hints=[
        "In which block does a slight change have the fewest blocks after it that could enlarge "
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
