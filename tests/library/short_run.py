"""A run that takes a second: its model, its configuration, and what it leaves."""

import json

import torch

from scratchformer.models import GPT, GPTConfig

CONFIG = """
[data]
folder = "tokens"
[model]
n_layers = 1
n_heads = 2
d_model = 16
context_length = 16
dropout = 0.1
[training]
batch_size = 4
steps = 12
lr = 1e-2
seed = 0
betas = [0.9, 0.98]
evaluate_every = 5
"""


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


def losses(folder):
    history = json.loads((folder / "history.json").read_text())
    history.pop("seconds")
    return history


def small_gpt(seed=0, **changes):
    """A GPT of four tokens that is built in no time, always the same one."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": 4, "context_length": 8, "d_model": 16, "n_heads": 2, "n_layers": 2}
    return GPT(GPTConfig(**sizes | changes))
