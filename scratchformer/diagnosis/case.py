"""What a diagnosis knows of a model: copies of it, what was given, and what the tests share."""

import math
from functools import cached_property
from types import SimpleNamespace

import torch
from torch import Tensor, nn

from scratchformer.diagnosis.attention_trace import Attention, attention_of
from scratchformer.diagnosis.probes import copy_of, logits_of


class Case:
    """A model to examine; `given` is what is known of it. The tests share what they measure."""

    def __init__(self, model: nn.Module, vocab_size: int, context_length: int, **given):
        self.model, self.sharp = copy_of(model), copy_of(model, sharp=True)
        self.vocab_size, self.context_length = vocab_size, context_length
        self.given = SimpleNamespace(**given)
        beyond = (given["window"] or 0) + 4  # so that what lies behind a window shows
        self.T = min(context_length, max(13, beyond | 1 if beyond < 64 else 0))  # odd: no width
        self.ids = self.random_ids(3, self.T)  # (B, T)
        try:
            found = tuple(self.logits(self.ids).shape)
        except Exception as error:
            said = f"the model cannot read ids (3, {self.T}) below vocab_size={vocab_size}"
            raise ValueError(f"{said}: {type(error).__name__}: {error}") from error
        if found != (3, self.T, vocab_size):
            shapes = f"ids (3, {self.T}) gave logits {found}"
            raise ValueError(f"{shapes}, expected {(3, self.T, vocab_size)}")

    def random_ids(self, B: int, T: int) -> Tensor:
        """Random ids (B, T), without the padding."""
        ids = torch.randint(self.vocab_size, (B, T))
        if self.given.pad_id is not None:
            ids = torch.where(ids == self.given.pad_id, (ids + 1) % self.vocab_size, ids)
        return ids.to(next(self.model.parameters()).device)

    def logits(self, ids: Tensor) -> Tensor:
        """Of the sharp copy."""
        with torch.no_grad():
            return logits_of(self.sharp(ids))

    def batch(self) -> tuple[Tensor, Tensor]:
        """A few rows of the first batch given, or of random ids and the next ones."""
        if not self.given.batches:
            ids = self.random_ids(8, self.T + 1)
            return ids[:, :-1], ids[:, 1:]
        x, y = (t[:8, : self.context_length].to(self.ids) for t in self.given.batches[0])
        return x, y

    @cached_property
    def felt(self) -> Tensor:
        """(T, T): how much the logits at each place (row) change with each token (column)."""
        before, columns = self.logits(self.ids), []
        for s in range(self.T):
            ids = self.ids.clone()
            ids[:, s] = (ids[:, s] + 1 + self.vocab_size // 3) % self.vocab_size
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
