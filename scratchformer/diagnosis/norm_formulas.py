"""Norms beside formulas: the right ones, and those that are often written by mistake."""

from collections.abc import Iterator
from contextlib import ExitStack
from copy import deepcopy
from functools import partial
from itertools import product

import torch
from torch import Tensor, nn

from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.report import Outcome


def norms(case: Case) -> Outcome:
    """A norm divides by the statistics of one token's features, by the usual formula."""
    seen: dict[tuple, tuple] = {}

    def note(name: str, module: nn.Module, args: tuple, output: object) -> None:
        shape = getattr(args[0], "shape", ()) if len(args) == 1 else ()
        if len(shape) > 2 and isinstance(output, Tensor) and output.shape == shape:
            seen[type(module), shape[-1]] = name, module, torch.randn_like(output)

    leaves = [(n, m) for n, m in case.sharp.named_modules() if not list(m.children())]
    with ExitStack() as hooks:  # which are gone after an error, too
        for name, module in leaves:
            hooks.enter_context(module.register_forward_hook(partial(note, name)))
        case.logits(case.ids)
    faults = {name: _fault(module, x) for name, module, x in seen.values()}
    wrong = {name: fault for name, fault in faults.items() if fault}
    checked = sum(fault is not None for fault in faults.values())
    measured = ", ".join([f"kinds of norm: {checked}", *(f"{name} is wrong" for name in wrong)])
    return Outcome(not wrong if checked else None, measured, list(wrong.values()))


@torch.no_grad()
def _fault(module: nn.Module, x: Tensor) -> str | None:
    """A norm's mistake, "" where none is known; None for a module that is no norm."""
    norm = deepcopy(module)
    for name, p in norm.named_parameters():
        p.fill_(0.0 if name.startswith(("b", "shift")) else 1.0)
    large = norm(100 * x)
    if not large.any() or not torch.allclose(large, norm(200 * x), atol=1e-4):
        return None  # a norm does not see how large its input is
    changed = torch.cat([x[..., :-1, :], -3 * x[..., -1:, :]], dim=-2)
    if not torch.allclose(norm(x)[..., :-1, :], norm(changed)[..., :-1, :], atol=1e-5):
        return "statistics over time or rows, not over features"
    named = [getattr(module, n, None) for n in ("eps", "variance_epsilon", "epsilon")]
    usual = (1e-5, 1e-6, 1e-8, 1e-12, torch.finfo(torch.float32).eps)
    for eps in [e for e in named if isinstance(e, float)] or usual:
        for fault, small, expected in _formulas(x, eps):
            ratio = norm(small) / expected  # 2 where a weight of 1 stands for 1 + 1
            if (ratio - ratio.median().round().clamp(min=1)).abs().median() < 3e-5:
                return fault
    return ""


def _formulas(x: Tensor, eps: float) -> Iterator[tuple[str, Tensor, Tensor]]:
    """(mistake, input, result) for LayerNorm and RMSNorm, "" where it is right."""
    C, by_c, outside = x.shape[-1], "variance divided by C - 1, not C", "eps outside the root"
    inner, outer = 3 * eps**0.5 * x, 3 * eps * x  # so small that eps counts
    for centred, (n, fault) in product((True, False), ((C, ""), (max(C - 1, 1), by_c))):
        a, b = (t - t.mean(dim=-1, keepdim=True) * centred for t in (inner, outer))
        yield fault, inner, a / (a.square().sum(dim=-1, keepdim=True) / n + eps).sqrt()
        root = (b.square().sum(dim=-1, keepdim=True) / n).sqrt()
        yield f"{fault}, {outside}".strip(", "), outer, b / (root + eps)
