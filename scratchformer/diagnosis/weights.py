"""The weights: what they start as, what the loss reaches, and what a copy of them is worth."""

import math
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.probes import copy_of, gap, logits_of, mean_loss
from scratchformer.diagnosis.report import Outcome


def initial_loss(case: Case) -> Outcome:
    """An untrained model, and any on its own text, is no worse than guessing."""
    vectors = {n: p for n, p in case.model.named_parameters() if p.dim() == 1}
    scales = [p for name, p in vectors.items() if name.endswith("weight")]  # of norms: 1, or 0
    fresh = scales and all((p == p[0]).all() for p in scales)
    if not case.given.batches and not fresh:
        return Outcome(None, "it seems trained: give batches=… of its text")
    with torch.no_grad():
        nats = float(mean_loss(case.given.loss, case.model, *case.batch()))
    guess = math.log(case.vocab_size)
    large = "weights too large at the start, as an embedding's 1.0 in a tied head"
    measured = f"{nats:.2f} nats a token; guessing costs ln V = {guess:.2f}"
    return Outcome(nats < guess + 0.7, measured, [large, "batches or ids of another tokenizer"])


def overfitting(case: Case) -> Outcome:
    """A short text can be learned by heart."""
    if not any(p.requires_grad for p in case.model.parameters()):
        return Outcome(None, "no weight is to be trained")
    n = min(16, len(case.ordinary) - 1, case.context_length)
    order, best = case.ordinary[torch.randperm(len(case.ordinary)).to(case.ids)], math.inf
    guess, size = math.log(case.vocab_size), sum(p.numel() for p in case.model.parameters())
    for lr in (5e-3, 5e-4, 5e-2):  # then that of a wide model, and of a table alone
        model = _to_train(case, wide=True)
        weights = [p for p in model.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(weights, lr=lr, fused=case.ids.is_cpu or None)  # far faster
        least: list[float] = []  # loss so far, at each step
        for step in range(80):
            loss = F.cross_entropy(logits_of(model(order[None, :n]))[0], order[1 : n + 1])
            best = min(best, loss.item())
            least.append(min([loss.item(), *least[-1:]]))
            if best < 0.4 * guess:  # a softmax too many stays above 0.5
                return Outcome(True, f"{n} tokens: {best:.2f} nats in {step} steps")
            if step == 30 and best > 0.9 * guess:
                break
            if size > 4e6 and step >= 10 and least[-11] - least[-1] < 0.03 * guess:
                break  # steps of a large model are slow
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    suspects = ["softmax in the model, and again in the loss", "gradients are cut off"]
    return Outcome(False, f"{n} tokens: no better than {best:.2f} nats", suspects)


def gradients(case: Case) -> Outcome:
    """The loss reaches every weight, and every layer is registered."""
    modules = list(case.model.modules())
    lists = [value for m in modules for value in vars(m).values() if type(value) is list]
    if any(isinstance(x, nn.Module) and x not in modules for items in lists for x in items):
        measured = "the weights of some layers are missing in parameters()"
        return Outcome(False, measured, ["layers in a plain list: nn.ModuleList registers them"])
    dead = {name for name, p in case.model.named_parameters() if p.requires_grad}
    total = len(dead)
    for _ in range(6):  # an expert that is not chosen by one router may be by the next
        model, ids = _to_train(case, sharp=True), case.random_ids(16, case.T + 1)
        loss = mean_loss(None, model, ids[:, :-1], ids[:, 1:])
        if loss.requires_grad:
            loss.backward()
        parameters = dict(model.named_parameters())
        dead = {n for n in dead if (g := parameters[n].grad) is None or not g.any()}
        if not dead:
            return Outcome(True, f"all {total} tensors get one")
    cut, measured = _felt_by_logits(case, dead), f"{total - len(dead)} of {total} tensors get one"
    if cut:
        measured += f", not {', '.join(sorted(cut)[:4])}"
        return Outcome(False, measured, ["cut off by detach(), .data or no_grad"])
    measured += f"; the others move no logit: {', '.join(sorted(dead)[:4])}"
    unused = "weights that this class never uses, or that choose by rank alone (harmless)"
    return Outcome(False, measured, [unused, "a layer that forward forgets"], noted=True)


def _to_train(case: Case, **how: bool) -> nn.Module:
    """A copy that keeps no cache: a recurrent class may change its state in place."""
    model = copy_of(case.model, **how)
    if (config := getattr(model, "config", None)) and hasattr(config, "use_cache"):
        config.use_cache = False
    return model


def _felt_by_logits(case: Case, names: set[str]) -> set[str]:
    """The weights of which a tiny change is a tiny change of the logits."""
    before, effective = case.logits(case.ids), set()
    tables = [m for m in case.sharp.modules() if isinstance(m, nn.Embedding)]
    padded = {table.weight: table.padding_idx for table in tables if table.padding_idx is not None}
    for name, p in case.sharp.named_parameters():
        if name in names:
            original = p.data.clone()
            change = 1e-5 * original.abs().mean() * torch.randn(p.shape).to(p)
            if p in padded:
                change[padded[p]] = 0  # a row of padding gets no gradient, and needs none
            p.data += change
            if 0 < gap(case.logits(case.ids), before) < 1e-2:  # another choice would be a leap
                effective.add(name)
            p.data = original
    return effective


def shared_weights(case: Case) -> Outcome:
    """Table and head are one weight or two, never two copies; and blocks are not one block.

    A model of `transformers` says which weights it shares on purpose.
    """
    meant = {*(getattr(case.model, "all_tied_weights_keys", None) or ())}
    names: dict[Tensor, list[str]] = {}
    for name, p in case.model.named_parameters(remove_duplicate=False):
        names.setdefault(p, []).append(name)
    unmeant = [(p, n) for p, n in names.items() if len(n) > 1 and not meant & {*n}]
    shared = [n for p, n in unmeant if case.vocab_size not in p.shape]
    if shared:
        measured = f"{shared[0][0]} is {shared[0][1]}"
        return Outcome(False, measured, ["[Block()] * n: one block, n times"])
    tables = [p for p in names if p.dim() == 2 and case.vocab_size in p.shape]
    for a, b in combinations(tables, 2):
        if torch.equal(a, b) and a.std() > 0:
            measured = f"{names[a][0]} and {names[b][0]} are equal, but two weights"
            copied = "tied by a copy, or untied by loading: they part when trained"
            return Outcome(False, measured, [copied])
    return Outcome(True, f"{sum(len(n) > 1 for n in names.values())} shared")


def saved(case: Case) -> Outcome:
    """A model that is saved, and loaded into another, computes the same with as many weights."""
    if case.given.reload is None:
        return Outcome(None, "give reload=…")
    other = case.given.reload(case.sharp).eval()
    with torch.no_grad():
        reloaded = logits_of(other(case.ids))
    diff = gap(reloaded, case.logits(case.ids))
    measured = f"saved and loaded, logits differ by {diff:.1g}"
    if diff > max(1e-4, 10 * torch.finfo(reloaded.dtype).eps):
        square = "a square matrix that should be transposed, or should not"
        return Outcome(False, measured, [square, "a tensor that is no parameter and no buffer"])
    n, m = (len(list(model.parameters())) for model in (case.sharp, other))
    return Outcome(n == m, f"{measured}; {n} tensors become {m}", ["a tie that loading has undone"])
