"""The exercises of chapter 23, silent bugs."""

from functools import cache

import torch

from scratchformer.attention import causal_mask
from scratchformer.diagnosis import diagnose
from scratchformer.models import GPT
from scratchformer_course.ch23_silent_bugs import invariants as inv
from scratchformer_course.ch23_silent_bugs.edited_library import edited_program, merging
from scratchformer_course.ch23_silent_bugs.faults import FAULTS, HEALTHY
from scratchformer_course.ch23_silent_bugs.program import Model, Program
from scratchformer_course.kit.checks.engine import exercise, mistake, refused
from scratchformer_course.kit.checks.question import which
from scratchformer_course.kit.checks.verdict import expect


def _model(program: Program, forward=None) -> Model:
    """A tiny model that a message calls by its argument's name; `forward` changes its logits."""
    model = inv.small(program)
    kind, methods = type(model), {"__repr__": lambda model: "<a model>"}
    if forward is not None:
        methods["forward"] = lambda model, ids, *args: forward(kind.forward(model, ids, *args), ids)
    model.__class__ = type(kind.__name__, (kind,), methods)
    return model


def _edited(function, before, after):
    """A healthy program with one edit."""
    return edited_program(function, {before: after}, HEALTHY["plain"])


# --- 23.1: the future ----------------------------------------------------------------------------


def _rounded(logits, ids):
    """As on a machine whose rounding depends on the shapes: never twice the same last digit."""
    return logits + 1e-6 * torch.randn_like(logits)


def _leaking(by, row=-1, places=slice(None), ahead=1, times=1.0, logit=0):
    """Logits of which a later token moves one of a text, by little, in some places."""

    def forward(logits, ids):
        logits = times * logits
        later = torch.zeros(ids.shape[1])
        later[:-ahead] = 1.0 + ids[row, ahead:] % 2
        logits[row, places, logit] += by * later[places]
        return logits

    return forward


@cache
def _some_see_the_future():
    torch.manual_seed(0)
    rounded = _model(Program(), _rounded)
    names = ("mask_one_off", "mask_after_softmax", "heads_mixed", "norm_over_time")
    faulty = [_model(FAULTS[name].program) for name in names]
    # causal, but for one position that all others see
    far = _model(_edited(causal_mask, ".tril()", ".tril() | (torch.arange(T) == 3)"))
    weak = _model(Program(), _leaking(-0.01))
    ids = inv.some(2, 12)
    return tuple((model, ids) for model in (_model(Program()), rounded, *faulty, far, weak))


def _some_hide_it():
    leaks = (
        _leaking(0.05, row=0, places=slice(0, 1)),
        _leaking(-0.05, row=1, places=slice(0, 1)),
        _leaking(0.05, row=1, places=slice(9, 10), ahead=2),
        _leaking(0.05, places=slice(1, 2), logit=5),  # only the third token is seen
        _leaking(-0.05, row=0, places=slice(10, 11), logit=-1),  # only the last one is
        _leaking(4e-4, row=0, places=slice(2, 3)),
        _leaking(0.05, places=slice(1, 2), ahead=10),
        _leaking(0.5, row=0, times=50.0),
    )
    return [(_model(Program(), leak), inv.some(2, 12)) for leak in leaks]


def by_beginnings(model, ids):
    logits = model(ids)
    for t in range(1, ids.shape[1]):
        off = model(ids[:, :t])
        off = off - logits[:, :t]
        if off.abs().max() > 1e-4:
            return False
    return True


def _by_other_tokens(times=lambda T: range(1, T), more=0, near=1e-4):
    """Other tokens from t on: do the first t + `more` logits stay as they are?"""

    def answer(model, ids):
        before = model(ids)
        for t in times(ids.shape[1]):
            other = ids.clone()
            other[:, t:] = (ids[:, t:] + 1) % before.shape[-1]
            if (model(other) - before)[:, : t + more].abs().max() > near:
                return False
        return True

    return answer


def likeliest_only(model, ids):
    tokens = model(ids).argmax(-1)
    for t in range(1, ids.shape[1]):
        part = model(ids[:, :t])
        part = part.argmax(-1)
        if (part != tokens[:, :t]).any():
            return False
    return True


