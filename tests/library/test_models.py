"""What all models have in common, and GPT: causal, deaf to padding, the same with a cache.

That GPT is GPT-2 is test_foreign_files': Hugging Face's computes the same with the same weights.
"""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from random_weights import randomised
from refusals import refused
from test_llama import IDS, KINDS, MASK, SIZE, largest_gap, llama

from scratchformer.models import (
    BERT,
    GPT,
    BERTConfig,
    GPTConfig,
    Llama,
    LlamaConfig,
    Seq2Seq,
    Seq2SeqConfig,
)

CONFIGS = {GPT: GPTConfig, BERT: BERTConfig, Seq2Seq: Seq2SeqConfig, Llama: LlamaConfig}
SMALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}


def build(kind, **changes):
    torch.manual_seed(0)
    return kind(CONFIGS[kind](**SMALL | changes))


def logits_of(model, ids):
    return model(ids, ids) if isinstance(model, Seq2Seq) else model(ids)


@pytest.fixture(params=CONFIGS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def test_a_changed_future_token_changes_no_past_logit():
    model, ids = randomised(build(GPT)), torch.randint(11, (1, 8))
    for t in range(1, 8):
        changed = ids.clone()
        changed[0, t] = (ids[0, t] + 1) % 11
        before, after = model(ids), model(changed)
        torch.testing.assert_close(before[:, :t], after[:, :t], rtol=0, atol=1e-6)
        assert ((before - after)[:, t:].abs().amax(dim=-1) > 1e-3).all()  # but all later ones


def test_loss_at_the_start_is_near_ln_vocab_size(kind):
    x, y = torch.randint(3, 500, (2, 32, 8))
    logits = logits_of(build(kind, vocab_size=500, d_model=32), x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()).item()
    assert loss == pytest.approx(math.log(500), abs=0.15)


def test_one_batch_can_be_learned_by_heart(kind):
    model = build(kind)
    x, y = torch.randint(3, 11, (2, 4, 8))
    x[:, 0] = torch.arange(3, 7)  # two rows that begin alike could not both be predicted
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(100):
        loss = F.cross_entropy(logits_of(model, x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


@pytest.mark.parametrize(("kind", "changes"), [(GPT, {}), (BERT, {"n_segments": 40})])
def test_initialisation_is_the_papers(kind, changes):
    model = build(kind, vocab_size=200, d_model=64, n_layers=8, **changes)
    into_stream = 0.02 / math.sqrt(2 * 8) if kind is GPT else 0.02
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            expected = into_stream if name.endswith("c_proj.weight") else 0.02
            assert p.std().item() == pytest.approx(expected, rel=0.1), name
        else:
            assert (p == (0.0 if name.endswith("bias") else 1.0)).all(), name
    assert model.lm_head.weight is model.wte.weight


@pytest.mark.parametrize("kind", [GPT, BERT, Seq2Seq])
def test_dropout_falls_on_the_sum_of_the_embeddings_and_is_off_in_evaluation(kind):
    model, inputs = build(kind, dropout=0.25, d_model=64), []
    first = model.encoder[0] if kind is Seq2Seq else model.h[0]
    first.register_forward_pre_hook(lambda block, args: inputs.append(args[0]))
    ids = torch.randint(3, 11, (16, 8))
    logits_of(model, ids)
    assert (inputs[0] == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    model.eval()
    assert torch.equal(logits_of(model, ids), logits_of(model, ids))


@pytest.mark.parametrize("sizes", [(17,), (1, 1, 8, 7), (5, 1, 1, 1, 1, 8)])
@pytest.mark.parametrize("name", ["gpt", *KINDS])
def test_neither_a_cache_nor_padding_on_the_left_changes_a_logit(name, sizes):
    model = llama(**KINDS[name]) if name in KINDS else randomised(GPT(GPTConfig(**SIZE)))
    for mask in (None, MASK):
        cache, end, parts = model.new_cache(), 0, []
        for piece in IDS.split(sizes, dim=1):
            end += piece.shape[1]
            parts.append(model(piece, cache, None if mask is None else mask[:, :end]))
        logits = torch.cat(parts, dim=1)
        assert logits.isfinite().all() and len(cache[0]) == 17
        for row, start in enumerate((0, 0, 0) if mask is None else (0, 3, 9)):
            alone = model(IDS[row : row + 1, start:])[0]
            assert largest_gap(logits[row, start:], alone) < 1e-5


def after_three(kind, length, mask=None):
    """What the model says to new tokens and a mask when its cache holds three."""
    model, ids = build(kind), torch.zeros(1, 9, dtype=torch.long)
    cache = model.new_cache()
    model(ids[:, :3], cache)
    return model(ids[:, :length], cache, mask)


MASK_5, IDS_9 = torch.ones(1, 5, dtype=torch.bool), torch.full((1, 9), 3)
test_an_input_a_mask_or_a_cache_that_does_not_fit_is_refused = refused(
    {
        r"mask has shape \(1, 5\), expected \(1, 8\)": lambda: after_three(GPT, 5, MASK_5),
        r"bool \(1, 5\), expected torch.bool \(1, 8\)": lambda: after_three(Llama, 5, MASK_5),
        "dtype torch.int64, expected torch.bool": lambda: after_three(GPT, 2, MASK_5.long()),
        "torch.int64.*expected torch.bool": lambda: after_three(Llama, 2, MASK_5.long()),
        "got 9 tokens, expected at most context_length=8": lambda: after_three(GPT, 6),
        "got 9 tokens, expected at most context": lambda: after_three(Llama, 6),
        "9 tokens, expected at most context_length=8": lambda: build(BERT)(IDS_9),
        "9 tokens, expected at most context": lambda: build(Seq2Seq)(IDS_9, IDS_9[:, :2]),
        "9 tokens, expected at most": lambda: build(Seq2Seq)(IDS_9[:, :2], IDS_9),
    }
)


def make_config(kind, **changes):
    return lambda: CONFIGS[kind](**SMALL | changes)


test_impossible_configurations_are_refused = refused(
    {
        "d_model=30 is not divisible by n_heads=4": make_config(GPT, d_model=30),
        "n_layers=0, expected at least 1": make_config(Llama, n_layers=0),
        "vocab_size=None, expected a whole number": make_config(GPT, vocab_size=None),
        "dropout=1.0, expected 0 <= dropout < 1": make_config(BERT, dropout=1.0),
        "d_ff=0, expected at least 1": make_config(Seq2Seq, d_ff=0),
        "n_segments=0, expected at least 1": make_config(BERT, n_segments=0),
        "d_model=15, expected an even number": make_config(Seq2Seq, d_model=15, n_heads=3),
        "end are 0, 1 and 11, expected three ids below 11": make_config(Seq2Seq, end_id=11),
        "n_heads=4 is not divisible by n_kv_heads=3": make_config(Llama, n_kv_heads=3),
        "heads are 5 wide, expected an even number": make_config(Llama, head_dim=5),
        "window=0, expected at least 1": make_config(Llama, window=0),
    }
)


@pytest.mark.slow
def test_compiled_in_one_graph_the_models_compute_and_learn_the_same():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    program = Path(__file__).with_name("compiled_program.py")
    command = [sys.executable, "-W", "ignore", str(program), "cpu"]
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert process.stdout.split() == ["GPT", "SpeedrunGPT", "BERT", "fit", "attention"]
