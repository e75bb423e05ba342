"""What tests of compiling run, in a process of its own: the tests' shape checks cannot be traced.

`python compiled_program.py DEVICE` traces each model and its gradients in one graph, and a training
run with `compile=True`. Both must compute what they compute uncompiled. On a GPU Inductor compiles
the run; on a CPU its graphs are run as they are: Inductor's C++ would take minutes.
"""

import copy
import functools
import sys

import torch

from scratchformer.attention import padding_mask, scaled_dot_product_attention
from scratchformer.models import BERT, GPT, BERTConfig, GPTConfig
from scratchformer.training import TrainingConfig, fit, token_loss
from scratchformer_course.page_model.speedrun import SpeedrunConfig, SpeedrunGPT

size = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 2, "n_layers": 1}
ideas = {"positions": "rotary", "qk_norm": True, "smear": 2, "bigram_rows": 121, "tied": False}
ideas |= {"value_embeddings": True, "activation": "relu2", "norm_weights": False}
torch.manual_seed(0)
ids = torch.randint(1, 11, (2, 8)).to(sys.argv[1])
ids[1, 5:] = 0  # padding
gpt, bert = GPT(GPTConfig(**size)), BERT(BERTConfig(**size))
speedrun = SpeedrunGPT(SpeedrunConfig(**size, **ideas))
for model in (gpt, bert, speedrun):
    model.to(sys.argv[1])
inputs = {gpt: (ids,), speedrun: (ids,), bert: (ids, ids % 2, padding_mask(ids, 0))}
for model, arguments in inputs.items():
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.2)
    results = []
    for form in (model, torch.compile(model, fullgraph=True, backend="aot_eager")):
        logits = form(*arguments)
        logits.square().mean().backward()
        results.append([logits, *(p.grad.clone() for p in model.parameters())])
        model.zero_grad(set_to_none=True)
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    print(type(model).__name__)

compile = torch.compile
if sys.argv[1] == "cpu":
    torch.compile = functools.partial(compile, backend="aot_eager")
batch, losses = (ids, ids.roll(-1, 1)), []
for compiled in (False, True):
    config = TrainingConfig(steps=3, lr=1e-2, seed=0, evaluate_every=1, compile=compiled)
    history = fit(copy.deepcopy(gpt), lambda _: batch, lambda m, x, y: token_loss(m(x), y), config)
    losses.append(torch.tensor(history.train_loss))
assert losses[0][0] > losses[0][-1] + 0.01, losses  # it learns, so the updates are compared too
torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-4)
print("fit")

q, mask = torch.randn(2, 4, 8), torch.ones(4, 4, dtype=torch.bool).tril(-1)
attend = compile(scaled_dot_product_attention, fullgraph=True, backend="eager")
torch.testing.assert_close(attend(q, q, q, mask), scaled_dot_product_attention(q, q, q, mask))
print("attention")
