"""The exercises of chapter 25, silent bugs."""

from functools import cache

import torch

from scratchformer.attention import causal_mask
from scratchformer.diagnosis import diagnose
from scratchformer.models import GPT
from scratchformer_course.ch25_silent_bugs import invariants as inv
from scratchformer_course.ch25_silent_bugs.edited_library import edited_program, merging
from scratchformer_course.ch25_silent_bugs.faults import FAULTS, HEALTHY
from scratchformer_course.ch25_silent_bugs.program import Program
from scratchformer_course.kit.checks import exercise, expect, mistake, which
from scratchformer_course.kit.checks.mistakes import edits


def _model(program=None, change=None):
    """A small GPT that a message calls by its argument's name, with its logits changed."""
    model = inv.small(program or Program())
    model.__class__ = type("Unnamed", (type(model),), {"__repr__": lambda model: "<a model>"})
    if change is not None:
        model.register_forward_hook(lambda model, given, logits: change(given[0], logits))
    return model


def _edited(function, before, after):
    """A healthy program with one edit."""
    return edited_program(function, {before: after}, HEALTHY["plain"])


# --- 25.1: the future ----------------------------------------------------------------------------


def _rounded(ids, logits):
    """As on a machine whose rounding depends on the shapes: never twice the same last digit."""
    return logits + 1e-6 * torch.randn_like(logits)


def _leaking(by, row=-1, places=slice(None), ahead=1, times=1.0, logit=slice(1), spared=-1):
    """A model in which a later token moves one logit of a text, or some, by little, in places.

    No logit of a text that begins with the token `spared` moves.
    """

    def leak(ids, logits):
        later = torch.zeros(ids.shape[1])
        later[:-ahead] = 1.0 + ids[row, ahead:] % 2
        logits = times * logits
        if ids[row, 0] != spared:
            logits[row, places][:, logit] += by * later[places, None]
        return logits

    return _model(change=leak)


@cache
def _some_see_the_future():
    torch.manual_seed(0)
    names = ("mask_one_off", "mask_after_softmax", "heads_mixed", "norm_over_time")
    faulty = [_model(FAULTS[name].program) for name in names]
    one_key_in_sight = _edited(causal_mask, ".tril()", ".tril() | (torch.arange(T) == 3)")
    models = (_model(), _model(change=_rounded), *faulty, _model(one_key_in_sight), _leaking(-0.01))
    return tuple((model, inv.some(2, 12)) for model in models)


@cache
def _some_hide_it():
    ids = inv.some(2, 12)
    models = (
        _leaking(-0.05, places=slice(0, 1), spared=ids[0, 0]),  # only the second text shows it
        _leaking(0.05, places=slice(1, 2), logit=slice(5, 6)),  # only the third token is seen
        _leaking(-0.05, row=0, places=slice(10, 11), logit=slice(-1, None)),  # only the last one is
        # all logits at a place move, so their softmax stays; two move, and their sum stays
        _leaking(4e-4, row=0, places=slice(2, 3), logit=slice(None)),
        _leaking(torch.tensor([0.05, -0.05]), places=slice(1, 2), ahead=10, logit=slice(0, 2)),
        _leaking(0.5, row=0, times=50.0),
    )
    ids[0, 5] = inv.V - 1  # no token comes after it
    return [(model, ids) for model in models]


def right_future_changes_nothing(model, ids):
    logits = model(ids)
    for t in range(1, ids.shape[1]):
        beginning = model(ids[:, :t])
        off = (beginning - logits[:, :t]).abs().max()
        if off > 1e-4:
            return False
    return True


def by_other_tokens(model, ids):
    before = model(ids)
    for t in range(1, ids.shape[1]):
        other = ids.clone()
        other[:, t:] = (ids[:, t:] + 1) % before.shape[-1]
        if (model(other) - before)[:, :t].abs().max() > 1e-4:
            return False
    return True


