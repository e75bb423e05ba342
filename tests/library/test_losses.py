"""Losses: PyTorch's where there is one, deaf to padding, and every token is scored once."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from short_run import small_gpt

from scratchformer.diagnosis.byte_count import Fixed
from scratchformer.tokenizers import ByteBPE, CharTokenizer
from scratchformer.training import IGNORED, bits_per_byte, evaluate, token_loss

IDS = torch.randint(4, (50,), generator=torch.Generator().manual_seed(0))


def logits_and_targets(*shape, V=7):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(*shape, V, generator=generator)
    return logits, torch.randint(V, shape, generator=generator)


@pytest.mark.parametrize("shape", [(), (2, 3, 4)])
def test_a_loss_is_the_sum_of_minus_ln_p_and_the_number_of_targets(shape):
    logits, targets = logits_and_targets(*shape)
    by_hand = -logits.log_softmax(-1).gather(-1, targets.unsqueeze(-1)).sum()
    nats, count = token_loss(logits, targets)
    assert nats.item() == pytest.approx(by_hand.item(), rel=1e-5)
    assert count.item() == targets.numel()


def test_padding_changes_neither_loss_nor_gradient_nor_count():
    logits, targets = logits_and_targets(3, 4)
    targets[1, 2:] = targets[2, 1:] = IGNORED
    real = targets != IGNORED
    logits.requires_grad_()
    nats, count = token_loss(logits, targets)
    alone, same = token_loss(logits[real], targets[real])
    assert nats.item() == pytest.approx(alone.item()) and count == same == 7
    (gradient,) = torch.autograd.grad(nats, logits)
    assert gradient[~real].abs().max() == 0 and gradient[real].abs().min() > 0


def test_a_sum_in_nats_is_of_32_bits_whatever_the_logits_are():
    logits = torch.zeros(40_000, 7, dtype=torch.bfloat16)
    nats, _ = token_loss(logits, torch.zeros(40_000, dtype=torch.long))
    assert nats.dtype == torch.float32 and nats.item() == pytest.approx(40_000 * 1.9459, rel=1e-4)


@pytest.mark.parametrize(("n", "batch_size"), [(2, 1), (8, 1), (9, 3), (50, 3)])
def test_evaluate_scores_every_token_but_the_first_exactly_once(n, batch_size):
    model, ids, losses = small_gpt(), IDS[:n], []
    for i in range(1, n):  # one prediction at a time, from what its window holds before it
        context = ids[(i - 1) // 8 * 8 : i]
        losses.append(F.cross_entropy(model(context[None])[0, -1], ids[i]).item())
    assert evaluate(model, ids, 8, batch_size) == pytest.approx(sum(losses) / (n - 1), abs=1e-6)


def test_evaluate_switches_dropout_and_gradients_off_and_restores_each_mode():
    model, seen = small_gpt(dropout=0.5), set()
    model.h[0].eval()  # a part that was frozen in evaluation mode stays there
    modes = [module.training for module in model.modules()]
    model.register_forward_pre_hook(lambda *_: seen.add(torch.is_grad_enabled()))
    assert evaluate(model, IDS, 8) == evaluate(model, IDS, 8) and seen == {False}
    assert [module.training for module in model.modules()] == modes


def test_evaluation_computes_in_the_precision_asked_for():
    model, seen = small_gpt(), []
    model.register_forward_hook(lambda _, inputs, logits: seen.append(logits.dtype))
    exact, rough = evaluate(model, IDS, 8), evaluate(model, IDS, 8, precision="bfloat16")
    assert set(seen) == {torch.float32, torch.bfloat16}
    assert exact != rough and exact == pytest.approx(rough, abs=0.02)


def test_bits_per_byte_leave_the_first_token_out_and_refuse_a_lossy_tokenizer():
    even = small_gpt().requires_grad_(False)
    for p in even.parameters():
        p.zero_()  # four tokens, 2 bits each
    tok = CharTokenizer("abé€")  # 1, 1, 2, 3 bytes
    assert bits_per_byte(even, tok, "€ab€é", 8) == pytest.approx(4 * 2 / (1 + 1 + 3 + 2))
    tok.decode = lambda ids: "other"
    with pytest.raises(ValueError, match="does not give the text back"):
        bits_per_byte(even, tok, "ab", 8)


@pytest.mark.parametrize("text", ["abc", "\ufeffabc", "é", "🎭 act", "中文", "é" * 20])
def test_a_letter_that_the_first_token_cuts_counts_by_its_bytes(text):
    tokenizer = ByteBPE.train("", 256)
    even = Fixed(torch.full((256,), 1 / 256))
    assert bits_per_byte(even, tokenizer, text, 64) == pytest.approx(8, rel=1e-6)
    foreign = SimpleNamespace(encode=tokenizer.encode, decode=tokenizer.decode)
    if ord(text[0]) < 128:
        assert bits_per_byte(even, foreign, text, 64) == pytest.approx(8, rel=1e-6)
    else:
        with pytest.raises(ValueError, match="is a part of a letter, expected a tokenizer with"):
            bits_per_byte(even, foreign, text, 64)
