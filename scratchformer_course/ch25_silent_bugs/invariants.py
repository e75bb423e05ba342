"""What holds for a healthy program whatever its weights: each fault breaks one of these.

A function takes a program and raises AssertionError where its sentence is not true. None of them
trains for more than a few steps, and all of them together take less than a second.
"""

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scratchformer_course.ch25_silent_bugs.program import (
    Model,
    Program,
    Setting,
    drawn,
    new_optimizer,
    reopened,
    save,
)
from scratchformer_course.ch25_silent_bugs.scores import by_cache

V, T = 23, 16


def small(program: Program, **sizes: Any) -> Model:
    """A tiny model, moved away from where it starts: there attention has nothing to say yet."""
    model = program.model(V, 0, **({"context_length": T, "d_model": 32} | sizes))
    for p in model.parameters():
        p.data.add_(0.2 * torch.randn_like(p))
    return model.eval()


def small_llama(program: Program, **sizes: Any) -> Model:
    """A tiny Llama, whatever the program trains: two query heads share a key."""
    modern = replace(program, setting=Setting(modern=True))
    return small(modern, **({"n_kv_heads": 2, "n_layers": 1} | sizes))


def some(*shape: int) -> Tensor:
    """Random ids, the same each time, and none of them the last, which is for padding."""
    return torch.randint(V - 1, shape, generator=torch.Generator().manual_seed(1))


def normal(*shape: int) -> Tensor:
    """Random numbers of variance 1, the same each time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


def close(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are equal up to rounding."""
    return torch.allclose(a, b, atol=1e-4)


# --- attention -----------------------------------------------------------------------------------


@torch.no_grad()
def scores_keep_variance_one(program: Program) -> None:
    """Queries and keys of variance 1 give scores of variance 1, however wide a head is."""
    for D in (16, 64):
        q, k = normal(2, 99, D)
        log_weights = program.attend(q, k, k)[1].log()  # the scores, but for a number a row
        variance = log_weights.var(dim=-1).mean()
        assert 0.5 < variance < 2, f"width {D}: variance {variance:.1f}"


@torch.no_grad()
def the_future_changes_nothing(program: Program) -> None:
    """Changing the tokens from position 9 on leaves all earlier logits as they were."""
    model, ids = small(program), some(2, T)
    other = torch.cat((ids[:, :9], (ids[:, 9:] + 1) % (V - 1)), dim=1)
    before, after = model(ids)[:, :9], model(other)[:, :9]
    assert close(before, after), "a logit depends on a later token"


@torch.no_grad()
def weights_sum_to_one(program: Program) -> None:
    """The weights of each query sum to 1."""
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    q, k = normal(2, 6, 8)
    total = program.attend(q, k, k, causal)[1].sum(dim=-1)
    sums = f"sums from {total.min():.2f} to {total.max():.2f}"
    assert close(total, torch.ones(6)), sums


@torch.no_grad()
def merging_undoes_splitting(program: Program) -> None:
    """Heads of which each position sees only itself, merged again, are what was split."""
    x, attention = normal(2, 5, 12), program.attention(12, n_heads=4, bias=False)
    nn.init.eye_(attention.c_proj.weight)
    attention.c_attn.weight.copy_(torch.eye(12).repeat(3, 1))
    merged, _ = attention(x, torch.eye(5, dtype=torch.bool), need_weights=True)
    assert close(merged, x), "positions are mixed"


@torch.no_grad()
def padding_changes_nothing(program: Program) -> None:
    """A text has the same logits behind three tokens of padding."""
    model, ids = small(program), some(2, 8)
    padded = F.pad(ids, (3, 0), value=V - 1)
    logits = model(padded, mask=padded != V - 1)[:, 3:]
    assert close(logits, model(ids)), "padding changes a real token's logits"


@torch.no_grad()
def a_window_holds_as_many_as_it_says(program: Program) -> None:
    """In a single block, another token `window` positions back changes nothing."""
    model, ids = small_llama(program, window=4), some(1, T)
    other = ids.clone()
    other[0, T - 1 - 4] = (ids[0, T - 1 - 4] + 1) % (V - 1)
    last, same = model(ids)[:, -1], model(other)[:, -1]
    assert close(last, same), "the window is wider than 4"


