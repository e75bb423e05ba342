"""Bigram and GPT: causal, deaf to padding, initialised as GPT-2, the same with a cache.

That GPT is GPT-2 is test_pretrained's: Hugging Face's computes the same with the same weights.
"""

import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jaxtyping
import pytest
import torch
import torch.nn.functional as F

from scratchformer.models import GPT, Bigram, GPTConfig

SMALL = {"vocab_size": 11, "context_length": 8, "d_model": 16, "n_heads": 4, "n_layers": 2}


def small_gpt(seed=0, **changes):
    torch.manual_seed(seed)
    return GPT(GPTConfig(**SMALL | changes))


def sharpened(model):
    """Large random weights: at initialisation a GPT is too flat for a difference to show."""
    with torch.no_grad():
        for p in model.parameters():
            p.normal_(std=0.3)
    return model


def test_a_changed_future_token_changes_no_past_logit():
    model = sharpened(small_gpt()).eval()
    ids = torch.randint(11, (1, 8))
    for t in range(1, 8):
        changed = ids.clone()
        changed[0, t] = (ids[0, t] + 1) % 11
        before, after = model(ids), model(changed)
        torch.testing.assert_close(before[:, :t], after[:, :t], rtol=0, atol=1e-6)
        assert ((before - after)[:, t:].abs().amax(dim=-1) > 1e-3).all()  # but all later ones


def test_position_matters():
    model = sharpened(small_gpt()).eval()
    logits = model(torch.full((1, 8), 3))
    assert not torch.allclose(logits[0, 0], logits[0, 7])


@pytest.mark.parametrize("model", [small_gpt(vocab_size=65), small_gpt(seed=1, vocab_size=500)])
def test_loss_at_the_start_is_near_ln_vocab_size(model):
    torch.manual_seed(0)
    V = model.config.vocab_size
    x, y = torch.randint(V, (2, 32, 8))
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
    assert loss == pytest.approx(math.log(V), abs=0.1)


def test_one_batch_can_be_learned_by_heart():
    model = small_gpt()
    torch.manual_seed(1)
    x, y = torch.randint(11, (2, 4, 8))
    x[:, 0] = torch.arange(4)  # two rows that begin alike could not both be predicted
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(200):
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


def test_initialisation_is_gpt2s():
    model = small_gpt(vocab_size=200, d_model=64, n_layers=8)
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            expected = 0.02 / math.sqrt(2 * 8) if name.endswith("c_proj.weight") else 0.02
            assert p.std().item() == pytest.approx(expected, rel=0.1), name
        else:
            assert (p == (1.0 if "ln_" in name and name.endswith("weight") else 0.0)).all(), name


def test_output_head_is_tied_to_the_token_embedding():
    model = small_gpt()
    assert model.lm_head.weight is model.wte.weight
    C, L = 16, 2
    block = 12 * C * C + 13 * C  # 4 C² + 4 C attention, 8 C² + 5 C feed-forward, 4 C norms
    expected = (11 + 8) * C + L * block + 2 * C
    assert sum(p.numel() for p in model.parameters()) == expected


def test_dropout_falls_on_the_sum_of_the_embeddings_and_is_off_in_evaluation():
    model, seen = small_gpt(dropout=0.25, d_model=64), []
    model.h[0].register_forward_pre_hook(lambda block, inputs: seen.append(inputs[0]))
    ids = torch.randint(11, (16, 8))
    model(ids)
    assert (seen[0] == 0).float().mean().item() == pytest.approx(0.25, abs=0.03)
    model.eval()
    assert torch.equal(model(ids), model(ids))


@pytest.mark.parametrize("pieces", [(3, 2, 1), (1, 5)])
def test_a_cache_read_in_pieces_gives_the_logits_of_the_whole(pieces):
    model, ids = sharpened(small_gpt()).eval(), torch.randint(11, (2, 6))
    cache = model.new_cache()
    found = torch.cat([model(piece, cache) for piece in ids.split(pieces, dim=1)], dim=1)
    torch.testing.assert_close(found, model(ids), rtol=1e-4, atol=1e-4)


