"""Norms beside formulas: the right ones, and those that are often written by mistake."""

from collections.abc import Iterator
from copy import deepcopy

import torch
from torch import Tensor, nn


def norm_faults(model: nn.Module, ids: Tensor) -> tuple[int, list[tuple[str, str]]]:
    """How many kinds of norms were checked, and (name, mistake) for those that are wrong."""
    outputs: dict[str, Tensor] = {}

    def note(name: str, args: tuple, output: object) -> None:
        if len(args) == 1 and isinstance(output, Tensor) and output.shape == args[0].shape:
            outputs[name] = output

    leaves = {n: m for n, m in model.named_modules() if not list(m.children())}
    hooks = [
        m.register_forward_hook(lambda m, args, output, n=n: note(n, args, output))
        for n, m in leaves.items()
    ]
    with torch.no_grad():
        model(ids)
        for hook in hooks:
            hook.remove()
        kinds = {(type(leaves[n]), x.shape[-1]): n for n, x in outputs.items() if x.dim() > 2}
        found = [(n, _fault(leaves[n], torch.randn_like(outputs[n]))) for n in kinds.values()]
    return sum(fault is not None for _, fault in found), [(n, f) for n, f in found if f]


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
    own = [getattr(module, n, None) for n in ("eps", "variance_epsilon", "epsilon")]
    usual = (1e-5, 1e-6, 1e-8, 1e-12, torch.finfo(torch.float32).eps)
    for eps in [e for e in own if isinstance(e, float)] or usual:
        small = 3 * eps**0.5 * x  # so small that eps counts
        for fault, expected in _formulas(small, eps):
            ratio = norm(small) / expected  # 2 where a weight of 1 stands for 1 + 1
            if (ratio - ratio.median().round()).abs().median() < 3e-5:
                return fault
    return ""


def _formulas(x: Tensor, eps: float) -> Iterator[tuple[str, Tensor]]:
    """(mistake, result), the right ones first."""
    C, centred = x.shape[-1], x - x.mean(dim=-1, keepdim=True)
    var, square = (t.square().mean(dim=-1, keepdim=True) for t in (centred, x))
    unbiased = var * C / max(C - 1, 1)
    yield "", centred / (var + eps).sqrt()
    yield "", x / (square + eps).sqrt()
    yield "variance divided by C - 1, not C", centred / (unbiased + eps).sqrt()
    yield "eps outside the root", centred / (var.sqrt() + eps)
    yield "eps outside the root", x / (square.sqrt() + eps)
    yield "variance divided by C - 1, eps outside the root", centred / (unbiased.sqrt() + eps)
