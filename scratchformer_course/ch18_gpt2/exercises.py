"""The exercises of chapter 18, in other hands."""

import torch
from torch.nn import functional as F

from scratchformer.models import GPT, GPTConfig
from scratchformer_course.ch18_gpt2 import silent
from scratchformer_course.kit.checks import Wrong, exercise, expect, number, which
from scratchformer_course.kit.checks.mistakes import edits

CONFIG = vars(GPTConfig(11, context_length=8, d_model=12, n_heads=4, n_layers=2, dropout=0.0))
LARGER = CONFIG | {"vocab_size": 17, "context_length": 9, "d_model": 24, "n_layers": 1}


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
    right = GPT(GPTConfig(**given)).eval()
    try:
        broken = GPT(GPTConfig(**config)).eval()
    except (ValueError, TypeError) as error:
        noticed = "No GPT can be built with this change, and that is noticed."
        raise Wrong(f"{noticed}\n{changed_to}: {error}.") from None
    shapes, others = ({(n, p.shape) for n, p in net.named_parameters()} for net in (right, broken))
    for tensor, _ in sorted(shapes ^ others):
        noticed = "Some tensors do not fit any more, and the loader notices it."
        raise Wrong(f"{noticed}\n{changed_to}: `{tensor}`.")
    ids = torch.arange(8).unsqueeze(0)  # (1, T)
    with torch.no_grad():
        for p in right.parameters():
            p.normal_(generator=torch.Generator().manual_seed(p.numel()))
        broken.load_state_dict(right.state_dict())
        moved = (broken(ids) - right(ids)).abs().max().item()
    same = "All tensors fit, but the logits stay the same."
    expect(moved > 1e-3, f"{same}\n{changed_to} nothing changes while the model only runs.")
    return f"Broken, and no shape tells: {name}={config[name]} moves a logit by {moved:.1f}."


def right_break_config(config):
    return {**config, "n_heads": 1}


def a_head_for_each_channel(config):
    return {**config, "n_heads": config["d_model"]}


break_config = exercise(
    "18.1",
    "break_config(config: GPTConfig's fields as a dict) -> a dict: same shapes, other logits",
    judge=judge_break_config,
    right=[right_break_config, a_head_for_each_channel],
    hints=[
        "Which fields are the length of some axis of a weight, and which is not?",
        "The width stays the same however it is cut into heads: `{**config, ...: ...}`.",
    ],
    question=which(
        '"n_heads": 1 -> "dropout": 0.5',
        others=['"n_heads": 1 -> "d_model": 24', '"n_heads": 1 -> "n_heads": 5'],
    ),
    mistakes=edits(
        right_break_config,
        {
            '"n_heads": 1 -> "d_model": 24': "do not fit any more, and the loader notices it",
            '"n_heads": 1 -> "n_heads": 5': "No GPT can be built with this change",
            '"n_heads": 1 -> "dropout": 0.5': "All tensors fit, but the logits stay the same",
            ', "n_heads": 1 -> ': "Nothing is changed yet",
        },
        quoted=True,
    ),
)


def _weights(V=9, T=6, C=6, n_layers=2):
    """The tensors of a GPT; where T = C the table of positions is square."""
    net = GPT(GPTConfig(V, context_length=T, d_model=C, n_heads=1, n_layers=n_layers))
    generator = torch.Generator().manual_seed(17)
    return {name: torch.randn(p.shape, generator=generator) for name, p in net.named_parameters()}


def right_turn(weights):
    turned = {}
    for name, tensor in weights.items():
        in_block = name.startswith("h.")  # the two tables are outside
        turned[name] = tensor.T if in_block and tensor.dim() == 2 else tensor
    return turned


def judge_turn(call):
    square, back_again = _weights(V=4, T=7, C=4), right_turn(_weights())  # the table of tokens is
    for weights in (_weights(n_layers=11), square, back_again):
        right = right_turn(weights)
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


def _transposed(function):
    """How many tensors of a GPT of 5 blocks the function changes."""
    weights = _weights(n_layers=5)
    return sum(not torch.equal(tensor, weights[name]) for name, tensor in function(weights).items())