def test_a_cache_holds_no_more_than_the_context():
    model = small_gpt()
    cache = model.new_cache()
    model(torch.zeros(1, 8, dtype=torch.long), cache)
    with pytest.raises(ValueError, match="got 9 tokens, expected at most context_length=8"):
        model(torch.zeros(1, 1, dtype=torch.long), cache)
    assert all(layer.max_length == 8 and layer.k_buffer.shape[2] == 8 for layer in cache)


def left_padded():
    """Three rows of 3, 6 and 5 tokens, padded on the left, and where tokens are."""
    generator = torch.Generator().manual_seed(0)
    ids, mask = torch.randint(11, (3, 6), generator=generator), torch.ones(3, 6, dtype=torch.bool)
    mask[0, :3], mask[2, :1] = False, False
    return ids, mask


@pytest.mark.parametrize("pieces", [(6,), (4, 2), (1, 1, 1, 1, 1, 1)])
def test_padding_on_the_left_changes_no_logits(pieces):
    model, (ids, mask) = sharpened(small_gpt()).eval(), left_padded()
    cache, found, end = model.new_cache(), [], 0
    for piece in ids.split(pieces, dim=1):
        end += piece.shape[1]
        found.append(model(piece, cache, mask=mask[:, :end]))
    found.append(model(ids, mask=mask))
    for logits in (torch.cat(found[:-1], dim=1), found[-1]):
        for row, real, expected in zip(logits, mask, ids, strict=True):
            alone = model(expected[real][None])[0]
            torch.testing.assert_close(row[real], alone, rtol=1e-4, atol=1e-4)
    assert all(logits.isfinite().all() for logits in found)


def test_padding_on_the_right_changes_no_logits_and_no_gradient():
    model, (ids, mask) = sharpened(small_gpt()), left_padded()
    ids, mask = ids.flip(1), mask.flip(1)
    logits = model(ids, mask=mask)
    torch.testing.assert_close(logits[0, :3], model(ids[:1, :3])[0], rtol=1e-4, atol=1e-4)
    logits[mask].sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_a_padding_mask_of_another_shape_is_refused():
    model, ids = small_gpt(), torch.zeros(2, 3, dtype=torch.long)
    cache = model.new_cache()
    model(ids, cache)
    mask = torch.ones(2, 3, dtype=torch.bool)  # it must count the tokens in the cache too
    with pytest.raises(ValueError, match=r"mask has shape \(2, 3\), expected \(2, 6\)"):
        model(ids, cache, mask=mask)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 30}, "d_model=30 is not divisible by n_heads=4"),
        ({"n_layers": 0}, "n_layers=0, expected at least 1"),
        ({"dropout": 1.0}, "dropout=1.0, expected 0 <= dropout < 1"),
    ],
)
def test_impossible_configurations_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        GPTConfig(**SMALL | changes)


def test_bigram_logits_are_rows_of_its_table():
    model = Bigram(5)
    ids = torch.tensor([[3, 0, 3]])
    torch.testing.assert_close(model(ids), model.table.weight[ids])


def test_shapes_in_signatures_are_checked_in_the_tests():
    """Guards the import hook: without it every shape annotation would be a mere comment."""
    with pytest.raises(jaxtyping.TypeCheckError):
        Bigram(5)(torch.zeros(3, dtype=torch.long))


@pytest.mark.skipif(
    " " in torch.__file__, reason="torch.compile's own commands take no space in the path of torch"
)
@pytest.mark.slow
def test_compiled_by_inductor_in_one_graph_the_models_compute_and_learn_the_same():
    """Inductor keeps kernels by what they compute: after a change of ours it takes minutes."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("there is no C++ compiler, which Inductor needs on a CPU")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    program = Path(__file__).with_name("compiled_program.py")
    command = [sys.executable, "-W", "ignore", str(program), "cpu"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["GPT", "SpeedrunGPT", "BERT", "fit", "attention"]
