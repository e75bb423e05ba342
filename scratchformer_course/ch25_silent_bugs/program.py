"""A small language model of the library, its text, its training, its file and its writing.

`Program` holds the functions in which a fault of `faults.py` can be: the library's, and those of
this file that are not in it. What is here is healthy.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from scratchformer.attention import MultiHeadAttention, scaled_dot_product_attention
from scratchformer.data.corpora import train_val_split
from scratchformer.data.masking import IGNORED
from scratchformer.generation.sampling import _truncate
from scratchformer.models.gpt import GPT, GPTConfig
from scratchformer.models.llama import Llama, LlamaConfig
from scratchformer.training.config import learning_rate, parameter_groups
from scratchformer.training.losses import token_loss

Batch = tuple[Tensor, Tensor]
Loss = Callable[[nn.Module, Tensor, Tensor], tuple[Tensor, Tensor]]
Model = Any  # a GPT or a Llama, or one of a copy of the library
SIZES: dict[str, int] = {"context_length": 32, "d_model": 64, "n_heads": 4, "n_layers": 2}
WORKERS, DECAY = 4, 0.1
FIRST_OF_A_NETWORK = ("c_fc.weight", "gate_proj.weight", "up_proj.weight")
CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")  # GPT-2's file has them transposed


# --- the model -----------------------------------------------------------------------------------


class LayerNorm(nn.Module):
    """PyTorch's, written out: mean 0 and variance 1 at each position, then scaled and moved."""

    def __init__(self, width: int, bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, unbiased=False, keepdim=True)
        return self.weight * (x - mean) / torch.sqrt(var + 1e-5) + self.bias


def write_attention_out(model: nn.Module) -> None:
    """Have attention computed by `scaled_dot_product_attention`, not by PyTorch's kernel."""

    def ask_for_weights(module, args, kwargs):
        return args, kwargs | {"need_weights": True}

    for module in model.modules():
        if getattr(module, "records", False):
            module.register_forward_pre_hook(ask_for_weights, with_kwargs=True)
            module.register_forward_hook(lambda module, args, output: output[0])


# --- the text ------------------------------------------------------------------------------------


def stored(ids: Sequence[int] | np.ndarray) -> np.ndarray:
    """The token ids as they lie in a file."""
    return np.array(ids).astype(np.uint16)


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


def prepare(model: Model) -> Model:
    """The model as it is trained: its weights are float32."""
    return model.float()


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
    return _truncate(p, None, top_p)


# --- the program ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What is trained: sizes beyond the common ones, and how the text is cut.

    `lines` gives rows of single lines, padded on the left. `micro_batches` share the rows of a
    step. With `resumed` the model is saved after half of the steps, and goes on from the file.
    """

    modern: bool = False  # a Llama, else a GPT
    sizes: dict[str, Any] = field(default_factory=dict)
    tokens: str = "characters"  # or "subwords"
    characters: int | None = None  # of the text that is used; None: all
    lines: bool = False
    micro_batches: int = 1
    resumed: bool = False


@dataclass(frozen=True)
class Program:
    """A setting, and the functions with which a model is built, trained and used."""

    setting: Setting = field(default_factory=Setting)

    attend = staticmethod(scaled_dot_product_attention)
    attention = MultiHeadAttention
    norm = LayerNorm
    stored = staticmethod(stored)
    split = staticmethod(train_val_split)
    worker_seed = staticmethod(worker_seed)
    next_tokens = staticmethod(next_tokens)
    real_targets = staticmethod(real_targets)
    loss = staticmethod(token_loss)
    prepare = staticmethod(prepare)
    groups = staticmethod(parameter_groups)
    rate = staticmethod(rate)
    update = staticmethod(update)
    load = staticmethod(load)
    nucleus = staticmethod(nucleus)

    def model(self, vocab_size: int, seed: int = 0, **sizes: Any) -> Model:
        """A new model; `sizes` replace those of the setting.

        The first matrices of its networks start at 1 / √d_model: in so narrow a model 0.02 would
        leave them little to say.
        """
        torch.manual_seed(seed)
        sizes = {"vocab_size": vocab_size} | SIZES | self.setting.sizes | sizes
        with patch.object(nn, "LayerNorm", LayerNorm):
            modern = self.setting.modern
            model = Llama(LlamaConfig(**sizes)) if modern else GPT(GPTConfig(**sizes))
        write_attention_out(model)
        for name, p in model.named_parameters():
            if name.endswith(FIRST_OF_A_NETWORK):
                p.data.mul_(p.shape[1] ** -0.5 / 0.02)
        return model

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

    model: Model
    losses: list[float]


def new_optimizer(program: Program, model: nn.Module) -> torch.optim.Optimizer:
    """AdamW on the program's groups."""
    return torch.optim.AdamW(program.groups(model, DECAY), betas=(0.9, 0.95))


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
        for group in optimizer.param_groups:
            group["lr"] = program.rate(step, step * n, steps, peak)
        parts = [program.batch(part, pad) for part in next(batches).chunk(n)]
        losses.append(program.update(model, optimizer, parts, program.nats))
    return Trained(model, losses)


def reopened(program: Program, model: Model) -> Model:
    """A new model with what the old one's file holds, as this program reads it."""
    other = program.prepare(program.model(model.config.vocab_size, seed=1))
    program.load(other, save(model))
    return other
