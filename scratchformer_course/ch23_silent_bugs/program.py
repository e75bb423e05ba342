"""All that is done with the small GPT: its text, its training, its scores, its files, its writing.

Each step is a small function, and `Program` holds one of each, so that a fault can be put in by
replacing one. What is here is healthy.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from scratchformer.data.masking import IGNORED
from scratchformer.training import learning_rate, token_loss
from scratchformer_course.ch23_silent_bugs.model import Parts, Sizes, SmallGPT

Batch = tuple[Tensor, Tensor]
Loss = Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, Tensor]]
WORKERS, DECAY = 4, 0.1


# --- the text ------------------------------------------------------------------------------------


def stored(ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """The token ids as they lie in a file."""
    return np.array(ids).astype(np.uint16)


def split(ids: Int[Tensor, "N ..."]) -> tuple[Tensor, Tensor]:
    """The first nine tenths to train on, and the last tenth to validate."""
    n = len(ids) * 9 // 10
    return ids[:n], ids[n:]


def worker_seed(seed: int, worker: int) -> int:
    """What the random generator of a worker, which draws a part of each batch, begins with."""
    return 1000 * seed + worker


def next_tokens(rows: Int[Tensor, "B _"]) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Inputs, and for each of them its target: the token after it."""
    return rows[:, :-1], rows[:, 1:]


def real_targets(x: Int[Tensor, "B T"], y: Int[Tensor, "B T"], pad: int) -> Int[Tensor, "B T"]:
    """The targets without those of padding, which are marked as none."""
    return y.masked_fill(x == pad, IGNORED)


# --- training ------------------------------------------------------------------------------------


