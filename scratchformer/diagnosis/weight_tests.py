"""The weights: what they start as, what the loss reaches, and what a copy of them is worth."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.norm_formulas import norm_faults
from scratchformer.diagnosis.probes import copy_of, gap, logits_of, mean_loss


def norms(case: Case) -> tuple:
    """A norm divides by the statistics of one token's features, by the usual formula."""
    checked, wrong = norm_faults(case.sharp, case.ids)
    said = ", ".join([f"{checked} kinds", *(f"{name} is wrong" for name, _ in wrong)])
    return not wrong if checked else None, said, *(fault for _, fault in wrong)


def dropout(case: Case) -> tuple:
    """Dropout that a model has is active in training."""
    chances = [
        getattr(m, n) for m in case.model.modules() for n in vars(m) if "drop" in n or n == "p"
    ]
    if not any(isinstance(p, float) and p > 0 for p in chances):
        return None, "the model has none"
    model = copy_of(case.sharp).train()
    with torch.no_grad():
        off = gap(logits_of(model(case.ids)), logits_of(model(case.ids)))
    return off > 0, f"in training twice the same differs by {off:.1g}", "dropout never applied"


def initial_loss(case: Case) -> tuple:
    """An untrained model, and any on its own text, is no worse than guessing."""
    scales = [p for p in case.model.parameters() if p.dim() == 1 and p.mean() > 0.5]  # of norms
    fresh = scales and all((p == 1).all() for p in scales)
    if not case.given.batches and not fresh:
        return None, "it seems trained: give batches=… of its text"
    with torch.no_grad():
        nats = float(mean_loss(case.given.loss, case.model, *case.batch()))
    guess = math.log(case.vocab_size)
    large = "weights too large at the start, as an embedding's 1.0 in a tied head"
    other = "batches or ids of another tokenizer"
    said = f"{nats:.2f} nats a token; guessing costs ln V = {guess:.2f}"
    return nats < guess + 0.7, said, large, other


def overfitting(case: Case) -> tuple:
    """A short text can be learned by heart."""
    n = min(16, case.vocab_size - 1, case.context_length)
    order, first, best = torch.randperm(case.vocab_size).to(case.ids), 0.0, math.inf
    for lr in (5e-3, 5e-4, 5e-2):  # then that of a wide model, and of a table alone
        model = copy_of(case.model)
        optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
        for step in range(80):
            loss = F.cross_entropy(logits_of(model(order[None, :n]))[0], order[1 : n + 1])
            best, first = min(best, loss.item()), first if step else loss.item()
            if best < 0.2 * math.log(case.vocab_size):
                return True, f"{n} tokens: from {first:.2f} to {best:.2f} nats in {step} steps"
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    again = "softmax in the model, and again in the loss"
    return False, f"{n} tokens: no better than {best:.2f} nats", again, "gradients are cut off"


def gradients(case: Case) -> tuple:
    """The loss reaches every weight, and the model lists every weight that it reaches."""
    dead = {n for n, p in case.model.named_parameters() if p.requires_grad}
    total = len(dead)
    for _ in range(6):  # an expert that is not chosen by one router may be by the next
        model, ids = copy_of(case.model, sharp=True), case.random_ids(16, case.T + 1)
        loss = mean_loss(None, model, ids[:, :-1], ids[:, 1:])
        own = dict(model.named_parameters())
        if strangers := {id(leaf) for leaf in _leaves(loss)} - {id(p) for p in own.values()}:
            said = f"{len(strangers)} tensors that learn are missing in parameters()"
            return False, said, "layers in a plain list: nn.ModuleList registers them"
        loss.backward()
        dead = {n for n in dead if (g := own[n].grad) is None or not g.any()}
        if not dead:
            return True, f"all {total} tensors get one"
    said = f"{total - len(dead)} of {total} tensors get one, not {', '.join(sorted(dead)[:4])}"
    return False, said, "not used in forward", "cut off by detach(), .data or no_grad"


def _leaves(loss: Tensor) -> list[Tensor]:
    """The tensors that gradients of a loss end in."""
    leaves, seen, nodes = [], set(), [loss.grad_fn]
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            leaves += [node.variable] if hasattr(node, "variable") else []
            nodes += [next_node for next_node, _ in node.next_functions]
    return leaves


def shared_weights(case: Case) -> tuple:
    """Table and head are one weight or two, never two copies; and blocks are not one block."""
    names: dict[Tensor, list[str]] = {}
    for name, p in case.model.named_parameters(remove_duplicate=False):
        names.setdefault(p, []).append(name)
    tables = [p for p in names if p.dim() == 2 and case.vocab_size in p.shape]
    blocks = [n for p, n in names.items() if len(n) > 1 and case.vocab_size not in p.shape]
    if blocks:
        return False, f"{blocks[0][0]} is {blocks[0][1]}", "[Block()] * n: one block, n times"
    pairs = [(p, q) for i, p in enumerate(tables) for q in tables[:i] if p.shape == q.shape]
    for a, b in pairs:
        if torch.equal(a, b) and a.std() > 0:
            said = f"{names[b][0]} and {names[a][0]} are equal, but two weights"
            return False, said, "tied by a copy: they part at the first step"
    config = getattr(case.model, "config", None)
    tied = getattr(config, "tied", getattr(config, "tie_word_embeddings", False))
    lost = bool(tied) and all(len(names[p]) == 1 for p in tables)
    said = f"{sum(len(n) > 1 for n in names.values())} shared{', expected one' * lost}"
    return not lost, said, "the tie was lost in a copy, or forgotten"


def saved(case: Case) -> tuple:
    """Another model that loads its weights computes the same."""
    try:
        other = type(case.sharp)(case.sharp.config)
    except Exception:
        return None, "no other can be built from its config alone"
    other.to(case.ids.device).eval().load_state_dict(case.sharp.state_dict())
    with torch.no_grad():
        off = gap(logits_of(other(case.ids)), case.logits(case.ids))
    lost = "a tensor that is no parameter and no buffer"
    return off < 1e-4, f"saved and loaded, logits differ by {off:.1g}", lost
