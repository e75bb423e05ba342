"""Where the time of one token goes: the same model with other products, or with a clock at each."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor

NAMES = ("queries", "keys", "values", "back", "gate", "up", "down")  # the products of a block


@contextmanager
def products_replaced(product: Callable[..., Tensor]) -> Iterator[None]:
    """Every product with a matrix of weights is product(x, weight, bias) instead."""
    with mock.patch.object(F, "linear", product):
        yield


def nothing(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """A tensor of the right shape, and no product: no weight is read."""
    return torch.zeros((*x.shape[:-1], len(weight)))


def only_read(x: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
    """A sum that reads every weight once, and no product."""
    weight.sum()
    return nothing(x, weight)


def clocked(compute: Callable[[], Any]) -> list[tuple[float, float]]:
    """Seconds from the start of compute() at which each product begins and ends."""
    linear, clock, times = F.linear, time.process_time, []

    def timed(*given: Any) -> Tensor:
        begins = clock()
        result = linear(*given)
        times.append((begins - start, clock() - start))
        return result

    with products_replaced(timed):
        start = clock()
        compute()
    return times
