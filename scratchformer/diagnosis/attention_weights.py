"""What must hold for the attention inside: its softmax, its scores, what it sees, who shares keys.

These tests are left out where PyTorch cannot watch it.
"""

import torch

from scratchformer.diagnosis.case import Case
from scratchformer.diagnosis.report import Outcome

UNSEEN = Outcome(None, "no softmax over scores (T, T) was seen")


def attention_axis(case: Case) -> Outcome:
    """A query's weights sum to 1 over the keys, where they multiply the values too."""
    if not case.attention:
        return UNSEEN
    sums = [(a.weights if a.used is None else a.used).sum(dim=-1) for a in case.attention]
    worst = max((t - 1)[t != 0].abs().max().item() for t in sums)  # 0: sees nothing
    axes = {a.axis for a in case.attention}
    measured = f"the softmax runs over axis {_listed(axes)}; weights miss a sum of 1 by {worst:.1g}"
    if axes != {-1}:
        return Outcome(False, measured, ["softmax over the wrong axis: expected -1"])
    return Outcome(
        worst < 1e-4, measured, ["mask applied after the softmax", "dropout in evaluation"]
    )


def attention_scale(case: Case) -> Outcome:
    """Scores are divided by √D, or scaled by another number of one's own."""
    layers = [(a.keys.shape, a.scale) for a in case.attention if a.keys is not None]
    if not layers:
        return UNSEEN
    measured = "scores are multiplied by " + ", ".join({f"{scale or 1:.3g}" for _, scale in layers})
    if bare := {D for (_, D, _), scale in layers if scale is None}:
        return Outcome(
            False, measured, [f"scores not divided by √D, with heads {sorted(bare)} wide"]
        )
    of_all = [(N * D // len(case.ids), D, scale) for (N, D, _), scale in layers]
    wrong = any(C != D and abs(scale * C**0.5 - 1) < 0.01 for C, D, scale in of_all)
    return Outcome(not wrong, measured, ["scores divided by √d_model, not by a head's √D"])


def attention_span(case: Case) -> Outcome:
    """A query may attend to its own token, and to as many in all as a window says."""
    if not case.attention:
        return UNSEEN
    flat = [a.weights.flatten(0, -3) for a in case.attention]
    itself = min(w.diagonal(dim1=1, dim2=2)[:, 1:].max().item() for w in flat)
    spans, window = {int((w[:, -1] > 0).sum(dim=-1).max()) for w in flat}, case.given.window
    measured = f"layers see {_listed(spans)} of {case.T} tokens"
    if itself == 0:
        return Outcome(False, measured, ["mask off by one: tril(-1) closes the token itself"])
    if window is None or window >= case.T:
        return Outcome(True, measured)
    ok = window in spans and spans <= {window, case.T}
    wrong = "window not applied" if spans == {case.T} else "window off by one"
    return Outcome(ok, f"{measured}, window={window} counts the token itself", [wrong])


def attention_sharing(case: Case) -> Outcome:
    """Heads of queries that share a key are neighbours, as in all published weights."""
    if not (layers := [a.keys for a in case.attention if a.keys is not None]):
        return UNSEEN
    shares = set()
    for keys in layers:
        k = keys.unflatten(0, (len(case.ids), -1))[0].flatten(1)  # (H, N)
        same = (k[:, None] == k).all(dim=-1)  # (H, H)
        n = int(same[0].sum())
        group = torch.arange(len(k), device=k.device) // n
        shares.add(n)
        if not torch.equal(same, group[:, None] == group):
            order = "repeat in place of repeat_interleave: published weights expect neighbours"
            measured = f"each key serves {n} of {len(k)} heads, which are no neighbours"
            return Outcome(False, measured, [order])
    return Outcome(True, f"heads that share a key: {_listed(shares)}")


def _listed(numbers: set[int]) -> str:
    """The numbers, the smallest first."""
    return ", ".join(map(str, sorted(numbers)))
