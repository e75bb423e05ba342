"""`diagnose_training`: does a step give the optimiser the gradient that it should?

The reader's own step runs on copies of a model. What its optimiser receives is written as a sum of
gradients that are computed here, one for each micro-batch: their shares tell most mistakes apart.
Not seen: a rate, a schedule or a clipping threshold that is badly chosen.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from scratchformer.diagnosis.case import sizes_of
from scratchformer.diagnosis.probes import copy_of, mean_loss, ordinary_ids
from scratchformer.diagnosis.report import Outcome, Report, Test, run_tests


class Run:
    """A few steps on a copy, and what the optimiser was given at each."""

    def __init__(self, model: nn.Module, training: Callable, loss: Callable | None):
        self.model, self.loss = copy_of(model).train(), loss
        self.weights = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.gradients: list[Tensor] = []  # a long vector for each step
        self.rates: list[float] = []
        self.modes: list[bool] = []  # of the calls that gradients are for
        self.model.register_forward_pre_hook(self._before_call)
        result = training(self.model)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ValueError(f"training(model) gave {result}, expected (optimizer, step)")
        self.optimizer, self.step = result
        plain_step = self.optimizer.step

        @functools.wraps(plain_step)
        def step(*args: Any, **kwargs: Any) -> Any:
            received = self.flat([p.grad for p in self.weights.values()])
            if (scale := getattr(self.optimizer, "grad_scale", None)) is not None:
                received /= float(scale)  # a fused optimiser takes the scaler's factor out itself
            self.rates.append(float(self.optimizer.param_groups[0]["lr"]))
            self.gradients.append(received)
            return plain_step(*args, **kwargs)

        self.optimizer.step = step

    def _before_call(self, module: nn.Module, args: tuple) -> None:
        torch.manual_seed(0)  # each call draws the same dropout
        self.modes += [module.training] if torch.is_grad_enabled() else []

    def flat(self, grads: Sequence[Tensor | None]) -> Tensor:
        """All gradients in one vector, with zeros where there is none."""
        pairs = zip(grads, self.weights.values(), strict=True)
        parts = [(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs]
        return torch.cat(parts).double()

    def gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """Of the mean loss on one batch, at the weights as they are."""
        loss, weights = mean_loss(self.loss, self.model, x, y), list(self.weights.values())
        return self.flat(torch.autograd.grad(loss, weights, allow_unused=True))

    def shares(self, *parts: Tensor) -> list[float]:
        """How much of each part is in the last step's gradient, and how much of it is of none."""
        A, b = torch.stack(parts, dim=1), self.gradients[-1]
        solution = torch.linalg.lstsq(A, b[:, None]).solution[:, 0]
        return [*solution.tolist(), ((A @ solution - b).norm() / b.norm()).item()]


def diagnose_training(
    training: Callable,
    model: nn.Module,
    vocab_size: int | None = None,
    context_length: int | None = None,
    *,
    loss: Callable | None = None,
) -> Report:
    """Test a training step, its optimiser and its schedule, on copies of `model`.

    `training(model)` returns an optimiser for that model and a function `step(batches)`: one step
    of the optimiser on a list of micro-batches (x, y), with all that belongs to it. `loss` is that
    of `diagnose`. The model and torch's random state stay as they are. Raises what `diagnose`
    raises, and ValueError if `training` returns something else.
    """
    V, length = sizes_of(model, vocab_size, context_length)
    with torch.random.fork_rng(), torch.inference_mode(False), torch.enable_grad():
        torch.manual_seed(0)
        ordinary = ordinary_ids(model, V)
        ids = ordinary[torch.randint(len(ordinary), (3, 4, min(16, length) + 1)).to(ordinary)]
        ids[0] = ids[0, 0, 0]  # one token, again and again: a much longer gradient
        batches = [(rows[:, :-1].contiguous(), rows[:, 1:].contiguous()) for rows in ids]
        begin = functools.partial(Run, model, training, loss)
        begin()  # what is wrong with the arguments is no finding
        return run_tests(TESTS, begin, batches)


def one_step(begin: Callable, batches: list) -> Outcome:
    """A call is one step of the optimiser, whatever the number of micro-batches."""
    run = begin()
    run.step(batches[:2])
    n, inside = len(run.gradients), "optimizer.step() inside the loop over micro-batches"
    suspect = inside if n else "a step of another optimiser"
    return Outcome(n == 1, f"two micro-batches make {n}", [suspect])


