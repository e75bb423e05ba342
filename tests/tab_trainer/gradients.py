"""How far the gradients of trainer.js are from PyTorch's: a small model, every weight, on demand.

The model has two blocks and two heads, and all its weights are drawn at random, so that no gradient
is zero.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT
from scratchformer_course.tab_trainer.race import FIXED

SMALL: dict[str, Any] = {
    "vocab_size": 13,
    "context_length": 9,
    "d_model": 24,
    "n_heads": 2,
    "n_layers": 2,
}
IDEAS: dict[str, Any] = {"positions": "rotary", "smear": 3, "bigram_rows": 29}
ROWS = 5  # windows of a batch
COMPUTE = """({ config, weights: given, x, y, kind }) => {
  const Tr = course.trainer;
  const settings = { batch_size: x.length, steps: 1, lr: 0, muon_lr: null, betas: [0, 0] };
  const { tape, weights } = Tr.newRun(config, settings, 0, kind);
  for (const [name, rows] of Object.entries(given)) weights[name].data.set(rows.flat());
  tape.begin();
  const ids = Int32Array.from(x.flat()), targets = Int32Array.from(y.flat());
  const logits = Tr.forward(tape, weights, config, ids, x[0].length);
  const loss = tape.crossEntropy(logits, targets);
  tape.backward();
  const gradients = Object.entries(weights).map(([name, W]) => [name, Array.from(W.grad)]);
  return { loss, kind: tape.kind, gradients: Object.fromEntries(gradients) };
}"""


def make_model(std: float = 0.3, seed: int = 0, **ideas: Any) -> SpeedrunGPT:
    """A model whose weights are all unlike zero, so that every gradient is."""
    torch.manual_seed(seed)
    model = SpeedrunGPT(SpeedrunConfig(**SMALL, **FIXED, **ideas))
    for p in model.parameters():
        nn.init.normal_(p, std=std)
    return model


def make_batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and targets, (5, 9) ids each."""
    generator = torch.Generator().manual_seed(seed)
    T = SMALL["context_length"]
    ids = torch.randint(SMALL["vocab_size"], (ROWS, T + 1), generator=generator)
    return ids[:, :-1], ids[:, 1:]


def for_the_trainer(model: SpeedrunGPT) -> dict[str, Any]:
    """Configuration and weights for the trainer."""
    config = {name: getattr(model.config, name) for name in (*SMALL, *IDEAS)}
    return {"config": config, "weights": {n: p.tolist() for n, p in model.named_parameters()}}


def compare(compute: Callable[[dict[str, Any]], dict[str, Any]], **ideas: Any) -> dict[str, Any]:
    """{kind, loss: its difference, weights: {name: [largest difference, largest gradient]}}.

    `compute` runs COMPUTE somewhere: in Node.js, or in a browser.
    """
    model, (x, y) = make_model(**ideas), make_batch()
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    computed = compute({**for_the_trainer(model), "x": x.tolist(), "y": y.tolist()})
    weights = {}
    for name, p in model.named_parameters():
        assert p.grad is not None
        theirs = torch.tensor(computed["gradients"][name]).view_as(p.grad)
        weights[name] = [(theirs - p.grad).abs().max().item(), p.grad.abs().max().item()]
    return {
        "kind": computed["kind"],
        "loss": abs(computed["loss"] - loss.item()),
        "weights": weights,
    }
