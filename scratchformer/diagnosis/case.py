"""What a diagnosis knows of a model: copies of it, what was given, and what the tests share."""

import math
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from scratchformer.diagnosis.attention_trace import Attention, attention_of
from scratchformer.diagnosis.probes import copy_of, logits_of, ordinary_ids


class Case:
    """A model to examine; `given` is what is known of it. The tests share what they measure."""

    def __init__(self, model: nn.Module, vocab_size: int, context_length: int, **given):
        self.model, self.sharp = copy_of(model), copy_of(model, sharp=True)
        self.vocab_size, self.context_length = vocab_size, context_length
        self.given = SimpleNamespace(**given)
        self.ordinary = ordinary_ids(model, vocab_size, self.given.pad_id)
        beyond = (given["window"] or 0) + 4  # so that what lies behind a window shows
        self.T = min(context_length, max(13, beyond | 1 if beyond < 64 else 0))  # odd: no width
        self.ids = self.random_ids(3, self.T)  # (B, T)
        try:
            shape = tuple(self.logits(self.ids).shape)
        except Exception as error:
            call = f"model(ids) with ids (3, {self.T}) below vocab_size={vocab_size}"
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.name}, line {place.lineno} of {Path(place.filename).name}"
            raise ValueError(
                f"{call} failed in {where}: {type(error).__name__}: {error}. Pass a model that "
                "reads ids alone, such as a module that calls it with what else it needs, and a "
                "vocab_size and a context_length that it has"
            ) from error
        if shape != (3, self.T, vocab_size):
            shapes = f"ids (3, {self.T}) gave logits {shape}"
            raise ValueError(f"{shapes}, expected {(3, self.T, vocab_size)}")
        self._refuse_shared(model)

    def _refuse_shared(self, model: nn.Module) -> None:
        """Raise ValueError if the copy computes with weights of the original."""
        weights = {name: p for name, p in model.named_parameters() if p.requires_grad}
        z = logits_of(self.sharp(self.ids))
        gradients: Sequence[Tensor | None] = []
        if z.requires_grad and weights:
            with suppress(RuntimeError):  # which the test of gradients will meet, and tell
                gradients = torch.autograd.grad(z.sum(), [*weights.values()], allow_unused=True)
        if shared := [name for name, g in zip(weights, gradients, strict=False) if g is not None]:
            problem = f"a copy of the model still computes with {shared[0]} of the original"
            raise ValueError(f"{problem}, expected parts that are reached through the model alone")

    def random_ids(self, B: int, T: int) -> Tensor:
        """Random ids (B, T), none of which stands for padding, begin or end."""
        return self.ordinary[torch.randint(len(self.ordinary), (B, T)).to(self.ordinary.device)]

    @cached_property
    def pad_id(self) -> int:
        """What stands in a place that is padding."""
        config = getattr(self.model, "config", None)
        given = (self.given.pad_id, getattr(config, "pad_token_id", None))
        return next((i for i in given if isinstance(i, int) and 0 <= i < self.vocab_size), 0)

    def logits(self, ids: Tensor) -> Tensor:
        """Of the sharp copy."""
        with torch.no_grad():
            return logits_of(self.sharp(ids.contiguous()))

    def batch(self) -> tuple[Tensor, Tensor]:
        """A few rows of the first batch given, or of random ids and the next ones."""
        if not self.given.batches:
            ids = self.random_ids(8, self.T + 1)
            return ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
        x, y = (t[:8, : self.context_length].to(self.ids) for t in self.given.batches[0])
        return x.contiguous(), y.contiguous()

    @cached_property
    def influence(self) -> Tensor:
        """(T, T): how much the logits at each place (row) change with each token (column)."""
        before, columns, n = self.logits(self.ids), [], len(self.ordinary)
        for s in range(self.T):
            ids = self.ids.clone()
            index = torch.searchsorted(self.ordinary, ids[:, s].contiguous())
            ids[:, s] = self.ordinary[(index + 1 + n // 3) % n]
            columns.append((self.logits(ids) - before).abs().amax(dim=(0, 2)))
        return (torch.stack(columns, dim=1) / before.abs().max()).nan_to_num(math.inf)

    @cached_property
    def attention(self) -> list[Attention]:
        """The attention of each layer."""
        return attention_of(self.sharp, self.ids)


def sizes_of(model: nn.Module, vocab_size: int | None, context_length: int | None) -> tuple:
    """Both, as given or as the model says. Raises TypeError and ValueError as `diagnose` does."""
    if not isinstance(model, nn.Module) or isinstance(model, torch.jit.ScriptModule):
        raise TypeError(f"got a {type(model).__name__}, expected an unscripted torch.nn.Module")
    if not list(model.parameters()):
        raise ValueError("the model has no weights: nothing to examine")
    config = getattr(model, "config", None)
    length = getattr(model, "context_length", getattr(config, "max_position_embeddings", None))
    vocab_size = vocab_size or getattr(config, "vocab_size", None)
    sizes = {"vocab_size": vocab_size, "context_length": context_length or length}
    for name, n in sizes.items():
        if n is None:
            raise ValueError(f"the model does not say its {name}: expected {name}=…")
        if not isinstance(n, int) or n < 4:
            raise ValueError(f"{name}={n!r}, expected an int, at least 4: less shows nothing")
    return tuple(sizes.values())