turn = exercise(
    "18.2",
    "turn(weights: a GPT's tensors by name) -> the same names, with what must be turned transposed",
    judge=judge_turn,
    right=[right_turn],
    hints=[
        "Which tensors is a vector multiplied by, and which are tables from which rows are taken?",
        "Transpose what has two axes (`tensor.dim() == 2`) and a name that begins with ...",
    ],
    question=number(
        "How many tensors of a GPT of 5 blocks does `turn` transpose?", _transposed, digits=0
    ),
    mistakes=edits(
        right_turn,
        {
            "tensor.T if -> tensor if": "is as it was: transpose it",
            "in_block and -> ": "is a table with a row for each id",
            "== 2 -> == 2 and len(tensor) != len(tensor.T)": "although its shape stays the same",
            "return turned -> return {n: t for n, t in turned.items() if t.dim() == 2}": "is "
            "missing",
        },
        quoted=True,
    ),
)


RISE, MOVE = 0.01, 0.1  # what the loss may rise by, and what a probability must move by


@torch.no_grad()
def _loss_and_probabilities(net, ids):
    log_p = net(ids[:, :-1])[0].log_softmax(dim=-1)  # (T, V)
    return F.nll_loss(log_p, ids[0, 1:]).item(), log_p.exp()


def judge_unnoticed(call):
    net, chars = silent.shipped()
    weights = {name: p.detach() for name, p in net.named_parameters()}
    changed = call(weights).like(weights, "Return a dict.")
    for name in weights:
        expect(name in changed, f"The loader notices that `{name}` is missing.")
    for name, tensor in changed.items():
        expect(name in weights, f"The loader notices `{name}`, which the model does not have.")
        shapes = f"{tuple(tensor.shape)}, expected {tuple(weights[name].shape)}"
        expect(tensor.shape == weights[name].shape, f"The loader notices `{name}`: {shapes}.")
        expect(tensor.isfinite().all(), f"`{name}` holds NaN or infinity.")
    broken = GPT(net.config).eval()
    broken.load_state_dict(changed, strict=False)  # the head is the table of tokens
    ids = torch.tensor([chars.encode(silent.UNSEEN)])
    (loss, p), (new_loss, new_p) = (_loss_and_probabilities(model, ids) for model in (net, broken))
    move, rise = (new_p - p).abs().max().item(), new_loss - loss
    losses = f"The loss goes from {loss:.4f} to {new_loss:.4f}"
    expect(rise <= RISE, f"{losses}, and you may notice that: it may rise by {RISE}.")
    slight = f"{losses}, but no probability moves by more than {move:.2f}: make it {MOVE} or more."
    expect(move >= MOVE, slight)
    return f"{losses}, and a probability moves by {move:.2f}."


def right_unnoticed(weights):
    name = "h.3.ln_1.bias"
    return {**weights, name: 0 * weights[name]}


def with_larger_positions(weights):
    name = "wpe.weight"
    return {**weights, name: 1.1 * weights[name]}


unnoticed = exercise(
    "18.3",
    "unnoticed(weights: tensors by name) -> tensors of the same names and shapes, with which the "
    "loss rises by 0.01 at most and a probability moves by 0.1 or more",
    judge=judge_unnoticed,
    right=[right_unnoticed, with_larger_positions],
    hints=[
        "In which block does a small change have the fewest blocks left to amplify it?",
        "Return `{**weights, name: changed}`. Set a small tensor of the last block to 0, or "
        "multiply a table by a number near 1.",
    ],
    question=which(
        "h.3.ln_1.bias -> wte.weight\n0 * weights[name] -> weights[name] + 0.1",
        others=[
            "h.3.ln_1.bias -> h.0.attn.c_proj.weight\n0 * weights[name] -> weights[name].T",
            'name: 0 * weights[name] -> "name": weights[name]',
        ],
        text="One of these changes is refused. Which one, and why?",
    ),
    mistakes=edits(
        right_unnoticed,
        {
            "h.3.ln_1.bias -> wte.weight\n0 * weights[name] -> weights[name] + 0.1": "no "
            "probability moves by more than 0.00",
            "h.3.ln_1.bias -> h.0.attn.c_proj.weight\n0 * weights[name] -> weights[name].T": "and "
            "you may notice that",
            'name: 0 * weights[name] -> "name": weights[name]': "The loader notices `name`",
        },
        quoted=True,
    ),
)