def loss(
    logits: Float[Tensor, "B T V"], y: Int[Tensor, "B T"]
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """The nats of a batch, summed, and its number of targets."""
    return token_loss(logits.float(), y)


def prepare(model: SmallGPT) -> SmallGPT:
    """The model as it is trained: its weights are float32."""
    return model.float()


def groups(model: nn.Module) -> list[dict[str, Any]]:
    """Two groups for AdamW: matrices decay, biases and norms do not."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    no_decay = {"params": vectors, "weight_decay": 0.0}
    return [{"params": matrices, "weight_decay": DECAY}, no_decay]


def rate(updates: int, batches: int, steps: int, peak: float) -> float:
    """The learning rate after so many updates, which have taken so many micro-batches."""
    return learning_rate(updates, lr=peak, steps=steps, warmup=steps // 10)


def update(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Sequence[Batch], nats: Loss
) -> float:
    """One step of the optimiser on several micro-batches, as if they were one; their mean loss."""
    optimizer.zero_grad()
    n = sum((y != IGNORED).sum() for x, y in batches)  # targets of all batches
    total = 0.0
    for x, y in batches:
        batch_nats, _ = nats(model, x, y)
        (batch_nats / n).backward()
        total += batch_nats.item()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return total / int(n)


# --- files and writing ---------------------------------------------------------------------------

CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")  # GPT-2's file has them transposed


def save(model: nn.Module) -> dict[str, Tensor]:
    """What a file in GPT-2's layout holds."""
    return {
        name: (p.T if name.endswith(CONV1D) else p).detach().contiguous().clone()
        for name, p in model.state_dict().items()
    }


def load(model: nn.Module, file: dict[str, Tensor]) -> None:
    """Give a model the weights of such a file."""
    weights = {}
    for name in model.state_dict():
        transposed = name.endswith(CONV1D)
        weights[name] = file[name].T if transposed else file[name]
    model.load_state_dict(weights)


def nucleus(p: Float[Tensor, "B V"], top_p: float) -> Float[Tensor, "B V"]:
    """Keep the fewest likeliest tokens whose probabilities reach top_p; the others become 0."""
    p, order = p.sort(dim=-1, descending=True)
    before = p.cumsum(dim=-1) - p  # what the likelier tokens hold together
    kept = before < top_p
    kept[:, 0] = True
    return torch.zeros_like(p).scatter(1, order, p * kept)


# --- the program ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What is trained: sizes beyond the common ones, and how the text is cut.

    `lines` gives rows of single lines, padded on the left. `micro_batches` share the rows of a
    step. With `resumed` the model is saved after half of the steps, and goes on from the file.
    """

    sizes: dict[str, Any] = field(default_factory=dict)
    tokens: str = "characters"  # or "subwords"
    characters: int | None = None  # of the text that is used; None: all
    lines: bool = False
    micro_batches: int = 1
    resumed: bool = False


@dataclass(frozen=True)
class Program:
    """The parts of the model, and of all that is done with it."""

    setting: Setting = field(default_factory=Setting)
    parts: Parts = field(default_factory=Parts)
    stored: Callable[..., np.ndarray] = stored
    split: Callable[..., tuple[Tensor, Tensor]] = split
    worker_seed: Callable[[int, int], int] = worker_seed
    next_tokens: Callable[..., tuple[Tensor, Tensor]] = next_tokens
    real_targets: Callable[..., Tensor] = real_targets
    loss: Callable[..., tuple[Tensor, Tensor]] = loss
    prepare: Callable[[SmallGPT], SmallGPT] = prepare
    groups: Callable[[nn.Module], list[dict[str, Any]]] = groups
    rate: Callable[[int, int, int, float], float] = rate
    update: Callable[..., float] = update
    load: Callable[[nn.Module, dict[str, Tensor]], None] = load
    nucleus: Callable[..., Tensor] = nucleus

    def with_part(self, name: str, part: Callable) -> "Program":
        """The same with one part, of the model or of the program, replaced."""
        changes: dict[str, Any] = {name: part}
        if name in Parts.__dataclass_fields__:
            return replace(self, parts=replace(self.parts, **changes))
        return replace(self, **changes)

    def part(self, name: str) -> Callable:
        """The part of that name."""
        return getattr(self.parts if name in Parts.__dataclass_fields__ else self, name)

    def model(self, vocab_size: int, seed: int = 0, **sizes: Any) -> SmallGPT:
        """A new model; `sizes` replace those of the setting."""
        torch.manual_seed(seed)
        return SmallGPT(Sizes(vocab_size, **(self.setting.sizes | sizes)), self.parts)

    def nats(self, model: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of a batch, by this program: a sum, and the number of targets."""
        return self.loss(call(model, x, self.pad(model)), y)

    def pad(self, model: nn.Module) -> int | None:
        """The id of padding, the last of all; None where no row has any."""
        return model.config.vocab_size - 1 if self.setting.lines else None  # type: ignore

    def batch(self, rows: Tensor, pad: int | None) -> Batch:
        """Inputs and targets, by this program."""
        x, y = self.next_tokens(rows)
        return (x, y) if pad is None else (x, self.real_targets(x, y, pad))


def call(model: nn.Module, x: Tensor, pad: int | None) -> Tensor:
    """The logits; where there is padding the model is told."""
    return model(x) if pad is None else model(x, mask=x != pad)


def windows(ids: Int[Tensor, "N ..."], starts: Int[Tensor, " B"], T: int) -> Int[Tensor, "B _"]:
    """Rows of T tokens and the one after them: of a text, or of a table that has such rows."""
    if ids.dim() == 2:
        return ids[starts]
    return ids[starts[:, None] + torch.arange(T + 1)]


def drawn(program: Program, ids: Tensor, rows: int, T: int, seed: int) -> Iterator[Tensor]:
    """Batches without end; each worker draws a part of the rows of each."""
    seeds = [program.worker_seed(seed, worker) for worker in range(WORKERS)]
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    n = len(ids) - (T if ids.dim() == 1 else 0)
    while True:
        starts = [torch.randint(n, (rows // WORKERS,), generator=g) for g in generators]
        yield windows(ids, torch.cat(starts), T)


class Trained(NamedTuple):
    """A model, and its loss at each step as the program reports it."""

    model: SmallGPT
    losses: list[float]


def new_optimizer(program: Program, model: nn.Module) -> torch.optim.Optimizer:
    """AdamW on the program's groups."""
    return torch.optim.AdamW(program.groups(model), betas=(0.9, 0.95))


def train(
    program: Program, ids: Tensor, vocab_size: int, steps: int, seed: int,
    peak: float = 0.01, rows: int = 8,
) -> Trained:  # fmt: skip
    """Train a new model: the same seed gives the same weights and draws the same batches."""
    model = program.prepare(program.model(vocab_size, seed))
    optimizer = new_optimizer(program, model)
    pad, n = program.pad(model), program.setting.micro_batches
    batches = drawn(program, ids, rows, model.context_length, seed)
    losses = []
    model.train()
    for step in range(steps):
        if program.setting.resumed and step == steps // 2:
            model = reopened(program, model)
            optimizer = new_optimizer(program, model)
        now = program.rate(step, step * n, steps, peak)
        for group in optimizer.param_groups:
            group["lr"] = now
        parts = [program.batch(part, pad) for part in next(batches).chunk(n)]
        losses.append(program.update(model, optimizer, parts, program.nats))
    return Trained(model, losses)


def reopened(program: Program, model: SmallGPT) -> SmallGPT:
    """A new model with what the old one's file holds, as this program reads it."""
    other = program.prepare(program.model(model.config.vocab_size, seed=1))
    program.load(other, save(model))
    return other