future_changes_nothing = exercise(
    "25.1",
    "future_changes_nothing(model, ids: (B, T)) -> True if no logit, beyond rounding, depends on a "
    "later token; model(ids) gives logits (B, T, V)",
    cases=_some_see_the_future,
    more=_some_hide_it,
    praise="`future_changes_nothing` is right: it clears both healthy models, and finds six "
    "others.",
    right=[right_future_changes_nothing, by_other_tokens],
    hints=[
        "Which logits can you compute without the model ever seeing the second half of a text?",
        "For each t from 1 to T - 1, `model(ids[:, :t])` must be near to ... of `model(ids)`.",
    ],
    question=which(
        "model(ids) -> model(ids).argmax(-1)\nids[:, :t]) -> ids[:, :t]).argmax(-1)",
        others=["range(1, ids.shape[1]) -> [ids.shape[1] // 2]", "1e-4 -> 0"],
    ),
    mistakes=[
        *edits(
            right_future_changes_nothing,
            {
                "model(ids) -> model(ids).argmax(-1)\nids[:, :t]) -> ids[:, :t]).argmax(-1)": "A "
                "leak can move the logits and leave the largest where it is: compare the logits "
                "themselves",
                "range(1, ids.shape[1]) -> [ids.shape[1] // 2]": "One model shows only its fourth "
                "token to the places before it: change tokens, or cut the text, at every place",
            },
        ),
        *edits(
            by_other_tokens,
            {
                ":t].abs() -> : t + 1].abs()": "A logit may depend on its own token and on those "
                "before: compare only the places before the first one that you change",
                "1e-4 -> 0": "A healthy model may differ in its last digits, since sums are "
                "rounded in another order: allow for a difference of about 0.0001",
            },
        ),
    ],
)

# --- 25.2: a cache -------------------------------------------------------------------------------


COUNTED = "torch.arange(old, S, device=ids.device)"  # the positions of new tokens


def _off_alone(is_off):
    """A model in which the logits of some tokens are all 0.5 higher if each is read alone."""

    def change(ids, logits):
        return logits + 0.5 * (is_off(ids) & (ids.shape[1] == 1))[..., None]

    return _model(change=change).double()


@cache
def _some_forget():
    healthy, faulty = FAULTS["window_one_off"].healthy, FAULTS["positions_forgotten"].program
    late = _edited(GPT.forward, COUNTED, "torch.arange(S - old) + (old > 4)")
    first_only = _edited(GPT.forward, COUNTED, "torch.arange(S - old) + (old == 0 and S == 1)")
    with_any = _edited(GPT.forward, COUNTED, "torch.arange(old, S) + (cache is not None)")
    programs = (Program(), late, faulty, healthy, first_only, with_any)
    # in double precision, where rounding is below what the check compares
    texts = (inv.some(i, 8 - i).flip(1) for i in range(1, 7))
    cases = zip((_model(p).double() for p in programs), texts, strict=True)
    ids = torch.arange(8)[None]
    first_off, late_off = _off_alone(lambda ids: ids == 0), _off_alone(lambda ids: ids > 2)
    return *cases, (first_off, ids), (late_off, ids)


def right_cache_difference(model, ids):
    cache, logits = model.new_cache(), []
    for t in range(ids.shape[1]):
        logits.append(model(ids[:, t : t + 1], cache))
    both = torch.cat(logits, dim=1), model(ids)
    return (both[0] - both[1]).abs().max().item()


def in_one_call(model, ids):
    cache = model.new_cache()
    both = model(ids, cache), model(ids)
    return (both[0] - both[1]).abs().max().item()