@torch.no_grad()
def neighbours_share_a_key(program: Program) -> None:
    """Query heads 0 and 1 share the first key head, 2 and 3 the second, as in published weights."""
    attention: Any = small_llama(program).layers[0].self_attn
    first = attention.q_proj.weight[:8].repeat(4, 1)  # all four heads ask the same
    attention.q_proj.weight.copy_(first)
    _, weights = attention.forward(normal(1, 5, 32), need_weights=True)
    assert close(weights, weights[:, [0, 0, 2, 2]]), "heads in another order"


@torch.no_grad()
def values_do_not_turn(program: Program) -> None:
    """Values that are the same at all positions stay the same."""
    attention: Any = small_llama(program).layers[0].self_attn
    values = attention.project(normal(1, 1, 32).expand(1, 5, 32), 2)[2]
    assert close(values, values[:, :, :1].expand_as(values)), "values depend on their position"


@torch.no_grad()
def scores_know_distances_only(program: Program) -> None:
    """Moving all queries and keys 9 positions on leaves their scores as they were."""
    attention: Any = small_llama(program, n_kv_heads=4).layers[0].self_attn
    scores = []
    for start in (0, 9):
        q, k, _ = attention.project(normal(1, 5, 32), start)
        scores.append(q @ k.transpose(-2, -1))
    assert close(*scores), "a score depends on where the text begins"


# --- caches, norms, dropout ----------------------------------------------------------------------


@torch.no_grad()
def a_cache_changes_nothing(program: Program) -> None:
    """The first text that a model reads has the same logits token by token as in one call."""
    model, ids = small(program), some(1, T)
    cache = model.new_cache()
    logits = [model(ids[:, t : t + 1], cache)[:, -1] for t in range(T)]
    together = torch.stack(logits, dim=1)
    assert close(together, model(ids)), "a cache changes the logits"


@torch.no_grad()
def a_new_text_starts_afresh(program: Program) -> None:
    """A text that follows another has the same logits token by token as in one call."""
    model, ids = small(program), some(2, T)
    cached = by_cache(model, ids)
    assert close(cached, model(ids)), "the text before is still there"


@torch.no_grad()
def the_norm_is_pytorchs(program: Program) -> None:
    """LayerNorm gives what PyTorch's does, with which most published weights were trained."""
    x = normal(2, 5, 8)
    assert close(program.norm(8)(x), F.layer_norm(x, (8,))), "another norm than PyTorch's"


@torch.no_grad()
def a_position_is_normed_alone(program: Program) -> None:
    """The norm of a position is the same without the others."""
    x, norm = normal(2, 5, 8), program.norm(8)
    among, alone = norm(x)[:, :2], norm(x[:, :2])
    assert close(among, alone), "the norm looks at other positions"


@torch.no_grad()
def evaluation_repeats_itself(program: Program) -> None:
    """In evaluation two calls give the same logits."""
    model, ids = small(replace(program, setting=Setting(sizes={"dropout": 0.1}))), some(1, T)
    assert torch.equal(model(ids), model(ids)), "two evaluations differ"


# --- text ----------------------------------------------------------------------------------------


def ids_survive_the_file(program: Program) -> None:
    """What is read is what was written, for every id of the vocabulary."""
    ids = list(range(600))
    assert program.stored(ids).tolist() == ids, "an id has become another"


def splits_share_nothing(program: Program) -> None:
    """No token is in both splits."""
    training, validation = program.split(torch.arange(100))
    both = set(training.tolist()) & set(validation.tolist())
    assert not both, f"{len(both)} of 100 tokens are in both"


def workers_draw_different_rows(program: Program) -> None:
    """A batch from a long text holds no row twice."""
    rows = next(drawn(program, torch.arange(9999), 16, T, seed=0))
    n = len(rows.unique(dim=0))
    assert n == 16, f"only {n} of 16 rows differ"


def targets_are_the_next_tokens(program: Program) -> None:
    """The target of each token is the one after it."""
    x, y = program.next_tokens(torch.arange(30).view(3, 10))
    assert torch.equal(y, x + 1), f"the target of token {x[0, 0]} is token {y[0, 0]}"


def an_oracle_loses_nothing(program: Program) -> None:
    """Logits that are sure of the next token, and right, have a loss of zero."""
    x, y = program.next_tokens(torch.arange(20)[None])
    nats, n = program.loss(50.0 * F.one_hot(x + 1, V).float(), y)
    assert nats / n < 0.01, f"perfect logits lose {nats / n:.1f} nats"