future_changes_nothing = exercise(
    "23.1",
    "future_changes_nothing(model, ids: (B, T)) -> True if no logit, beyond rounding, depends on a "
    "later token; model(ids) gives logits (B, T, V)",
    cases=_some_see_the_future,
    more=cache(_some_hide_it),
    praise="`future_changes_nothing` is right: it clears both healthy models, and finds six "
    "others.",
    right=[by_beginnings, _by_other_tokens()],
    hints=[
        "You know the logits of a whole text. Which logits can you compute without the model ever "
        "seeing the second half?",
        "For each t from 1 to T - 1, `model(ids[:, :t])` must be near to ... of `model(ids)`.",
    ],
    question=which(
        "looks at the likeliest tokens only",
        beside=[by_beginnings],
        others=["tries one place only", "asks for equality to the last digit"],
    ),
    mistakes=[
        mistake(
            "looks at the changed place, too",
            "A logit may depend on its own token and on those before: compare only the places "
            "before the first one that you change",
            _by_other_tokens(more=1),
        ),
        mistake(
            "tries one place only",
            "One model shows only its fourth token to the places before it: change tokens, or cut "
            "the text, at every place",
            _by_other_tokens(lambda T: [T // 2]),
        ),
        mistake(
            "looks at the likeliest tokens only",
            "A leak can move the logits and leave the largest where it is: compare the logits "
            "themselves",
            likeliest_only,
        ),
        mistake(
            "asks for equality to the last digit",
            "A healthy model may differ in its last digits, since sums are rounded in another "
            "order: allow for a difference of about 0.0001",
            _by_other_tokens(near=0.0),
        ),
    ],
)

# --- 23.2: a cache -------------------------------------------------------------------------------


COUNTED = "torch.arange(old, S, device=ids.device)"  # the positions of new tokens


@cache
def _some_forget():
    late = _model(_edited(GPT.forward, COUNTED, "torch.arange(S - old) + (old > 4)"))
    models = (_model(Program()), _model(FAULTS["positions_forgotten"].program), late)
    modern = FAULTS["window_one_off"].healthy
    return tuple((model, inv.some(2, 7)) for model in (*models, _model(modern)))


@cache
def _some_forget_the_first():
    """A model whose first token alone is at another place with a cache."""
    first = _edited(GPT.forward, COUNTED, "torch.arange(S - old) + (old == 0 and S == 1)")
    return [(_model(first), inv.some(n, 5)) for n in (1, 3)]


def largest_of_each(model, ids):
    logits, off = model(ids), []
    cache = model.new_cache()
    for t in range(ids.shape[1]):
        part = model(ids[:, [t]], cache)
        part = part[:, 0] - logits[:, t]
        off.append(part.abs().max())
    return max(off).item()


def in_one_call(model, ids):
    cache = model.new_cache()
    part = model(ids, cache)
    part = part - model(ids)
    return part.abs().max().item()


def fresh_caches(model, ids):
    rows = []
    for x in ids.split(1, dim=1):
        cache = model.new_cache()
        rows.append(model(x, cache))
    off = torch.cat(rows, dim=1) - model(ids)
    return off.abs().max().item()


def all_tokens_so_far(model, ids):
    cache, rows = model.new_cache(), []
    for t in range(1, ids.shape[1] + 1):
        part = model(ids[:, :t], cache)
        rows.append(part[:, -1:])
    off = torch.cat(rows, dim=1) - model(ids)
    return off.abs().max().item()


def _difference(of=lambda difference: difference.abs().max()):
    """The right answer, or one that reports something else of the difference (B, T, V)."""

    def answer(model, ids):
        cache = model.new_cache()
        parts = [model(part, cache) for part in ids.split(1, dim=1)]
        return of(torch.cat(parts, dim=1) - model(ids)).item()

    return answer


cache_difference = exercise(
    "23.2",
    "cache_difference(model, ids: (B, T)) -> the largest difference of a logit, token by token "
    "with a cache or all at once; model.new_cache() begins a text, model(ids, cache) goes on",
    cases=_some_forget,
    more=_some_forget_the_first,
    praise="`cache_difference` is right: it is 0, but for rounding, where the cache is sound.",
    right=[_difference(), largest_of_each],
    hints=[
        "Which ids does the model read in its first call, if it reads one token at a time, and "
        "which in its second?",
        "Make one cache. Give the model `ids[:, t : t + 1]` and this cache for each t, join the "
        "logits along `dim=1`, and compare them with ...",
    ],
    question=which(
        "reads all tokens in one call",
        beside=[largest_of_each],
        others=["begins a cache for each token", "reads the text so far again each time"],
    ),
    mistakes=[
        mistake(
            "compares the last token only",
            "Only the last logits are compared here: the largest difference may be before them",
            _difference(lambda difference: difference[:, -1].abs().max()),
        ),
        mistake(
            "reads all tokens in one call",
            "All tokens are read in one call, and the cache is never used: give the model one "
            "token at a time",
            in_one_call,
            specific=True,
        ),
        mistake(
            "begins a cache for each token",
            "Each token meets an empty cache: make one, and go on with it",
            fresh_caches,
        ),
        mistake(
            "reads the text so far again each time",
            "The cache holds the tokens before, so give the model only the new one: "
            "`ids[:, t : t + 1]`",
            all_tokens_so_far,
        ),
    ],
)

# --- 23.3: a bug that is not found ---------------------------------------------------------------


def _heads():
    return torch.arange(2 * 4 * 5 * 3.0).view(2, 4, 5, 3)


def judge_hidden(call):
    got = call(_heads()).like(torch.zeros(2, 5, 12))
    expect(got.shape == (2, 5, 12), f"`{call}` returned {tuple(got.shape)}, expected (2, 5, 12).")
    expect(bool(got.isfinite().all()), "It returns nan or infinity, which any test would find.")
    ids = inv.some(3, 12)
    healthy, broken = inv.small(Program()), inv.small(merging(call.function))
    broken.load_state_dict(healthy.state_dict())
    with torch.no_grad():
        off = float((broken(ids) - healthy(ids)).abs().max())
    expect(off > 0.01, "This is no bug: with the same weights the logits are those of a right GPT.")
    report = diagnose(broken)
    if report.faults:
        found = report[report.faults[0]]
        expect(False, f"`diagnose` finds it. The test of {found.test} says: {found.measured}.")
    return f"No test finds it, and with the same weights logits are off by up to {off:.1f}."


def heads_turned_over(x):
    x = x.flip(1).transpose(1, 2)
    return x.flatten(2)


def by_channel(x):
    x = x.permute(0, 2, 3, 1)
    return x.flatten(2)


def reshaped_only(x):
    B, H, T, D = x.shape
    return x.reshape(B, T, H * D)


def rows_exchanged(x):
    x = x.flip(0).transpose(1, 2)
    return x.flatten(2)


def gradient_cut_off(x):
    x = -x.transpose(1, 2).flatten(2)
    return x.detach()


my_merge = exercise(
    "23.3",
    "my_merge(x: (B, H, T, D)) -> (B, T, H · D); it replaces the merging of heads, changes a "
    "model's logits, and no test of `diagnose` finds it",
    judge=judge_hidden,
    right=[heads_turned_over, by_channel],
    hints=[
        "The tests see what must hold for *any* weights. What can you do to the channels of a "
        "position that the next matrix could undo?",
        "`x.transpose(1, 2).flatten(2)` is right. Each position must keep all of its own numbers, "
        "so put its heads, or its channels, into ...",
    ],
    question=which(
        "leaves the transpose out",
        beside=[heads_turned_over, by_channel],
        others=["exchanges the rows of a batch", "cuts the gradient off"],
        text="Two of these are hidden well. Which one would a test find, and why?",
    ),
    mistakes=[
        refused("is healthy", "This is no bug", lambda x: x.transpose(1, 2).flatten(2)),
        refused(
            "leaves the transpose out",
            "The test of causality says",
            reshaped_only,
        ),
        refused(
            "exchanges the rows of a batch",
            "The test of rows says",
            rows_exchanged,
        ),
        refused(
            "cuts the gradient off",
            "The test of gradients says",
            gradient_cut_off,
        ),
    ],
)
