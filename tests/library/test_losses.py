"""The loss: PyTorch's own where there is one, and deaf to padding."""

import pytest
import torch

from scratchformer.training import IGNORED, token_loss


def logits_and_targets(*shape, vocab_size=7):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(*shape, vocab_size, generator=generator)
    return logits, torch.randint(vocab_size, shape, generator=generator)


@pytest.mark.parametrize("shape", [(), (2, 3, 4)])
def test_it_is_the_sum_of_minus_ln_p_and_the_number_of_targets(shape):
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
    louder = torch.where(real.unsqueeze(-1), logits, 100.0)  # whatever is said of the padding
    assert token_loss(louder, targets)[0].item() == pytest.approx(nats.item())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_sum_in_nats_is_of_32_bits_whatever_the_logits_are(dtype):
    logits = torch.zeros(40_000, 7, dtype=dtype)
    nats, _ = token_loss(logits, torch.zeros(40_000, dtype=torch.long))
    assert nats.dtype == torch.float32 and nats.item() == pytest.approx(40_000 * 1.9459, rel=1e-4)
