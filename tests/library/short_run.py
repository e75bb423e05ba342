"""A run of the command line that takes a second: its configuration, and what it leaves."""

import json

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