def movement(begin: Callable, batches: list) -> Outcome:
    """Every weight is the optimiser's, and moves."""
    run = begin()
    start = {n: p.detach().clone() for n, p in run.weights.items()}
    for _ in range(3):
        run.step(batches[2:])
    stepped = {id(p) for group in run.optimizer.param_groups for p in group["params"]}
    still = [n for n, p in run.weights.items() if torch.equal(p, start[n])]
    measured = f"{len(still)} of {len(start)} tensors do not move {', '.join(still[:4])}"
    if any(id(run.weights[name]) not in stepped for name in still):
        other = "the optimiser was made for other weights: an earlier model, or a part"
        return Outcome(False, measured, [other])
    if not all(p.isfinite().all() for p in run.weights.values()):
        measured = "weights become nan or infinite"
        return Outcome(False, measured, ["16 bits: keep weights in 32 bits"])
    small = "steps smaller than the weights' precision: keep weights in 32 bits"
    none = "gradients cut off, or zeroed between backward() and step()"
    suspects = [small, "a rate of 0"] if run.gradients[-1].any() else [none]
    return Outcome(not still, measured, suspects)


def accumulation(begin: Callable, batches: list) -> Outcome:
    """Micro-batches of one size have equal shares of a gradient that is their mean."""
    run = begin()
    parts = [run.gradient(*batch) for batch in batches[:2]]
    run.step(batches[:2])
    a, b, other = run.shares(*parts)
    measured = f"two micro-batches have shares of {a:.2g} and {b:.2g}; {other:.0%} is of neither"
    if other > 0.1:
        suspects = ["targets shifted again in the step", "not this loss: give loss=…"]
        return Outcome(False, measured, suspects)
    if min(abs(a), abs(b)) < 0.02 * max(abs(a), abs(b)):
        zeroed = "gradients zeroed between micro-batches: only one of them is left"
        return Outcome(False, measured, [zeroed])
    clipped = "clipped before the last micro-batch: each gradient, or the sum so far"
    summed = "micro-batches summed, not averaged: the gradient grows with their number"
    even = abs(a - b) < 0.05 * abs(a)
    if even and a < 0:
        return Outcome(False, measured, ["the loss has the wrong sign"])
    return Outcome(even and a + b < 1.05, measured, [summed if even else clipped])


def unequal_batches(begin: Callable, batches: list) -> Outcome:
    """A target counts the same in a small micro-batch and in a large one."""
    run, (x, y) = begin(), batches[1]
    batches = [batches[0], (x[:1], y[:1])]
    parts = [run.gradient(x, y) * y.numel() for x, y in batches]  # sums over targets
    run.step(batches)
    large, small, _ = run.shares(*parts)
    measured = f"in a small micro-batch a target counts {small / large:.2f} times as much"
    mean = "a mean of means (harmless where micro-batches have equally many targets)"
    return Outcome(abs(small / large - 1) < 0.05, measured, [mean])


def zeroed_gradients(begin: Callable, batches: list) -> Outcome:
    """Nothing of one step's gradient is in the next."""
    run = begin()
    run.step(batches[:1])
    new = run.gradient(*batches[1])
    run.step(batches[1:2])
    before, after = run.gradients
    old = abs(run.shares(new, before)[1]) * (before.norm() / after.norm()).item()
    measured = f"{old:.0%} is of the step before"
    return Outcome(old < 0.05, measured, ["optimizer.zero_grad() missing"])


def schedule(begin: Callable, batches: list) -> Outcome:
    """The rate depends on the steps done, not on the micro-batches in them."""
    runs = begin(), begin()
    for _ in range(3):
        for n, run in enumerate(runs, start=1):
            run.step(batches[:n])
    whole_step, halved = (f"{run.rates[0]:.3g} to {run.rates[-1]:.3g}" for run in runs)
    inside = "schedule stepped once a micro-batch: it ends too early"
    measured = (
        f"in three steps the rate goes from {whole_step}, and from {halved} with two micro-batches"
    )
    return Outcome(runs[0].rates == runs[1].rates, measured, [inside])


def training_mode(begin: Callable, batches: list) -> Outcome:
    """Gradients are computed in training mode, in the second step too."""
    run = begin()
    for batch in batches[:2]:
        run.step([batch])
    measured = f"{sum(run.modes)} of {len(run.modes)} calls"
    return Outcome(all(run.modes), measured, ["model.eval() without model.train() after it"])


def weight_decay(begin: Callable, batches: list) -> Outcome:
    """Norms and biases do not decay."""
    groups = begin().optimizer.param_groups
    decayed = sum(p.dim() < 2 for g in groups if g.get("weight_decay") for p in g["params"])
    return Outcome(not decayed, f"{decayed} norms and biases decay", ["one group for all weights"])


TESTS = (
    Test(one_step),
    Test(movement, after=one_step),
    Test(accumulation, after=movement),
    Test(unequal_batches, after=accumulation),
    Test(zeroed_gradients, after=movement),
    Test(schedule, after=one_step),
    Test(training_mode),
    Test(weight_decay),
)
