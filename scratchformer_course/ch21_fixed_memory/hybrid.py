"""A hybrid in the shape of Qwen3-Next: three blocks with a table for each block with attention.

`Hybrid` takes the chapter's class for its tables. Its feed-forward networks are dense; experts are
not handled. `weights_of` cuts the fused matrices of a file of transformers to these names.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scratchformer.models.llama import RMSNorm, SwiGLU, rotate_halves

PIECES = "q_proj k_proj v_proj g_proj".split()
TABLE_NAMES = {"norm": "o_norm", "out_proj": "o_proj"}


class GatedAttention(nn.Module):
    """Attention of C channels: shared keys, normed queries and keys, a gate on what it says.

    The first `rotated` of the D numbers of a head turn with its position.
    """

    def __init__(self, C: int, heads: tuple[int, int], D: int, turn: tuple[int, float], eps: float):
        super().__init__()
        self.H, self.G = heads
        self.D, (self.rotated, self.base) = D, turn
        self.q_proj = nn.Linear(C, 2 * self.H * D, bias=False)  # queries and gates
        self.k_proj, self.v_proj = (nn.Linear(C, self.G * D, bias=False) for _ in "kv")
        self.o_proj = nn.Linear(self.H * D, C, bias=False)
        self.q_norm, self.k_norm = RMSNorm(D, eps), RMSNorm(D, eps)

    def forward(self, x: Tensor, memory: tuple | None = None) -> tuple[Tensor, tuple]:
        B, T, _ = x.shape
        q, gate = self.q_proj(x).view(B, T, self.H, 2 * self.D).chunk(2, dim=-1)
        k, v = (f(x).view(B, T, self.G, self.D) for f in (self.k_proj, self.v_proj))
        start = memory[0].shape[2] if memory else 0
        q, k = (self.turn(t.transpose(1, 2), start) for t in (self.q_norm(q), self.k_norm(k)))
        v = v.transpose(1, 2)
        if memory:
            k, v = (torch.cat(pair, dim=2) for pair in zip(memory, (k, v), strict=True))
        mask = torch.ones(T, start + T, dtype=torch.bool).tril(start)
        y = F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True).transpose(1, 2)
        return self.o_proj((y * gate.sigmoid()).flatten(2)), (k, v)

    def turn(self, x: Tensor, start: int) -> Tensor:
        turned = rotate_halves(x[..., : self.rotated], start, self.base)
        return torch.cat((turned, x[..., self.rotated :]), dim=-1)


class HybridBlock(nn.Module):
    def __init__(self, mixer: nn.Module, C: int, d_ff: int, eps: float):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(C, eps), RMSNorm(C, eps)
        self.mixer, self.mlp = mixer, SwiGLU(C, d_ff)

    def forward(self, x: Tensor, memory: tuple | None) -> tuple[Tensor, tuple]:
        y, memory = self.mixer(self.input_layernorm(x), memory)
        x = x + y
        return x + self.mlp(self.post_attention_layernorm(x)), memory


class Hybrid(nn.Module):
    """Token ids (B, T), and the memories of the blocks, to logits (B, T, V) and new memories."""

    def __init__(self, c: Any, table_layer: Callable[..., nn.Module]):
        super().__init__()
        counts = c.linear_num_key_heads, c.linear_num_value_heads
        sizes = *counts, c.linear_key_head_dim, c.linear_value_head_dim
        heads, D, eps = (c.num_attention_heads, c.num_key_value_heads), c.head_dim, c.rms_norm_eps
        turns = c.rope_parameters
        turn = int(D * turns["partial_rotary_factor"]), turns["rope_theta"]
        mixers = (
            table_layer(c.hidden_size, *sizes, eps=eps)
            if kind == "linear_attention"
            else GatedAttention(c.hidden_size, heads, D, turn, eps)
            for kind in c.layer_types
        )
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(
            HybridBlock(mixer, c.hidden_size, c.intermediate_size, eps) for mixer in mixers
        )
        self.norm = RMSNorm(c.hidden_size, eps)
        self.lm_head = nn.Linear(c.hidden_size, c.vocab_size, bias=False)

    def forward(self, ids: Tensor, memories: Sequence | None = None) -> tuple[Tensor, list]:
        x, new = self.embed_tokens(ids), []
        for i, layer in enumerate(self.layers):
            x, memory = layer(x, memories[i] if memories else None)
            new.append(memory)
        return self.lm_head(self.norm(x)), new


def weights_of(file: Mapping[str, Tensor], c: Any) -> dict[str, Tensor]:
    """The weights of a file of Qwen3-Next, under the names of `Hybrid`."""
    named: dict[str, Tensor] = {}
    for name, w in file.items():
        name = name.removeprefix("model.").replace(".self_attn.", ".mixer.")
        before, is_table, part = name.partition(".linear_attn.")
        if is_table:
            pieces = table_weights(part, w, c)
            named |= {f"{before}.mixer.{n}": piece for n, piece in pieces.items()}
        else:  # its norms multiply by 1 + weight
            named[name] = w + 1 if "norm" in name else w
    return named


def table_weights(name: str, w: Tensor, c: Any) -> dict[str, Tensor]:
    """A weight of its table layer. A fused matrix holds, for each key head, that head's parts."""
    G, D, E = c.linear_num_key_heads, c.linear_key_head_dim, c.linear_value_head_dim
    each = c.linear_num_value_heads // G  # value heads of a key head
    if name == "in_proj_qkvz.weight":
        names, sizes = PIECES, [D, D, each * E, each * E]
    elif name == "in_proj_ba.weight":
        names, sizes = ["b_proj", "a_proj"], [each, each]
    else:
        first, dot, rest = name.partition(".")
        return {TABLE_NAMES.get(first, first) + dot + rest: w}
    parts = w.view(G, sum(sizes), -1).split(sizes, dim=1)
    return {f"{n}.weight": part.flatten(0, 1) for n, part in zip(names, parts, strict=True)}
