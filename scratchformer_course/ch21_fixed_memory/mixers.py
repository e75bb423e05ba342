"""Layers whose memory is a table, and attention beside them: what lab/fixed_memory.py trains.

Every kind has the same projections, gate, norm and feed-forward network. They differ in what a
position gets from those before it:

softmax   attention, with a norm on queries and keys; positions are not marked
rotated   the same with rotary positions
sum       a table to which each position adds its value under its key
decay     the same, and the table fades by a factor that the token sets
delta     each position replaces what its key reads, with a strength β between 0 and 1
reflect   the same with β between 0 and 2
gated     delta and decay together, after a short convolution
nothing   only the short convolution: no memory beyond its four tokens
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scratchformer.models.llama import SwiGLU, rotate_halves

ATTENTION, CONVOLVED = ("softmax", "rotated"), ("gated", "nothing")
WIDTH = 4  # tokens that a short convolution sees


def read_all(q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor | None, beta: Tensor | None):
    """What every position reads after its own write, without a loop: (…, T, D).

    Each write of the delta rule subtracts what the earlier ones left under its key, so the values
    that are really written are the solution of a triangular system.
    """
    fade = torch.ones(q.shape[-2], q.shape[-2]).tril()
    if log_decay is not None:
        total = log_decay.cumsum(-1)  # (…, T)
        fade = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(fade == 0, -math.inf).exp()
    if beta is not None:
        beta = beta.unsqueeze(-1)  # (…, T, 1)
        earlier = beta * (k @ k.mT) * fade  # (…, T, T): its lower part is read
        v = torch.linalg.solve_triangular(earlier, beta * v, upper=False, unitriangular=True)
    return (q @ k.mT * fade) @ v


class Mixer(nn.Module):
    """One layer of a kind, for x of shape (B, T, C)."""

    def __init__(self, kind: str, C: int, H: int, D: int):
        super().__init__()
        self.kind, self.H, self.D = kind, H, D
        self.qkv, self.gate, self.out = (
            nn.Linear(C, 3 * H * D, bias=False),
            nn.Linear(C, H * D, bias=False),
            nn.Linear(H * D, C, bias=False),
        )
        self.rates = nn.Linear(C, 2 * H, bias=False)  # decay and β
        self.A_log = nn.Parameter(torch.linspace(1, 8, H).log())
        self.dt_bias = nn.Parameter(torch.full((H,), -4.0))  # a table begins by fading slowly
        self.norm = nn.RMSNorm(D, eps=1e-5)
        if kind in ATTENTION:
            self.q_norm, self.k_norm = nn.RMSNorm(D, eps=1e-5), nn.RMSNorm(D, eps=1e-5)
        if kind in CONVOLVED:
            start = torch.empty(3 * H * D, 1, WIDTH).uniform_(-0.5, 0.5)
            self.convolution = nn.Parameter(start)

    def parts(self, x: Tensor, before: Tensor | None = None) -> tuple[Tensor, ...]:
        """q, k and v (B, H, T, D) each, log decay and β (B, H, T) each.

        `before` holds the projections of the last tokens before x, for the convolution.
        """
        mixed = self.qkv(x)  # (B, T, P)
        if self.kind in CONVOLVED:
            if before is None:
                before = mixed.new_zeros(len(x), WIDTH - 1, mixed.shape[-1])
            seen = torch.cat((before, mixed), dim=1).mT  # (B, P, T + 3)
            mixed = F.silu(F.conv1d(seen, self.convolution, groups=mixed.shape[-1])).mT
        heads = (part.unflatten(-1, (self.H, self.D)) for part in mixed.chunk(3, dim=-1))
        q, k, v = (part.transpose(1, 2) for part in heads)
        if self.kind in ATTENTION:
            q, k = self.q_norm(q), self.k_norm(k)
        elif self.kind != "nothing":
            q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        a, b = self.rates(x).mT.chunk(2, dim=1)  # (B, H, T) each
        log_decay = -self.A_log.exp().unsqueeze(1) * F.softplus(a + self.dt_bias.unsqueeze(1))
        return q, k, v, log_decay, b.sigmoid() * (2 if self.kind == "reflect" else 1)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v, log_decay, beta = self.parts(x)
        if self.kind in ATTENTION:
            if self.kind == "rotated":
                q, k = rotate_halves(q, 0, 10_000.0), rotate_halves(k, 0, 10_000.0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        elif self.kind == "nothing":
            y = q * k * v
        else:
            decays, corrects = self.kind in ("decay", "gated"), self.kind not in ("sum", "decay")
            y = read_all(q, k, v, log_decay if decays else None, beta if corrects else None)
        return self.leave(x, y)

    def leave(self, x: Tensor, y: Tensor) -> Tensor:
        """From what the heads read, (B, H, T, D), to the stream, (B, T, C)."""
        y = y if self.kind in ATTENTION else self.norm(y)
        return self.out(y.transpose(1, 2).flatten(2) * self.gate(x).sigmoid())


class Block(nn.Module):
    def __init__(self, kind: str, C: int, H: int, D: int):
        super().__init__()
        self.norm_1, self.norm_2 = nn.RMSNorm(C, eps=1e-5), nn.RMSNorm(C, eps=1e-5)
        self.mixer, self.mlp = Mixer(kind, C, H, D), SwiGLU(C, 2 * C)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mixer(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class MixedModel(nn.Module):
    """Blocks of the given kinds: ids (B, T) -> logits of the last `answers` tokens of V."""

    def __init__(self, V: int, answers: int, kinds: Sequence[str], C: int, H: int, D: int):
        super().__init__()
        self.embedding, self.answers = nn.Embedding(V, C), answers
        self.blocks = nn.ModuleList(Block(kind, C, H, D) for kind in kinds)
        self.norm = nn.RMSNorm(C, eps=1e-5)
        for name, p in self.named_parameters():
            if p.dim() == 2 and "embedding" not in name:
                last = name.endswith(("out.weight", "down_proj.weight"))
                nn.init.normal_(p, std=p.shape[1] ** -0.5 * (0.5 if last else 1))
        nn.init.normal_(self.embedding.weight, std=0.5)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.embedding.weight[-self.answers :].T