def padding_is_no_target(program: Program) -> None:
    """Three rows of 5, 1 and 9 real tokens, padded to 9, have 4 + 0 + 8 targets."""
    pad = V - 1
    rows = [F.pad(some(n), (9 - n, 0), value=pad) for n in (5, 1, 9)]
    x, y = torch.stack(rows)[:, :-1], torch.stack(rows)[:, 1:]
    y = program.real_targets(x, y, pad)
    _, n = program.loss(torch.zeros(3, 8, V), y)
    assert n == 12, f"{n} targets, 12 of them real"


# --- training ------------------------------------------------------------------------------------


def gradient(program: Program, batches: list[list[tuple[Tensor, Tensor]]]) -> Tensor:
    """The gradient, after clipping, with which the last of several steps at rate 0 is taken."""
    model = small(program)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)

    def steep(model, x, y):  # so that every step is clipped
        nats, n = program.nats(model, x, y)
        return 100 * nats, n

    for step in batches:
        program.update(model, optimizer, step, steep)
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def uneven() -> tuple[Tensor, Tensor]:
    """Four rows, the first two of them mostly without targets."""
    x, y = some(4, T), some(4, T + 1)[:, 1:].clone()
    y[:2, 3:] = -100
    return x, y


def micro_batches_make_one_batch(program: Program) -> None:
    """Two micro-batches give the gradient of one batch with all their rows, clipped once."""
    x, y = uneven()
    halves = list(zip(x.chunk(2), y.chunk(2), strict=True))
    at_once, parts = gradient(program, [[(x, y)]]), gradient(program, [halves])
    off = (at_once - parts).abs().max()
    assert close(at_once, parts), f"they differ by up to {off:.2g}"


def a_step_forgets_the_one_before(program: Program) -> None:
    """The gradient of a step is the same with another step before it."""
    x, y = uneven()
    first, second = (x[:2], y[:2]), (x[2:], y[2:])
    alone = gradient(program, [[second]])
    after = gradient(program, [[first], [second]])
    assert close(alone, after), "the step before is still in the gradient"


def the_rate_counts_updates(program: Program) -> None:
    """Half of the updates take half of the schedule, in however many micro-batches."""
    halfway = program.rate(50, 50, 100, 0.01)
    four = program.rate(50, 200, 100, 0.01)
    assert halfway == four, f"{halfway:.4f}, and {four:.4f} with micro-batches"


def norms_do_not_decay(program: Program) -> None:
    """A step without a gradient leaves the scales of all norms at 1."""
    model = program.model(V)
    optimizer = new_optimizer(program, model)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    norms = [p for p in model.parameters() if p.dim() == 1 and (p != 0).all()]
    assert all((scale == 1).all() for scale in norms), "a norm has decayed"


def all_weights_move(program: Program) -> None:
    """Five small steps change something in every tensor of the model."""
    model = program.prepare(program.model(V, context_length=T, d_model=32))
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = new_optimizer(program, model)
    for group in optimizer.param_groups:
        group["lr"] = 1e-4
    for _ in range(5):
        batch = some(4, T), some(4, T)
        program.update(model, optimizer, [batch], program.nats)
    now = zip(model.named_parameters(), before, strict=True)
    still = [name for (name, p), q in now if torch.equal(p, q)]
    assert not still, f"{', '.join(still)} stand still"


# --- files and writing ---------------------------------------------------------------------------


@torch.no_grad()
def a_file_changes_nothing(program: Program) -> None:
    """A model that is saved and loaded gives the same logits."""
    model, ids = small(program), some(1, T)
    other = program.model(V, 1, context_length=T, d_model=32)
    program.load(other, save(model))
    loaded = other.eval()(ids)
    assert close(loaded, model(ids)), "the loaded model says something else"


def what_is_tied_stays_tied(program: Program) -> None:
    """After loading a token is still read and written with the same numbers."""
    model = reopened(program, program.model(V))
    names = [name for name, p in model.named_parameters() if p.shape[0] == V]
    assert len(names) == 1, "two matrices where there was one"


def a_nucleus_reaches_its_share(program: Program) -> None:
    """The tokens that are kept hold at least top_p together."""
    p = torch.tensor([[0.05, 0.5, 0.1, 0.35]])
    kept = program.nucleus(p, 0.8).sum().item()
    assert kept >= 0.8, f"top_p = 0.8 keeps {kept:.2f}"
