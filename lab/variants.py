"""Models that `lab/taken_apart.py` measures and no chapter builds.

What chapter 17 tried and did not keep: RMSNorm, SwiGLU, grouped queries and the fused kernel, put
into a SpeedrunGPT in place of its own parts.
"""

from typing import Any

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from scratchformer.attention import KeyValueCache
from scratchformer.cli.run_config import model_classes
from scratchformer.positions import rotary
from scratchformer_course.page_model.speedrun import Attention, SpeedrunConfig, SpeedrunGPT


class SwiGLU(nn.Module):
    """SiLU of one half of the inner channels times the other half (Shazeer 2020).

    Its inner width is a third smaller than the plain network's, so that three matrices have as
    many parameters as two.
    """

    def __init__(self, d_model: int, bias: bool):
        super().__init__()
        d_ff = 8 * d_model // 3
        self.c_fc = nn.Linear(d_model, 2 * d_ff, bias=bias)
        self.c_proj = nn.Linear(d_ff, d_model, bias=bias)

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        gate, value = self.c_fc(x).chunk(2, dim=-1)
        return self.c_proj(F.silu(gate) * value)


class GroupedAttention(Attention):
    """The speedrun's attention with fewer keys and values, shared by heads side by side.

    This is grouped-query attention (Ainslie et al. 2023), for training: it takes no extra values
    and no cache. Raises ValueError if the heads do not divide evenly.
    """

    def __init__(self, config: SpeedrunConfig, n_kv_heads: int):
        super().__init__(config)
        H, D = config.n_heads, config.d_model // config.n_heads
        if n_kv_heads < 1 or H % n_kv_heads:
            raise ValueError(f"n_heads={H} is not divisible by n_kv_heads={n_kv_heads}")
        self.widths = (H * D, n_kv_heads * D, n_kv_heads * D)  # of all queries, keys, values
        self.c_attn = nn.Linear(config.d_model, sum(self.widths), bias=config.bias)

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        extra_values: Float[Tensor, "B T C"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "B T C"]:
        assert extra_values is None and cache is None, "neither is known to this attention"
        (B, T, C), c = x.shape, self.config
        q, k, v = self.c_attn(x).split(self.widths, dim=-1)
        q, k, v = (t.view(B, T, -1, C // c.n_heads).transpose(1, 2) for t in (q, k, v))
        if c.qk_norm:
            q, k = F.layer_norm(q, q.shape[-1:]), F.layer_norm(k, k.shape[-1:])
        if c.positions == "rotary":
            q, k = rotary(q), rotary(k)
        k, v = (t.repeat_interleave(c.n_heads // t.shape[1], dim=1) for t in (k, v))
        heads, _ = self.attend(q, k, v)
        return self.c_proj(heads.transpose(1, 2).flatten(2))


def fused(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, None]:
    """What `Attention.attend` computes of a text without a cache, by PyTorch's fused kernel."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True), None


def build(vocab_size: int, settings: dict) -> nn.Module:
    """The model of `settings`, which are a configuration file's [model] or more than that.

    To a model of type "speedrun" they may give norm = "rms", activation = "swiglu", a number
    `n_kv_heads`, or explicit_attention = False, which asks for the fused kernel.
    """
    settings = dict(settings)
    model_class, config_class = model_classes(settings.pop("type", "gpt"))
    norm, n_kv_heads = settings.pop("norm", "layer"), settings.pop("n_kv_heads", None)
    explicit = settings.pop("explicit_attention", True)
    swiglu = settings.get("activation") == "swiglu"
    if swiglu:
        settings["activation"] = "relu2"
    model = model_class(config_class(vocab_size=vocab_size, **settings))
    if isinstance(model, SpeedrunGPT):
        _exchange_parts(model, norm, n_kv_heads, swiglu, explicit)
    return model


def _exchange_parts(
    model: SpeedrunGPT, norm: str, n_kv_heads: int | None, swiglu: bool, explicit: bool
) -> None:
    c = model.config
    blocks: list[Any] = list(model.h)
    for block in blocks:
        if swiglu:
            block.mlp = SwiGLU(c.d_model, c.bias)
        if n_kv_heads:
            block.attn = GroupedAttention(c, n_kv_heads)
        if not explicit:
            block.attn.attend = fused
    if norm == "rms":
        for parent in (model, *blocks):
            for name in [n for n, m in parent.named_children() if isinstance(m, nn.LayerNorm)]:
                rms = nn.RMSNorm(c.d_model, eps=1e-5, elementwise_affine=c.norm_weights)
                setattr(parent, name, rms)
    if swiglu or n_kv_heads:
        model.initialise()