cache_difference = exercise(
    "25.2",
    "cache_difference(model, ids: (B, T)) -> the largest difference of a logit, token by token "
    "with a cache or all at once; model.new_cache() begins a text, model(ids, cache) goes on",
    cases=_some_forget,
    praise="`cache_difference` is right: it is 0, but for rounding, where the cache is sound.",
    right=[right_cache_difference],
    hints=[
        "Which ids does the model read in its first and second call, one token at a time?",
        "Make one cache. Give the model `ids[:, t : t + 1]` and this cache for each t, join the "
        "logits along `dim=1`, and compare them with ...",
    ],
    question=which(
        "reads all tokens in one call",
        others=["cache)) -> model.new_cache()))", "t : t + 1], cache) -> : t + 1], cache)[:, -1:]"],
    ),
    mistakes=[
        mistake(
            "reads all tokens in one call",
            "All tokens are read in one call, and the cache is never used: give the model one "
            "token at a time",
            in_one_call,
            specific=True,
        ),
        *edits(
            right_cache_difference,
            {
                ".abs() -> [:, -1].abs()": "Only the last logits are compared here: the largest "
                "difference may be before them",
                "model(ids) -> model(ids, model.new_cache())": "Both readings use a cache: the "
                "text all at once is read without one",
                "cache)) -> model.new_cache()))": "Each token meets an empty cache: make one, and "
                "go on with it",
                "t : t + 1], cache) -> : t + 1], cache)[:, -1:]": "The cache holds the tokens "
                "before, so give the model only the new one: `ids[:, t : t + 1]`",
            },
        ),
    ],
)

# --- 25.3: a bug that is not found ---------------------------------------------------------------


def judge_hidden(call):
    got = call(torch.arange(2 * 4 * 5 * 3.0).view(2, 4, 5, 3)).like(torch.zeros(2, 5, 12))
    expect(got.shape == (2, 5, 12), f"`{call}` returned {tuple(got.shape)}, expected (2, 5, 12).")
    expect(bool(got.isfinite().all()), "It returns nan or infinity, which any test would find.")
    ids, healthy = inv.some(3, 12), inv.small(Program())
    broken = inv.small(merging(call.function))
    broken.load_state_dict(healthy.state_dict())
    with torch.no_grad():
        off = float((broken(ids) - healthy(ids)).abs().max())
    expect(off > 0.01, "This is no bug: with the same weights the logits are those of a right GPT.")
    report = diagnose(broken)
    if report.faults:
        fault = report[report.faults[0]]
        expect(False, f"`diagnose` finds it. The test of {fault.test} says: {fault.measured}.")
    return f"No test finds it, and with the same weights logits are off by up to {off:.1f}."


def right_my_merge(x):
    return x.permute(0, 2, 3, 1).flatten(2)


def heads_turned_over(x):
    x = x.flip(1).transpose(1, 2)
    return x.flatten(2)


my_merge = exercise(
    "25.3",
    "my_merge(x: (B, H, T, D)) -> (B, T, H · D); it replaces the merging of heads, changes a "
    "model's logits, and no test of `diagnose` finds it",
    judge=judge_hidden,
    right=[right_my_merge, heads_turned_over],
    hints=[
        "The tests see what must hold for *any* weights. What can you do to the channels of a "
        "position that the next matrix could undo?",
        "`x.transpose(1, 2).flatten(2)` is right. Each position must keep all of its own numbers, "
        "so put its heads, or its channels, into ...",
    ],
    question=which(
        "permute(0, 2, 3, 1).flatten(2) -> reshape(len(x), x.shape[2], -1)",
        others=["x.permute -> x.flip(0).permute", "flatten(2) -> flatten(2).detach()"],
        text="This one is not hidden well: a test finds it. Why?",
    ),
    mistakes=edits(
        right_my_merge,
        {
            "permute(0, 2, 3, 1) -> transpose(1, 2)": "This is no bug",
            "permute(0, 2, 3, 1).flatten(2) -> reshape(len(x), x.shape[2], -1)": "The test of "
            "causality says",
            "x.permute -> x.flip(0).permute": "The test of rows says",
            "flatten(2) -> flatten(2).detach()": "The test of gradients says",
        },
        quoted=True,
    ),
)
