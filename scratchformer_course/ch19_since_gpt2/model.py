"""GPT-2's model and eight changes to it, each with a name, so that its worth can be measured.

Without any it is `GPT`, and with the first six it is `Llama`; tests hold both. To be read is
`scratchformer/models/llama.py`: switches are for experiments.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from scratchformer.blocks import FeedForward, check_sizes
from scratchformer.models.llama import RMSNorm, SwiGLU, rotate_halves

MODERN = ("rmsnorm", "rotary", "swiglu", "grouped", "qk_norm", "no_bias")  # together: Llama's
CHANGES = (*MODERN, "window", "experts")
EPS, BASE = 1e-5, 10_000.0


@dataclass(frozen=True)
class Sizes:
    """The sizes of GPTConfig, and those that some changes have. Raises ValueError as it does."""

    vocab_size: int
    context_length: int
    d_model: int
    n_heads: int
    n_layers: int
    n_kv_heads: int = 1  # with "grouped"
    window: int = 16  # with "window"
    n_experts: int = 8  # with "experts"
    n_active: int = 2  # experts that a token is sent to

    def __post_init__(self):
        check_sizes(self, "n_kv_heads", "window", "n_experts", "n_active")


class Experts(nn.Module):
    """Several feed-forward networks, of which a router sends each token to `n_active`.

    After a call `balance` is the loss that keeps the router from sending all to a few (Fedus et
    al. 2021, equation 4), at least about 1, and `share` says how much each expert got.
    """

    def __init__(self, d_model: int, n_experts: int, n_active: int, make: Callable[[], nn.Module]):
        super().__init__()
        self.n_active = n_active
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(make() for _ in range(n_experts))
        self.balance, self.share = torch.zeros(()), torch.zeros(n_experts)

    def forward(self, x: Float[Tensor, "B T C"]) -> Float[Tensor, "B T C"]:
        tokens = x.flatten(0, 1)  # (N, C)
        chance = self.router(tokens).softmax(dim=-1)  # (N, E)
        weight, chosen = chance.topk(self.n_active)  # (N, n_active)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(tokens)
        for e, expert in enumerate(self.experts):
            row, place = (chosen == e).nonzero(as_tuple=True)  # the tokens that it gets
            out.index_add_(0, row, weight[row, place, None] * expert(tokens[row]))
        sent = torch.zeros_like(chance).scatter(1, chosen, 1.0)  # (N, E)
        self.share = sent.detach().mean(dim=0) / self.n_active
        self.balance = len(self.experts) * (self.share * chance.mean(dim=0)).sum()
        return out.view_as(x)


class Attention(nn.Module):
    """Causal attention with the changes that concern it."""

    def __init__(self, sizes: Sizes, changes: Collection[str]):
        super().__init__()
        s, bias = sizes, "no_bias" not in changes
        self.sizes, self.changes, self.D = s, changes, s.d_model // s.n_heads
        self.kv_heads = s.n_kv_heads if "grouped" in changes else s.n_heads
        self.q_proj = nn.Linear(s.d_model, s.d_model, bias=bias)
        self.k_proj = nn.Linear(s.d_model, self.kv_heads * self.D, bias=bias)
        self.v_proj = nn.Linear(s.d_model, self.kv_heads * self.D, bias=bias)
        self.c_proj = nn.Linear(s.d_model, s.d_model, bias=bias)
        if "qk_norm" in changes:
            self.q_norm, self.k_norm = RMSNorm(self.D, EPS), RMSNorm(self.D, EPS)

    def forward(
        self, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "T T"] | None
    ) -> Float[Tensor, "B T C"]:
        q, k, v = (
            projection(x).unflatten(-1, (-1, self.D))
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        if "qk_norm" in self.changes:
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        if "rotary" in self.changes:
            q, k = rotate_halves(q, 0, BASE), rotate_halves(k, 0, BASE)
        group = self.sizes.n_heads // self.kv_heads
        k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        heads = F.scaled_dot_product_attention(q, k, v, mask, is_causal=mask is None)
        return self.c_proj(heads.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and a feed-forward network, or experts in its place, on the stream."""

    def __init__(self, sizes: Sizes, changes: Collection[str]):
        super().__init__()
        C, bias = sizes.d_model, "no_bias" not in changes
        n = sizes.n_active if "experts" in changes else 1  # as many operations a token

        def network() -> nn.Module:
            if "swiglu" in changes:
                return SwiGLU(C, round(8 * C / 3) // n)
            return FeedForward(C, 4 * C // n, bias=bias)

        self.ln_1, self.ln_2 = new_norm(C, changes), new_norm(C, changes)
        self.attn = Attention(sizes, changes)
        self.mlp = Experts(C, sizes.n_experts, n, network) if "experts" in changes else network()

    def forward(
        self, x: Float[Tensor, "B T C"], mask: Bool[Tensor, "T T"] | None
    ) -> Float[Tensor, "B T C"]:
        x = x + self.attn(self.ln_1(x), mask)
        return x + self.mlp(self.ln_2(x))


class ChangedGPT(nn.Module):
    """GPT with some of CHANGES. Raises ValueError for another name."""

    def __init__(self, sizes: Sizes, changes: Collection[str] = ()):
        super().__init__()
        if unknown := set(changes) - set(CHANGES):
            raise ValueError(f"changes={sorted(unknown)}, expected some of {', '.join(CHANGES)}")
        self.sizes, self.changes, C = sizes, frozenset(changes), sizes.d_model
        self.wte = nn.Embedding(sizes.vocab_size, C)
        if "rotary" not in changes:
            self.wpe = nn.Embedding(sizes.context_length, C)
        self.h = nn.ModuleList(Block(sizes, self.changes) for _ in range(sizes.n_layers))
        self.ln_f = new_norm(C, changes)
        self.lm_head = nn.Linear(C, sizes.vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight
        into_stream = 0.02 / math.sqrt(2 * sizes.n_layers)
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            elif p.dim() == 2:
                adds = name.endswith(("c_proj.weight", "down_proj.weight"))
                nn.init.normal_(p, std=into_stream if adds else 0.02)

    @property
    def context_length(self) -> int:
        """The most tokens that `forward` takes."""
        return self.sizes.context_length

    @property
    def balance(self) -> Tensor:
        """The routers' losses of the last call, together; zero without experts."""
        routers = [m.balance for m in self.modules() if isinstance(m, Experts)]
        return torch.stack(routers).sum() if routers else torch.zeros(())

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T V"]:
        """Logits: those at place t are for the token after it."""
        T, mask = ids.shape[1], None
        x = self.wte(ids)  # (B, T, C)
        if "rotary" not in self.changes:
            x = x + self.wpe.weight[:T]
        if "window" in self.changes and self.sizes.window < T:
            mask = torch.ones(T, T, dtype=torch.bool, device=ids.device).tril()
            mask = mask.triu(1 - self.sizes.window)  # itself and those just before it
        for block in self.h:
            x = block(x, mask)
        return self.lm_head(self.ln_f(x))


def new_norm(width: int, changes: Collection[str]) -> nn.Module:
    """The norm of a stream: RMSNorm or LayerNorm, with a bias or without."""
    if "rmsnorm" in changes:
        return RMSNorm(width, EPS)
    return nn.LayerNorm(width, EPS, bias="no_bias" not in changes)
