"""A device is believed only if it computes what the CPU does: here one that lies."""

import pytest
import torch
from short_run import small_gpt
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from scratchformer.training.devices import difference_from_cpu

GPU = torch.device("cuda")
IDS = torch.randint(11, (200,), generator=torch.Generator().manual_seed(0))


class Lie(torch.autograd.Function):
    """Another gradient, by a tenth, of the right numbers."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return 1.1 * gradient


class Device(TorchFunctionMode):
    """In place of a GPU: tensors sent there stay, and what is computed meanwhile is wrong."""

    def __init__(self, wrong=lambda x: x):
        super().__init__()
        self.wrong, self.is_there = wrong, False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.to and isinstance(args[1], torch.device):
            self.is_there = args[1].type == "cuda"
            args = (args[0], torch.device("cpu"), *args[2:])
        result = func(*args, **(kwargs or {}))
        return self.wrong(result) if self.is_there and func is F.layer_norm else result


def fails(x):
    raise RuntimeError("no such operation here\nand a stack of frames")


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda x: x * torch.nan, "the loss of a small batch is nan there"),
        (Lie.apply, "the gradient of wte.weight is another there"),
        (fails, "no such operation here"),
    ],
)
def test_a_device_that_lies_is_found_by_one_small_batch(lie, words):
    model = small_gpt(vocab_size=11, context_length=16, dropout=0.3)
    with Device():
        assert all(difference_from_cpu(model, IDS[:n], 16, GPU) is None for n in (200, 20, 2))
    with Device(lie):
        difference = difference_from_cpu(model, IDS, 16, GPU)
    assert words in difference and "\n" not in difference
    assert model.training and all(p.grad is None for p in model.parameters())
